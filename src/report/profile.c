#include "report/profile.h"

#include "report/cells.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- what was measured ------------------------------------------------------------------------- */

static double mean_ms(const hl_profile *p) {
  double sum = 0;
  for (size_t i = 0; i < p->step_count; i++) sum += (double)p->step_ns[i];
  return p->step_count ? sum / (double)p->step_count / 1e6 : (double)NAN;
}

static void put_head(const hl_profile *p, hl_text *out) {
  char number[HL_NUMBER_BYTES], steps[HL_NUMBER_BYTES + 64] = "no step is whole";
  if (p->step_count)
    snprintf(steps, sizeof steps, "%zu step%s, %s ms each", p->step_count,
             p->step_count == 1 ? "" : "s", hl_report_number(mean_ms(p), "-", number));
  hl_text_line(out, "%s, %s, %s, %s, batch %" PRId64 ", %" PRId64 " thread%s: %s", p->model,
               p->workload, p->engine_version[0] ? p->engine_version : p->engine, p->dtype,
               p->batch_size, p->threads, p->threads == 1 ? "" : "s", steps);
  if (!p->complete) hl_text_line(out, "Not complete: %s", p->reason);
  if (p->dropped_events)
    hl_text_line(out, "%" PRIu64 " events are missing: the profile is full. Give --steps",
                 p->dropped_events);
}

static void put_overhead(const hl_profile *p, hl_text *out) {
  if (isnan(p->overhead)) return;
  if (isnan(p->overhead_low)) {
    hl_text_format(out,
                   "Overhead of profiling: %+.2f %%, of %" PRId64
                   " pair%s of steps: too few for an "
                   "interval\n",
                   100 * (p->overhead - 1), p->overhead_pairs, p->overhead_pairs == 1 ? "" : "s");
    return;
  }
  hl_text_format(out,
                 "Overhead of profiling: %+.2f %%, 95 %% interval %+.2f to %+.2f %%, of %" PRId64
                 " pairs of steps with and without\n",
                 100 * (p->overhead - 1), 100 * (p->overhead_low - 1), 100 * (p->overhead_high - 1),
                 p->overhead_pairs);
}

static void put_foot(const hl_profile *p, const hl_profile_table *t, hl_text *out) {
  if (t->steps_ns > 0)
    hl_text_format(out, "Rows add up to %.2f %% of the steps without (between operators)\n",
                   100 * t->covered_ns / t->steps_ns);
  put_overhead(p, out);
  if (!isnan(p->peak_gflops))
    hl_text_format(out, "Limits here: %.0f GFLOP/s, %.1f GB/s\n", p->peak_gflops, p->bandwidth_gbs);
}

/* -- one profile ------------------------------------------------------------------------------- */

static void put_columns(hl_cells *cells, hl_profile_by by) {
  static const char *const firsts[HL_PROFILE_BYS] = {"Operator", "Layer", "Kind", "Phase"};
  hl_cells_column(cells, firsts[by], false);
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_column(cells, "Kind", false);
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_column(cells, "Phase", false);
  static const char *const numbers[] = {"Calls",  "Self ms", "%",    "Total ms", "MFLOP",    "MB",
                                        "FLOP/B", "GFLOP/s", "GB/s", "Roofline", "Memory MB"};
  for (size_t i = 0; i < HL_COUNT(numbers); i++) hl_cells_column(cells, numbers[i], true);
}

static const char *row_name(const hl_profile_row *r) {
  if (!r->name[0]) return "(none)";
  return r->name;
}

/* Of a step: a whole number where each step has as many. */
static void put_calls(hl_cells *cells, double calls) {
  if (calls == floor(calls) && calls < 1e9)
    hl_cells_format(cells, "%.0f", calls);
  else
    hl_cells_format(cells, "%.1f", calls);
}

static void put_row(hl_cells *cells, const hl_profile_row *r, const hl_profile_table *t,
                    hl_profile_by by) {
  double steps = t->steps ? (double)t->steps : 1;
  hl_cells_row(cells);
  hl_cells_format(cells, "%s%s", row_name(r), r->aside ? " (aside)" : "");
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_put(cells, r->kind);
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_put(cells, r->phase);
  put_calls(cells, (double)r->calls / steps);
  hl_cells_number(cells, r->self_ns / steps / 1e6);
  if (t->steps_ns > 0 && !r->aside)
    hl_cells_format(cells, "%.2f", 100 * r->self_ns / t->steps_ns);
  else
    hl_cells_put(cells, "-");
  hl_cells_number(cells, r->total_ns / steps / 1e6);
  hl_cells_number(cells, r->flops / steps / 1e6);
  hl_cells_number(cells, r->bytes / steps / 1e6);
  hl_cells_number(cells, r->intensity);
  hl_cells_number(cells, r->gflops);
  hl_cells_number(cells, r->gbs);
  if (isnan(r->roofline))
    hl_cells_put(cells, "-");
  else
    hl_cells_format(cells, "%.1f %%", 100 * r->roofline);
  hl_cells_number(cells, r->memory_bytes / 1e6);
}

/* What the table has no room for, in one line. */
static void put_rest(hl_cells *cells, const hl_profile_table *t, size_t first, hl_profile_by by) {
  double self = 0;
  size_t rows = 0;
  for (size_t i = first; i < t->count; i++) {
    if (t->rows[i].is_gap || t->rows[i].aside) continue;
    self += t->rows[i].self_ns;
    rows++;
  }
  if (!rows) return;
  hl_cells_row(cells);
  hl_cells_format(cells, "(%zu more)", rows);
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_put(cells, "");
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_put(cells, "");
  hl_cells_put(cells, "");
  hl_cells_number(cells, self / (t->steps ? (double)t->steps : 1) / 1e6);
  if (t->steps_ns > 0) hl_cells_format(cells, "%.2f", 100 * self / t->steps_ns);
}

hl_status hl_report_profile_text(const hl_profile *profile, hl_profile_by by, size_t most,
                                 hl_text *out, hl_error *error) {
  hl_profile_table t;
  hl_status status = hl_profile_tabulate(profile, by, &t, error);
  if (status != HL_OK) return status;
  hl_cells cells = HL_CELLS_INIT;
  put_columns(&cells, by);
  size_t shown = most && most < t.count ? most : t.count;
  for (size_t i = 0; i < shown; i++)
    if (!t.rows[i].is_gap) put_row(&cells, &t.rows[i], &t, by);
  put_rest(&cells, &t, shown, by);
  for (size_t i = 0; i < t.count; i++)
    if (t.rows[i].is_gap) put_row(&cells, &t.rows[i], &t, by);
  put_head(profile, out);
  if (t.count)
    hl_cells_text(&cells, out);
  else if (profile->complete)
    hl_text_append(out, "Nothing was recorded.\n");
  put_foot(profile, &t, out);
  bool failed = cells.failed || out->failed;
  hl_cells_release(&cells);
  hl_profile_table_release(&t);
  return failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table") : HL_OK;
}
