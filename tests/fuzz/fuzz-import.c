/* Whatever the bytes of another tool's file: an error with a message, or rows within bounds whose
 * texts cannot disturb a terminal. */
#include "driver.h"

#include "formats/google-benchmark.h"
#include "formats/import.h"
#include "formats/openmetrics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text) {
  if (!text) return;
  if (!hl_utf8_valid(text)) abort();
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) abort();
}

static void check_rows(const hl_import *import) {
  if (!import->records.count || !import->info.machine_id || import->info.machine_id[0] != 'i')
    abort();
  for (size_t i = 0; i < import->records.count; i++) {
    const hl_record *r = &import->records.items[i];
    if (!r->model || !r->engine || !r->outcome || !import->keys[i]) abort();
    check_text(r->model);
    check_text(r->reason);
    check_text(r->notes);
    check_text(import->keys[i]);
    if (r->sample_count && !r->samples_ns) abort();
    if (r->latency_p50_ms < 0 && r->workload && strcmp(r->workload, "imported") == 0) abort();
  }
}

/* What was read can be written again. */
static void write_again(const hl_import *import) {
  hl_text out = HL_TEXT_INIT;
  hl_error error = {0};
  if (hl_google_benchmark_write(&import->info, &import->records, &out, &error) != HL_OK ||
      out.failed)
    abort();
  const hl_import_source source = {.name = "again", .data = out.data, .bytes = out.length};
  hl_import again;
  bool timed = strstr(out.data, "\"real_time\"") != NULL;
  if (hl_import_memory(&source, &again, &error) == HL_OK)
    hl_import_release(&again);
  else if (timed) {
    fprintf(stderr, "%s\n", error.msg);
    abort();
  }
  hl_text_clear(&out);
  hl_openmetrics_write(&import->info, &import->records, &out);
  if (out.failed || !strstr(out.data, "# EOF\n")) abort();
  hl_text_release(&out);
}

static void import_as(const uint8_t *data, size_t size, const hl_import_format *format) {
  static const char config[] =
      "{\"backend\": {\"model\": \"m\", \"name\": \"pytorch\"}, \"scenario\":"
      " {\"input_shapes\": {\"batch_size\": 2}}}";
  const hl_import_source source = {.name = "input",
                                   .data = (const char *)data,
                                   .bytes = size,
                                   .config = config,
                                   .config_bytes = sizeof config - 1,
                                   .format = format};
  hl_import import;
  hl_error error = {0};
  hl_status status = hl_import_memory(&source, &import, &error);
  if (status != HL_OK) {
    if (error.status != status || !error.msg[0]) abort();
    return;
  }
  check_rows(&import);
  write_again(&import);
  hl_import_release(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  import_as(data, size, NULL);
  hl_import_format forced = (hl_import_format)(size % HL_IMPORT_FORMATS);
  import_as(data, size, &forced);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------- */

static const char *const seeds[] = {
    /* google-benchmark: repetitions, aggregates, a fit, an error, a bare NaN, hotlap's own row */
    "{\"context\": {\"date\": \"2026-11-28T09:25:54+02:00\", \"host_name\": \"vm\", \"num_cpus\": "
    "2,"
    " \"library_version\": \"v1.9\"}, \"benchmarks\": [\n"
    "{\"name\": \"a/8\", \"run_name\": \"a/8\", \"run_type\": \"iteration\", \"repetitions\": 2,"
    " \"repetition_index\": 0, \"threads\": 1, \"iterations\": 100, \"real_time\": 1.5e+01,"
    " \"cpu_time\": 3, \"time_unit\": \"us\", \"foo\": NaN},\n"
    "{\"name\": \"a/8\", \"run_name\": \"a/8\", \"run_type\": \"iteration\", \"iterations\": 50,"
    " \"real_time\": 16, \"cpu_time\": 3, \"time_unit\": \"us\"},\n"
    "{\"name\": \"a/8_mean\", \"run_name\": \"a/8\", \"run_type\": \"aggregate\","
    " \"aggregate_name\": \"mean\", \"iterations\": 2, \"real_time\": 15.5, \"time_unit\": "
    "\"us\"},\n"
    "{\"name\": \"a_BigO\", \"run_name\": \"a\", \"run_type\": \"aggregate\","
    " \"aggregate_name\": \"BigO\", \"real_coefficient\": 0.1, \"big_o\": \"N\"},\n"
    "{\"name\": \"e\", \"error_occurred\": true, \"error_message\": \"no \\\"device\\\"\\n\"},\n"
    "{\"name\": \"s\", \"skipped\": true, \"skip_message\": \"x\"}]}",
    "{\"context\": {}, \"benchmarks\": [{\"name\": \"b/real_time\", \"iterations\": 1, "
    "\"real_time\":"
    " 2e6, \"items_per_second\": 500, \"label\": \"l\"}, {\"name\": \"b_median\", \"run_name\":"
    " \"b/real_time\", \"run_type\": \"aggregate\", \"aggregate_name\": \"median\", \"hotlap\":"
    " {\"outcome\": \"PASSED\", \"workload\": \"inference\", \"engine\": \"native\", \"model\":"
    " \"mlp\", \"batch_size\": 2, \"steps_per_sample\": 1, \"steady\": true, \"latency_p50_ms\": 2,"
    " \"latency_p50_ci_ms\": [1, 3]}}]}",
    /* hyperfine */
    "{\"results\": [{\"command\": \"sleep 0.1\", \"mean\": 0.1, \"stddev\": null, \"median\": 0.1,"
    " \"user\": 0.001, \"system\": 0, \"min\": 0.1, \"max\": 0.1, \"times\": [0.1, 0.11, 0.1, 0.12,"
    " 0.1, 0.1], \"memory_usage_byte\": [1024, 2048], \"exit_codes\": [0, 0, null],"
    " \"parameters\": {\"n\": \"1\"}}]}",
    "{\"results\": [{\"command\": \"true\", \"mean\": 0.1, \"median\": 0.1}]}",
    /* llama-bench */
    "[{\"build_commit\": \"8cf427ff\", \"build_number\": 5163, \"cpu_info\": \"c\", \"gpu_info\": "
    "\"\","
    " \"backends\": \"CPU\", \"model_filename\": \"m.gguf\", \"model_type\": \"q 7B\","
    " \"model_n_params\": 7615616512, \"n_threads\": 8, \"use_mmap\": true, \"n_prompt\": 512,"
    " \"n_gen\": 0, \"n_depth\": 0, \"test_time\": \"2026-04-24T11:58:50Z\", \"avg_ns\": 72135640,"
    " \"stddev_ns\": 1453752, \"avg_ts\": 7100.0, \"samples_ns\": [74601900, 71632900]}]",
    "{\"build_commit\": \"8c\", \"model_filename\": \"m\", \"n_gen\": 8, \"avg_ns\": 5}\n"
    "{\"build_commit\": \"8c\", \"model_filename\": \"m\", \"n_gen\": 8, \"avg_ns\": 6}\n",
    "build_commit,cpu_info,model_filename,model_type,n_prompt,n_gen,test_time,avg_ns,stddev_ns\n"
    "\"8c\",\"a "
    "\"\"b\"\"\",\"m.gguf\",\"q\",\"512\",\"0\",\"2026-04-24T11:57:09Z\",\"70285660\",\"98\"\n",
    /* asv */
    "{\"commit_hash\": \"8678\", \"env_name\": \"e\", \"date\": 1795858143000, \"params\": "
    "{\"machine\":"
    " \"vm\", \"cpu\": \"c\", \"num_cpu\": \"2\", \"ram\": \"25276059648\", \"os\": \"Linux\"},"
    " \"result_columns\": [\"result\", \"params\", \"started_at\", \"stats_ci_99_a\","
    " \"stats_ci_99_b\", \"stats_number\", \"samples\"], \"results\": {\"s.time_x\": [[7e-07, NaN,"
    " null, 1e-6], [[\"1\", \"2\"], [\"'a'\", \"'b'\"]], 1795858146512, [-1e-6, null, null, 2],"
    " [1, null, null, 2], [10, null, null, 2], [[7e-07, 8e-07], null, null, null]], \"track_y\":"
    " [[42], []], \"s.time_f\": [null, []]}, \"version\": 2}",
    /* hotlap-measure */
    "{\"schema\": \"hotlap.measure/1\", \"created\": \"2026-11-28T09:25:54Z\", \"host\": \"vm\","
    " \"interpreter\": \"CPython 3.11\", \"program\": \"a.py\", \"command\": \"python a.py\","
    " \"git_commit\": null, \"steps\": [{\"name\": \"a\", \"batch_size\": 8, \"device\": \"cpu\","
    " \"ns\": [1, 2, 3], \"calls_per_sample\": 2, \"failures\": 1, \"failure\": \"x\"},"
    " {\"name\": \"a\", \"ns\": [], \"failures\": 3, \"failure\": \"\"}]}",
    /* optimum-benchmark */
    "{\"load\": {\"latency\": {\"unit\": \"s\", \"values\": [15.5], \"mean\": 15.5}}, \"forward\":"
    " {\"memory\": {\"unit\": \"MB\", \"max_ram\": 900.5, \"max_allocated\": 10}, \"latency\":"
    " {\"unit\": \"s\", \"values\": [11.4, 11.5, 11.2]}, \"throughput\": {\"unit\": \"samples/s\","
    " \"value\": 0.176}, \"energy\": {\"unit\": \"kWh\", \"total\": 1}}, \"decode\": {\"latency\":"
    " {\"values\": [1]}, \"throughput\": {\"unit\": \"tokens/s\", \"value\": 3}}}",
    "{\"config\": {\"backend\": {\"model\": \"m\", \"dtype\": \"float16\"}, \"scenario\":"
    " {\"input_shapes\": {\"batch_size\": 64}}, \"environment\": {\"cpu\": \" Intel\", \"gpu\":"
    " [\"T4\"], \"cpu_count\": 8, \"cpu_ram_mb\": 33164.89}}, \"report\": {\"forward\":"
    " {\"latency\": {\"values\": [0.1]}}}}",
};

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  size_t size = strlen(seeds[index]);
  if (size > capacity) return 0;
  memcpy(ret_data, seeds[index], size);
  return size;
}
