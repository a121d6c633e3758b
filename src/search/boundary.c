#include "search/boundary.h"

#include "machine/memory.h"
#include "run/search.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { attempts = 4, batch_most = 65536 };

/* What the worker may take: the limit that was asked for, or what the machine has. */
static double limit_bytes(const hl_method_options *m) {
  uint64_t available = hl_memory_available(NULL);
  double limit = (double)m->memory_limit_mb * 1e6;
  double bound = available == UINT64_MAX ? 0 : (double)available;
  return limit > 0 && (bound == 0 || limit < bound) ? limit : bound;
}

/* The largest batch up to `most` whose memory by the line through the family's is within the limit
 * less the margin; without a line, the margin off the batch. */
static int64_t safe_batch(const hl_search_result *result, const hl_method_options *m,
                          int64_t most) {
  const hl_tuning *t = &result->tuning;
  double by_margin = floor((double)most * (1 - m->safety_margin)), safe = by_margin;
  double limit = limit_bytes(m);
  hl_line line;
  size_t n = hl_tuning_memory_line(t, t->arms[result->settings[0].arm].family, &line);
  if (n >= 2 && limit > 0 && line.a1 > 0)
    safe = floor(((1 - m->safety_margin) * limit - line.a0) / line.a1);
  if (!(safe >= 1)) safe = fmax(1, by_margin);
  return safe < (double)most ? (int64_t)safe : most;
}

/* Runs the batch for so long; what it needed at its peak. */
static hl_status run_at(const hl_row_context *context, const hl_configuration *c, double seconds,
                        hl_record *record, hl_error *error) {
  hl_method_options method = *context->method;
  method.predict = false;
  method.iterations = method.num_runs = 0;
  method.min_time_s = seconds;
  /* Warming up is a part of the minute, and has its share of the budget. */
  method.max_time_s = 1.5 * seconds;
  hl_row_context at = *context;
  at.method = &method;
  return hl_row_measure(&at, c, record, error);
}

static hl_status verify(const hl_row_context *context, const hl_search_options *o,
                        hl_search_boundary *b, const hl_configuration *family, int64_t first,
                        hl_error *error) {
  int64_t batch = first;
  for (int i = 0; i < attempts && batch > 0; i++) {
    const hl_configuration c = hl_configuration_with_batch(family, batch);
    hl_record record;
    hl_record_init(&record);
    hl_status status = run_at(context, &c, o->verify_s, &record, error);
    bool passed = status == HL_OK && hl_record_passed(&record);
    if (passed) {
      b->safe = batch;
      b->safe_memory_mb = record.memory_mb + record.baseline_memory_mb;
      b->verified_s = (record.measured_ms + record.warmup_ms) / 1e3;
    } else if (status == HL_OK) {
      free(b->reason);
      b->reason = hl_format("batch %" PRId64 " did not last: %s", batch,
                            record.reason ? record.reason : record.outcome);
    }
    hl_record_release(&record);
    if (status != HL_OK || passed) return status;
    batch = batch * 9 / 10;
  }
  return HL_OK;
}

hl_status hl__boundary_find(const hl_row_context *context, const hl_search_options *options,
                            hl_search_result *result, hl_error *error) {
  hl_search_boundary *b = &result->boundary;
  const hl_search_setting *first = &result->settings[0];
  b->looked = true;
  b->largest = b->safe = HL_INT_NULL;
  b->safe_memory_mb = b->verified_s = (double)NAN;
  hl_method_options method = *context->method;
  method.max_batch = batch_most; /* --max-batch is where the search of settings ends */
  hl_row_context beyond = *context;
  beyond.method = &method;
  const hl_records none = {0};
  hl_status status = hl_run_search(&beyond, &first->configuration, &none, &b->largest, error);
  if (status != HL_OK) return status;
  int64_t most = b->largest != HL_INT_NULL ? b->largest : batch_most;
  if (b->largest == HL_INT_NULL)
    b->reason = hl_strdup("not seen: a size was not tried because it was predicted not to fit, or "
                          "nothing failed");
  if (most < 1 || options->verify_s <= 0) return HL_OK;
  return verify(&beyond, options, b, &first->configuration, safe_batch(result, &method, most),
                error);
}
