#include "base/hash.h"
#include "formats/import-internal.h"
#include "method/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl__import_row_init(hl_import_row *row) {
  *row = (hl_import_row){.batch_size = HL_INT_NULL};
  hl_record_init(&row->record);
}

void hl__import_row_release(hl_import_row *row) {
  hl_record_release(&row->record);
  free(row->samples.ns);
  row->samples = (hl_import_samples){0};
}

char *hl__import_clean(const char *text) {
  size_t length = strlen(text);
  bool shorten = length > HL_IMPORT_MAX_NAME;
  if (shorten) {
    length = HL_IMPORT_MAX_NAME;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* no half character */
  }
  HL_CLEANUP(hl_free_pointer) char *kept = strndup(text, length);
  hl_text_blank(kept, "");
  return kept ? hl_format("%s%s", kept, shorten ? "…" : "") : NULL;
}

void hl__import_row_name(hl_import_row *row, const char *name) {
  HL_CLEANUP(hl_free_pointer) char *clean = hl__import_clean(name);
  hl_record_set_text(&row->record.model, clean);
  if (clean && strcmp(clean, name) != 0)
    hl_record_note(&row->record, "the name lost control characters, or what is beyond %d bytes",
                   HL_IMPORT_MAX_NAME);
}

void hl__import_lose(hl_importer *importer, const char *what, size_t count) {
  hl_import *import = importer->import;
  if (!count) return;
  size_t i = 0;
  while (i < import->loss_count && strcmp(import->losses[i].what, what) != 0) i++;
  if (i == HL_IMPORT_LOSSES) return; /* the readers name fewer kinds */
  if (i == import->loss_count) import->losses[import->loss_count++] = (hl_import_loss){what, 0};
  import->losses[i].count += count;
}

void hl__import_machine(hl_importer *importer, const char *const *words, size_t count) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < count; i++)
    if (words[i] && words[i][0]) hl_text_format(&text, "%s%s", text.length ? ", " : "", words[i]);
  if (text.length) hl_import_set_machine(importer->import, text.data);
  hl_text_release(&text);
}

void hl_import_set_machine(hl_import *import, const char *machine) {
  HL_CLEANUP(hl_free_pointer) char *clean = hl__import_clean(machine);
  if (!clean) return;
  /* Ids of hotlap are 16 hexadecimal digits, so an i belongs to none of them. */
  char id[17];
  snprintf(id, sizeof id, "i%015" PRIx64, hl_hash_text(HL_HASH_START, clean) >> 4);
  hl_record_set_text(&import->info.machine_id, id);
  hl_record_set_text(&import->info.cpu, clean);
  import->machine_known = true;
}

/* -- from samples to a row --------------------------------------------------------------------- */

/* What would follow from a batch size is not known without one. */
static void forget_batch(hl_record *record) {
  record->batch_size = HL_INT_NULL;
  record->throughput_ips = (double)NAN;
  record->throughput_ci_ips = (hl_pair){(double)NAN, (double)NAN};
  record->latency_per_image_ms = (double)NAN;
  record->efficiency = (double)NAN;
}

static hl_status summarise(hl_import_row *row, hl_error *error) {
  const hl_import_samples *from = &row->samples;
  HL_CLEANUP(hl_free_pointer) uint64_t *ns = malloc(2 * from->count * sizeof *ns);
  if (!ns) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", from->count);
  bool batch_known = row->batch_size != HL_INT_NULL;
  int64_t batch = batch_known ? row->batch_size : 1;
  uint64_t *images = ns + from->count;
  for (size_t i = 0; i < from->count; i++) {
    ns[i] = (uint64_t)llround(from->ns[i]);
    images[i] = (uint64_t)batch * from->steps;
  }
  const hl_row_samples samples = {.ns = ns,
                                  .images = images,
                                  .count = from->count,
                                  .batch_size = batch,
                                  .steps_per_sample = from->steps};
  /* A throughput of the file stands; its interval follows from the samples if they agree. */
  double said = row->record.throughput_ips;
  hl_status status = hl_row_summarise(&row->record, &samples, HL_PERCENTILE_LINEAR, error);
  if (status != HL_OK) return status;
  if (!batch_known) forget_batch(&row->record);
  if (!isfinite(said)) return HL_OK;
  bool agrees = fabs(row->record.throughput_ips - said) <= 1e-6 * said;
  row->record.throughput_ips = said;
  if (!agrees) row->record.throughput_ci_ips = (hl_pair){(double)NAN, (double)NAN};
  return HL_OK;
}

/* "hyperfine sleep 0.1", with what tells rows of one name apart; a row that is there twice is
 * numbered. */
static char *make_key(const hl_import *import, const hl_import_row *row) {
  const char *format = hl_import_format_name(import->format), *variant = row->variant;
  HL_CLEANUP(hl_free_pointer)
  char *plain =
      hl_format("%s %s%s%s", format, row->record.model, variant ? " " : "", variant ? variant : "");
  return plain ? hl__import_clean(plain) : NULL;
}

static hl_status keep_key(hl_import *import, char *key, hl_error *error) {
  size_t count = import->records.count;
  if (count == import->key_capacity) {
    size_t capacity = count ? 2 * count : 16;
    char **keys = realloc(import->keys, capacity * sizeof *keys);
    if (!keys) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
    import->keys = keys;
    import->key_capacity = capacity;
  }
  import->keys[count] = key;
  return HL_OK;
}

hl_status hl__import_row(hl_importer *importer, hl_import_row *row, hl_error *error) {
  hl_import *import = importer->import;
  hl_record *r = &row->record;
  const char *tool = hl_import_format_name(importer->format);
  if (import->records.count == HL_IMPORT_MAX_ROWS)
    return hl_error_set(error, HL_LIMIT, "%s: more than %d rows. Import it in parts",
                        importer->source->name, HL_IMPORT_MAX_ROWS);
  if (!r->outcome) hl_record_set_text(&r->outcome, hl_outcome_name(HL_PASSED));
  if (!r->workload) hl_record_set_text(&r->workload, HL_WORKLOAD_IMPORTED);
  if (!r->engine) hl_record_set_text(&r->engine, tool);
  if (!r->framework) hl_record_set_text(&r->framework, r->engine);
  hl_status status = row->samples.count ? summarise(row, error) : HL_OK;
  if (status == HL_OK && row->own) status = hl__import_own(importer, row->own, r, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *file = hl__import_clean(importer->source->name);
  if (importer->format != HL_IMPORT_MEASURE) /* whose file is only the way to here */
    hl_record_note(r, "imported from %.300s (%s)", file ? file : "", tool);
  char *key = make_key(import, row);
  if (!key || !r->model || !r->outcome) {
    free(key);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  }
  status = keep_key(import, key, error);
  if (status == HL_OK) status = hl_records_take(&import->records, r, error);
  if (status != HL_OK) free(key);
  return status;
}
