#include "record/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_names[] = {
    [HL_PASSED] = "PASSED",           [HL_FAILED] = "FAILED",
    [HL_SKIPPED] = "SKIPPED",         [HL_NOT_IMPLEMENTED] = "UNIMPLEMENTED",
    [HL_MISTRUSTED] = "MISTRUSTED",   [HL_DIED] = "CRASHED",
    [HL_NO_MEMORY] = "OUT_OF_MEMORY", [HL_TIME_OUT] = "TIMED_OUT",
};

const hl_metric hl_metrics[] = {
#define X(kind, key, unit, better, title, doc)                                                     \
  {HL_METRIC_##kind, #key, unit, HL_BETTER_##better, title, doc, offsetof(hl_record, key)},
#include "record/metrics.def"
#undef X
};
const size_t hl_metric_count = HL_COUNT(hl_metrics);

const hl_metric *hl_metric_find(const char *key) {
  for (size_t i = 0; i < hl_metric_count; i++)
    if (strcmp(hl_metrics[i].key, key) == 0) return &hl_metrics[i];
  return NULL;
}

const char *hl_outcome_name(hl_outcome outcome) {
  return (size_t)outcome < HL_COUNT(outcome_names) ? outcome_names[outcome] : "FAILED";
}

bool hl_outcome_from_name(const char *name, hl_outcome *ret_outcome) {
  for (size_t i = 0; name && i < HL_COUNT(outcome_names); i++)
    if (strcmp(outcome_names[i], name) == 0) {
      *ret_outcome = (hl_outcome)i;
      return true;
    }
  return false;
}

hl_outcome hl_outcome_from_status(hl_status status) {
  switch (status) {
  case HL_OK:
    return HL_PASSED;
  case HL_OUT_OF_MEMORY:
    return HL_NO_MEMORY;
  case HL_UNIMPLEMENTED:
    return HL_NOT_IMPLEMENTED;
  case HL_TIMED_OUT:
    return HL_TIME_OUT;
  case HL_CRASHED:
    return HL_DIED;
  case HL_UNAVAILABLE:
    return HL_SKIPPED;
  default:
    return HL_FAILED;
  }
}

void hl_record_init(hl_record *record) {
  memset(record, 0, sizeof *record);
  hl_fields_init(record, hl_metrics, hl_metric_count);
}

void hl_record_release(hl_record *record) {
  hl_fields_release(record, hl_metrics, hl_metric_count);
  free(record->samples_ns);
  free(record->step_losses);
  hl_rates_release(&record->rates);
  hl_epochs_release(&record->epochs);
  hl_customs_release(&record->customs);
  hl_memory_map_free(record->memory_map);
  hl_record_outputs_free(record->outputs);
  hl_reconstruction_free(record->reconstruction);
  hl_imaging_pictures_free(record->pictures);
  hl_thumbnails_free(record->thumbnails);
  hl_record_init(record);
}

void hl_record_outputs_free(hl_record_outputs *outputs) {
  if (!outputs) return;
  free(outputs->values);
  free(outputs->reference);
  free(outputs);
}

void hl_imaging_pictures_free(hl_imaging_pictures *pictures) {
  if (!pictures) return;
  free(pictures->truth);
  free(pictures->measured);
  free(pictures->reconstruction);
  free(pictures->mask);
  free(pictures);
}

void hl_record_set_text(char **field, const char *value) {
  char *copy = hl_strdup(value);
  free(*field);
  *field = copy;
}

void hl_record_note(hl_record *record, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  hl_fields_note(&record->notes, format, arguments);
  va_end(arguments);
}

bool hl_record_passed(const hl_record *record) {
  return record->outcome && strcmp(record->outcome, "PASSED") == 0;
}

bool hl_workload_is_load(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_LOAD) == 0;
}

bool hl_workload_is_memory(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_MEMORY) == 0;
}

bool hl_workload_is_training(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_TRAINING) == 0;
}

bool hl_workload_is_pipeline(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_PIPELINE) == 0;
}

bool hl_workload_is_progressive(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_PROGRESSIVE) == 0;
}

bool hl_workload_is_imported(const char *workload) {
  return workload && strcmp(workload, HL_WORKLOAD_IMPORTED) == 0;
}

bool hl_record_predicted(const hl_record *record) {
  static const char start[] = HL_REASON_PREDICTED;
  return record->outcome && strcmp(record->outcome, hl_outcome_name(HL_NO_MEMORY)) == 0 &&
         record->reason && strncmp(record->reason, start, sizeof start - 1) == 0;
}

void *hl_record_field_mutable(hl_record *record, const hl_metric *metric) {
  return (char *)record + metric->offset;
}

bool hl_record_is_null(const hl_record *record, const hl_metric *metric) {
  return hl_field_is_null(record, metric);
}

void hl_record_json_int(hl_json *json, const char *key, int64_t value) {
  if (value == HL_INT_NULL)
    hl_json_null(json, key);
  else
    hl_json_int(json, key, value);
}

void hl_record_write_json(const hl_record *record, hl_json *json) {
  hl_fields_write_json(record, hl_metrics, hl_metric_count, json);
}

void hl_record_field_text(const hl_record *record, const hl_metric *metric, hl_text *out) {
  hl_field_text(record, metric, out);
}

void hl_records_release(hl_records *records) {
  for (size_t i = 0; i < records->count; i++) hl_record_release(&records->items[i]);
  free(records->items);
  *records = (hl_records){0};
}

hl_status hl_records_take(hl_records *records, hl_record *record, hl_error *error) {
  if (records->count == records->capacity) {
    size_t capacity = records->capacity ? 2 * records->capacity : 16;
    hl_record *items = realloc(records->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a record");
    records->items = items;
    records->capacity = capacity;
  }
  records->items[records->count++] = *record;
  hl_record_init(record);
  return HL_OK;
}

void hl_run_info_init(hl_run_info *info) {
  *info = (hl_run_info){.cores = HL_INT_NULL,
                        .memory_bytes = HL_INT_NULL,
                        .max_time_s = (double)NAN,
                        .overhead_ns = (double)NAN,
                        .first_step_ms = (double)NAN,
                        .clock_read_ns = (double)NAN,
                        .clock_resolution_ns = (double)NAN,
                        .peak_gflops = (double)NAN,
                        .peak_bfloat16_gflops = (double)NAN,
                        .peak_bandwidth_gbs = (double)NAN,
                        .safety_margin = 0.1,
                        .memory_limit_mb = HL_INT_NULL};
}

void hl_run_info_release(hl_run_info *info) {
  char *texts[] = {
      info->id,          info->created,    info->resumed, info->plan, info->hotlap_version,
      info->command,     info->machine_id, info->cpu,     info->os,   info->kernel,
      info->percentiles, info->warmup,     info->gpus};
  for (size_t i = 0; i < HL_COUNT(texts); i++) free(texts[i]);
  hl_run_info_init(info);
}
