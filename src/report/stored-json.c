#include "report/stored.h"

#include "record/comparison.h"

/* What a row is, as in the results of a sweep. */
static void write_row(hl_json *json, const char *key, const hl_record *row) {
  hl_json_object(json, key);
  hl_json_text(json, "model", row->model);
  hl_json_text(json, "engine", row->engine);
  hl_json_text(json, "engine_version", row->engine_version);
  hl_json_text(json, "dtype", row->dtype);
  hl_record_json_int(json, "batch_size", row->batch_size);
  hl_record_json_int(json, "threads", row->threads);
  hl_json_text(json, "device_id", row->device_id);
  hl_json_text(json, "timestamp", row->timestamp);
  hl_json_text(json, "reproduce", row->reproduce);
  hl_json_end(json);
}

static const hl_record *record_of(const hl_report_stored *r, bool is_b, size_t row) {
  return &r->runs[is_b]->records->items[row];
}

static void write_pair(const hl_report_stored *r, size_t i, hl_json *json) {
  write_row(json, "row_a", record_of(r, false, r->found->pairs[i].a));
  write_row(json, "row_b", record_of(r, true, r->found->pairs[i].b));
  hl_comparison_write_json(&r->found->comparisons.items[i], json);
}

static void write_left(const hl_report_stored *r, hl_json *json) {
  hl_json_array(json, "not_compared");
  for (size_t i = 0; i < r->found->left_count; i++) {
    const hl_stored_left *left = &r->found->left[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "side", left->is_b ? "b" : "a");
    write_row(json, "row", record_of(r, left->is_b, left->row));
    hl_json_text(json, "reason", left->reason);
    hl_json_end(json);
  }
  hl_json_end(json);
}

void hl_report_stored_json(const hl_report_stored *r, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_bool(&json, "paired", false);
  hl_json_real(&json, "margin", r->margin);
  hl_json_real(&json, "alpha", r->alpha);
  hl_json_text(&json, "a", r->operands[0]);
  hl_json_text(&json, "b", r->operands[1]);
  hl_json_text(&json, "a_run", r->runs[0]->info->id);
  hl_json_text(&json, "b_run", r->runs[1]->info->id);
  hl_json_text(&json, "warning", hl_report_stored_warning);
  hl_json_lines(&json, "run_notes", r->found->notes);
  if (r->found->comparisons.count == 1) {
    write_pair(r, 0, &json);
  } else {
    hl_json_text(&json, "correction", "holm");
    hl_json_array(&json, "comparisons");
    for (size_t i = 0; i < r->found->comparisons.count; i++) {
      hl_json_object(&json, NULL);
      write_pair(r, i, &json);
      hl_json_end(&json);
    }
    hl_json_end(&json);
  }
  write_left(r, &json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
