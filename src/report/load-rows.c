#include "report/load-rows.h"

#include <inttypes.h>

bool hl_load_is_told(const hl_record *r) {
  return r->scenario && hl_record_passed(r);
}

bool hl_load_same_server(const hl_record *a, const hl_record *b) {
  return hl_text_same(a->model, b->model) && hl_text_same(a->engine, b->engine) &&
         hl_text_same(a->dtype, b->dtype) && hl_text_same(a->device_id, b->device_id) &&
         a->threads == b->threads && a->batch_size == b->batch_size && a->instances == b->instances;
}

void hl_load_append_server(const hl_record *r, hl_text *out) {
  hl_text_format(out, "%s, %s", r->model ? r->model : "?", r->engine ? r->engine : "?");
  if (r->dtype) hl_text_format(out, ", %s", r->dtype);
  if (r->instances > 1) hl_text_format(out, ", %" PRId64 " instances", r->instances);
  hl_text_format(out, ", batches of up to %" PRId64, r->batch_size);
}
