#include "sample-records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void sample_init(sample *s) {
  memset(s, 0, sizeof *s);
  hl_run_info_init(&s->info);
  s->info.id = hl_strdup("20261127T120000Z-1a2b");
  s->info.created = hl_strdup("2026-11-27T12:00:00Z");
  s->info.hotlap_version = hl_strdup("1.2.3");
  s->info.machine_id = hl_strdup("m1");
  s->info.cpu = hl_strdup("A \"CPU\" | 'x'");
  s->info.cores = 2;
  s->info.memory_bytes = 8000000000;
  s->info.percentiles = hl_strdup("linear");
  s->info.warmup = hl_strdup("auto");
  s->info.max_time_s = 30;
}

static void add(sample *s, hl_record *r, const char *engine, int64_t batch, const char *outcome) {
  hl_record_set_text(&r->outcome, outcome);
  hl_record_set_text(&r->workload, "inference");
  hl_record_set_text(&r->engine, engine);
  hl_record_set_text(&r->framework, engine);
  hl_record_set_text(&r->model, "mlp:a|b");
  hl_record_set_text(&r->dtype, "float32");
  hl_record_set_text(&r->device, "cpu");
  hl_record_set_text(&r->reproduce, "hotlap sweep 'mlp:a|b'");
  r->threads = 2;
  r->batch_size = batch;
  assert_int_equal(hl_records_take(&s->records, r, NULL), HL_OK);
}

void sample_pass(sample *s, const char *engine, int64_t batch) {
  hl_record r;
  hl_record_init(&r);
  double ms = 10 + 5 * (double)batch;
  r.sample_count = 200;
  r.samples_ns = malloc(r.sample_count * sizeof *r.samples_ns);
  assert_non_null(r.samples_ns);
  for (size_t i = 0; i < r.sample_count; i++)
    r.samples_ns[i] = (uint64_t)(ms * 1e6) + (i % 20 ? i % 7 * 10000 : 4000000);
  r.latency_p50_ms = ms;
  r.latency_p95_ms = 1.05 * ms;
  r.latency_p99_ms = 1.2 * ms;
  r.latency_mean_ms = ms;
  r.throughput_ips = 1e3 * (double)batch / ms;
  r.throughput_ci_ips = (hl_pair){0.99 * r.throughput_ips, 1.01 * r.throughput_ips};
  r.latency_per_image_ms = ms / (double)batch;
  r.memory_mb = 10 + 2 * (double)batch;
  r.planned_memory_mb = 9 + 2 * (double)batch;
  r.efficiency = r.throughput_ips / r.memory_mb;
  r.measurement_iterations = 200;
  r.steady = 1;
  hl_record_set_text(&r.stop, "converged");
  add(s, &r, engine, batch, "PASSED");
}

void sample_fail(sample *s, const char *engine, int64_t batch, const char *outcome,
                 const char *reason) {
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.reason, reason);
  add(s, &r, engine, batch, outcome);
}

void sample_analyse(sample *s) {
  assert_int_equal(hl_analysis_make(&s->records, &s->info, &s->analysis, NULL), HL_OK);
  assert_int_equal(hl_engines_make(&s->analysis, &s->records, &s->comparisons, &s->engines, NULL),
                   HL_OK);
  s->input = (hl_report_input){.info = &s->info,
                               .records = &s->records,
                               .analysis = &s->analysis,
                               .engines = &s->engines,
                               .comparisons = &s->comparisons};
}

void sample_release(sample *s) {
  hl_engines_release(&s->engines);
  hl_comparisons_release(&s->comparisons);
  hl_analysis_release(&s->analysis);
  hl_records_release(&s->records);
  hl_run_info_release(&s->info);
}
