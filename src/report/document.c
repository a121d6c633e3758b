#include "analyse/grid.h"
#include "analyse/memory.h"
#include "report/report.h"

/* JSON of a warm-up: a number where it is one, else its word. */
static void write_warmup(hl_json *json, const char *warmup) {
  int64_t steps = 0;
  if (warmup && hl_parse_int(warmup, 0, INT64_MAX, "warmup", &steps, NULL) == HL_OK)
    hl_json_int(json, "warmup", steps);
  else
    hl_json_text(json, "warmup", warmup);
}

static void write_machine(hl_json *json, const hl_run_info *info) {
  hl_json_object(json, "machine");
  hl_json_text(json, "cpu", info->cpu);
  hl_record_json_int(json, "cores", info->cores);
  hl_record_json_int(json, "memory_bytes", info->memory_bytes);
  hl_json_lines(json, "gpus", info->gpus);
  hl_json_text(json, "id", info->machine_id);
  hl_json_text(json, "os", info->os);
  hl_json_text(json, "kernel", info->kernel);
  hl_json_real(json, "peak_gflops", info->peak_gflops);
  hl_json_real(json, "peak_bfloat16_gflops", info->peak_bfloat16_gflops);
  hl_json_real(json, "peak_bandwidth_gbs", info->peak_bandwidth_gbs);
  hl_json_end(json);
}

static void write_method(hl_json *json, const hl_run_info *info) {
  hl_json_object(json, "method");
  write_warmup(json, info->warmup);
  hl_json_text(json, "percentiles", info->percentiles);
  hl_json_real(json, "max_time_s", info->max_time_s);
  hl_json_real(json, "overhead_ns", info->overhead_ns);
  hl_json_real(json, "first_step_ms", info->first_step_ms);
  hl_json_real(json, "clock_read_ns", info->clock_read_ns);
  hl_json_real(json, "clock_resolution_ns", info->clock_resolution_ns);
  hl_json_real(json, "safety_margin", info->safety_margin);
  hl_record_json_int(json, "memory_limit_mb", info->memory_limit_mb);
  hl_json_end(json);
}

static void write_training(const hl_record *r, hl_json *json) {
  hl_epochs_write_json(&r->epochs, json, "epochs");
  if (!r->step_loss_count) return;
  hl_json_array(json, "step_losses");
  for (size_t i = 0; i < r->step_loss_count; i++)
    hl_json_real(json, NULL, (double)r->step_losses[i]);
  hl_json_end(json);
}

static void write_memory(const hl_records *records, hl_json *json) {
  hl_memory_analysis analysis;
  if (hl_memory_analyse(records, &analysis, NULL) != HL_OK) return;
  hl_memory_write_json(&analysis, json, "memory");
  hl_memory_analysis_release(&analysis);
}

static void write_frameworks(const hl_report_input *input, hl_json *json) {
  hl_grid grid;
  if (hl_grid_make(input->analysis, input->records, input->engines, &grid, NULL) != HL_OK) return;
  hl_grid_write_json(&grid, input->info, json, "frameworks");
  hl_grid_release(&grid);
}

void hl_report_json(const hl_report_input *input, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.results/1");
  hl_json_text(&json, "hotlap_version", input->info->hotlap_version);
  hl_json_text(&json, "created", input->info->created);
  hl_json_lines(&json, "resumed", input->info->resumed);
  hl_json_text(&json, "run", input->info->id);
  hl_json_text(&json, "command", input->info->command);
  write_machine(&json, input->info);
  write_method(&json, input->info);
  hl_json_array(&json, "rows");
  for (size_t i = 0; i < input->records->count; i++) {
    hl_json_object(&json, NULL);
    hl_record_write_json(&input->records->items[i], &json);
    hl_rates_write_json(&input->records->items[i].rates, &json, "rates");
    write_training(&input->records->items[i], &json);
    hl_customs_write_json(&input->records->items[i].customs, &json, "custom_metrics");
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_array(&json, "comparisons");
  for (size_t i = 0; input->comparisons && i < input->comparisons->count; i++) {
    hl_json_object(&json, NULL);
    hl_comparison_write_json(&input->comparisons->items[i], &json);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_analysis_write_json(input->analysis, &json, "analysis");
  hl_engines_write_json(input->engines, &json, "engines");
  write_frameworks(input, &json);
  write_memory(input->records, &json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

void hl_report_summary(const hl_records *records, hl_text *out) {
  size_t counts[HL_TIME_OUT + 1] = {0};
  for (size_t i = 0; i < records->count; i++) {
    hl_outcome outcome = HL_FAILED;
    hl_outcome_from_name(records->items[i].outcome, &outcome);
    counts[outcome]++;
  }
  hl_text_format(out, "%zu row%s: %zu passed", records->count, records->count == 1 ? "" : "s",
                 counts[HL_PASSED]);
  for (size_t i = HL_PASSED + 1; i < HL_COUNT(counts); i++)
    if (counts[i]) hl_text_format(out, ", %zu %s", counts[i], hl_outcome_name((hl_outcome)i));
  hl_text_char(out, '\n');
}
