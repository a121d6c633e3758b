#include "run/counters.h"

#include "protocol/channel.h"
#include <math.h>

void hl_counter_totals_init(hl_counter_totals *totals) {
  *totals = (hl_counter_totals){.running = (double)NAN};
}

void hl_counter_totals_add(hl_counter_totals *totals, const json_t *run_reply) {
  const json_t *values = json_object_get(run_reply, "counters");
  for (int e = 0; e < HL_PERF_EVENTS; e++)
    totals->values[e] +=
        hl_json_get_real(values, hl_perf_event_name((hl_perf_event)e), (double)NAN);
  double running = hl_json_get_real(run_reply, "counters_running", (double)NAN);
  totals->running = fmin(totals->running, running);
}

void hl_counters_describe(const json_t *reply, hl_record *record) {
  hl_record_set_text(&record->counters_scope, hl_json_get_text(reply, "scope", NULL));
  hl_record_set_text(&record->counters_reason, hl_json_get_text(reply, "reason", NULL));
}

/* NaN where there is nothing to divide by. */
static double quotient(double a, double b) {
  return b > 0 ? a / b : (double)NAN;
}

void hl_counters_fill(const hl_counter_totals *totals, double steps, hl_record *record) {
  const double *v = totals->values;
  record->cycles_per_step = quotient(v[HL_PERF_CYCLES], steps);
  record->instructions_per_step = quotient(v[HL_PERF_INSTRUCTIONS], steps);
  record->ipc = quotient(v[HL_PERF_INSTRUCTIONS], v[HL_PERF_CYCLES]);
  record->branch_miss_percent = 100 * quotient(v[HL_PERF_BRANCH_MISSES], v[HL_PERF_BRANCHES]);
  record->cache_misses_per_step = quotient(v[HL_PERF_CACHE_MISSES], steps);
  record->llc_loads_per_step = quotient(v[HL_PERF_LLC_LOADS], steps);
  record->llc_misses_per_step = quotient(v[HL_PERF_LLC_MISSES], steps);
  record->dtlb_misses_per_step = quotient(v[HL_PERF_DTLB_MISSES], steps);
  record->task_clock_ms_per_step = quotient(v[HL_PERF_TASK_CLOCK] / 1e6, steps);
  record->page_faults_per_step = quotient(v[HL_PERF_PAGE_FAULTS], steps);
  record->context_switches_per_step = quotient(v[HL_PERF_CONTEXT_SWITCHES], steps);
  record->migrations_per_step = quotient(v[HL_PERF_MIGRATIONS], steps);
  record->counters_running_percent = 100 * totals->running;
}
