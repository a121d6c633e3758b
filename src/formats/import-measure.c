/*
 * hotlap-measure: what hotlap.measure of the Python package timed in a program of the user's.
 * {"schema": "hotlap.measure/1", "steps": [{"name", "ns": [...], ...}], ...}
 *
 * A sample is the time of `calls_per_sample` calls. A step that was never done is FAILED.
 */
#include "formats/import-internal.h"

#include <math.h>
#include <string.h>

enum { MOST_CALLS = 1 << 30 };

/* What the whole program shares. */
typedef struct facts {
  const char *interpreter, *program, *commit;
} facts;

static hl_status read_facts(hl_importer *importer, const json_t *root, facts *ret_facts,
                            hl_error *error) {
  hl_run_info *info = &importer->import->info;
  const char *schema, *created, *host, *command;
  char utc[32];
  bool zoned;
  hl_status status = hl__import_text(importer, root, "schema", &schema, error);
  if (status == HL_OK && (!schema || strcmp(schema, HL_IMPORT_MEASURE_SCHEMA) != 0))
    status = hl__import_wrong(importer, "schema", error,
                              "expected " HL_IMPORT_MEASURE_SCHEMA ". Is it from a newer hotlap?");
  if (status == HL_OK) status = hl__import_text(importer, root, "created", &created, error);
  if (status == HL_OK) status = hl__import_text(importer, root, "host", &host, error);
  if (status == HL_OK) status = hl__import_text(importer, root, "command", &command, error);
  if (status == HL_OK)
    status = hl__import_text(importer, root, "interpreter", &ret_facts->interpreter, error);
  if (status == HL_OK)
    status = hl__import_text(importer, root, "program", &ret_facts->program, error);
  if (status == HL_OK)
    status = hl__import_text(importer, root, "git_commit", &ret_facts->commit, error);
  if (status != HL_OK) return status;
  if (created && !hl__import_time(created, utc, &zoned))
    return hl__import_wrong(importer, "created", error,
                            "expected a time such as 2026-11-28T09:25:54Z");
  if (created) hl_record_set_text(&info->created, utc);
  HL_CLEANUP(hl_free_pointer) char *line = command ? hl__import_clean(command) : NULL;
  hl_record_set_text(&info->command, line);
  HL_CLEANUP(hl_free_pointer) char *name = host ? hl__import_clean(host) : NULL;
  hl_record_set_text(&importer->import->host, name);
  if (host) hl__import_machine(importer, (const char *const[]){host}, 1);
  return HL_OK;
}

static hl_status read_calls(hl_importer *importer, const json_t *step, hl_import_row *row,
                            hl_error *error) {
  int64_t calls;
  hl_status status = hl__import_int(importer, step, "calls_per_sample", &calls, error);
  if (status != HL_OK) return status;
  if (calls == HL_INT_NULL) calls = 1;
  if (calls < 1 || calls > MOST_CALLS)
    return hl__import_wrong(importer, "calls_per_sample", error, "expected 1 to %d", MOST_CALLS);
  row->samples.steps = (uint32_t)calls;
  status = hl__import_int(importer, step, "batch_size", &row->batch_size, error);
  if (status == HL_OK && row->batch_size != HL_INT_NULL &&
      (row->batch_size < 1 || row->batch_size > 1000000000))
    status = hl__import_wrong(importer, "batch_size", error, "expected 1 to 10^9");
  return status;
}

/* Calls that raised are in no number. */
static hl_status read_failures(hl_importer *importer, const json_t *step, hl_import_row *row,
                               hl_error *error) {
  int64_t failures;
  const char *failure;
  hl_status status = hl__import_int(importer, step, "failures", &failures, error);
  if (status == HL_OK) status = hl__import_text(importer, step, "failure", &failure, error);
  if (status != HL_OK) return status;
  if (failures == HL_INT_NULL) failures = 0;
  if (failures < 0) return hl__import_wrong(importer, "failures", error, "expected 0 or more");
  HL_CLEANUP(hl_free_pointer) char *why = hl__import_clean(failure ? failure : "unknown");
  HL_CLEANUP(hl_free_pointer)
  char *reason = hl_format("%lld call%s raised, the last %s", (long long)failures,
                           failures == 1 ? "" : "s", why ? why : "");
  if (failures && !row->samples.count) {
    hl_record_set_text(&row->record.outcome, hl_outcome_name(HL_FAILED));
    hl_record_set_text(&row->record.reason, reason);
  } else if (failures) {
    hl_record_note(&row->record, "%s; such calls are in no number", reason ? reason : "");
  } else if (!row->samples.count) {
    return hl__import_wrong(importer, "ns", error, "no times, and no failures");
  }
  return HL_OK;
}

static hl_status fill(hl_importer *importer, const json_t *step, const facts *shared,
                      hl_import_row *row, hl_error *error) {
  hl_record *r = &row->record;
  const char *name, *device;
  hl_status status = hl__import_text(importer, step, "name", &name, error);
  if (status == HL_OK && (!name || !name[0]))
    status = hl__import_wrong(importer, "name", error, "it is missing");
  if (status == HL_OK) status = hl__import_text(importer, step, "device", &device, error);
  if (status == HL_OK) status = hl__import_durations(importer, step, "ns", 1, &row->samples, error);
  if (status == HL_OK) status = read_calls(importer, step, row, error);
  if (status == HL_OK) status = read_failures(importer, step, row, error);
  if (status != HL_OK) return status;
  hl__import_row_name(row, name);
  HL_CLEANUP(hl_free_pointer)
  char *version = hl__import_clean(shared->interpreter ? shared->interpreter : "");
  HL_CLEANUP(hl_free_pointer)
  char *program = hl__import_clean(shared->program ? shared->program : "");
  HL_CLEANUP(hl_free_pointer)
  char *commit = shared->commit ? hl__import_clean(shared->commit) : NULL;
  HL_CLEANUP(hl_free_pointer) char *place = device ? hl__import_clean(device) : NULL;
  hl_record_set_text(&r->engine, "python");
  hl_record_set_text(&r->engine_version, version && version[0] ? version : NULL);
  hl_record_set_text(&r->device, place);
  hl_record_set_text(&r->git_commit, commit);
  if (program && program[0]) hl_record_note(r, "timed by hotlap.measure in %s", program);
  return HL_OK;
}

/* Steps of one name with different batches are different rows. */
static char *variant_of(const hl_import_row *row) {
  hl_text text = HL_TEXT_INIT;
  if (row->batch_size != HL_INT_NULL)
    hl_text_format(&text, "batch=%lld ", (long long)row->batch_size);
  if (row->record.device) hl_text_format(&text, "device=%s ", row->record.device);
  if (text.length) text.data[text.length - 1] = '\0';
  return hl_text_take(&text);
}

hl_status hl__import_measure(hl_importer *importer, const json_t *root, hl_error *error) {
  const json_t *steps = json_object_get(root, "steps");
  facts shared = {0};
  hl_status status = read_facts(importer, root, &shared, error);
  if (status == HL_OK && !json_is_array(steps))
    status = hl__import_wrong(importer, "steps", error, "expected a list of steps");
  for (size_t i = 0; i < json_array_size(steps) && status == HL_OK; i++) {
    const json_t *step = json_array_get(steps, i);
    hl__import_place(importer, "steps[%zu]", i);
    if (!json_is_object(step)) return hl__import_wrong(importer, NULL, error, "expected an object");
    hl_import_row row;
    hl__import_row_init(&row);
    status = fill(importer, step, &shared, &row, error);
    HL_CLEANUP(hl_free_pointer) char *variant = variant_of(&row);
    row.variant = variant;
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
  }
  return status;
}
