/*
 * record/record.h - one row per configuration; everything printed or exported comes from records.
 *
 *     hl_record record;
 *     hl_record_init(&record);
 *     hl_record_set_text(&record.engine, "native");
 *     record.latency_p50_ms = 1.25;
 *     hl_record_release(&record);
 */
#ifndef HL_RECORD_RECORD_H
#define HL_RECORD_RECORD_H

#include "record/custom.h"
#include "record/epoch.h"
#include "record/fields.h"
#include "record/imaging-pictures.h"
#include "record/memory-map.h"
#include "record/outputs.h"
#include "record/rate.h"
#include "record/reconstruction.h"
#include "record/thumbnails.h"

typedef enum hl_outcome {
  HL_PASSED,
  HL_FAILED,
  HL_SKIPPED,
  HL_NOT_IMPLEMENTED,
  HL_MISTRUSTED,
  HL_DIED,
  HL_NO_MEMORY,
  HL_TIME_OUT
} hl_outcome;

const char *hl_outcome_name(hl_outcome outcome); /* "PASSED" ... as in contract and database */
/* false for an unknown name */
bool hl_outcome_from_name(const char *name, hl_outcome *ret_outcome);
/* The outcome a failed row has for a status. */
hl_outcome hl_outcome_from_status(hl_status status);

typedef struct hl_record {
#define X(kind, key, unit, better, title, doc) HL_FIELD_##kind key;
#include "record/metrics.def"
#undef X
  /* Durations of the measured full-batch samples, in order; owned, may be NULL. */
  uint64_t *samples_ns;
  size_t sample_count;
  hl_rates rates; /* of a load test that found its rate */
  /* Of a training run: the loss of each step, in order; owned, may be NULL. */
  float *step_losses;
  size_t step_loss_count;
  hl_epochs epochs;
  hl_customs customs; /* of --metric-plugin */
  /* Of a row of `hotlap memory`: owned, not copied; or NULL. */
  hl_memory_map *memory_map;
  /* With --metric-plugin, until its metrics are computed: owned, or NULL. */
  hl_record_outputs *outputs;
  hl_imaging_pictures *pictures;     /* of progressive imaging, the same */
  hl_reconstruction *reconstruction; /* of a pipeline that was measured now: owned, or NULL */
  /* Of a row from the store: what it kept of pictures or reconstruction. Owned, or NULL. */
  hl_thumbnails *thumbnails;
} hl_record;

extern const hl_metric hl_metrics[];
extern const size_t hl_metric_count;
const hl_metric *hl_metric_find(const char *key); /* or NULL */

void hl_record_init(hl_record *record); /* everything null */
void hl_record_release(hl_record *record);
/* Replaces a text field by a copy; NULL clears. Without memory the field becomes NULL. */
void hl_record_set_text(char **field, const char *value);
/* Adds a sentence to `notes`, separated by "; ". */
void hl_record_note(hl_record *record, const char *format, ...) HL_PRINTF(2, 3);
bool hl_record_passed(const hl_record *record);
/* What a row's `workload` says. */
#define HL_WORKLOAD_INFERENCE "inference"
#define HL_WORKLOAD_LOAD "load"
#define HL_WORKLOAD_MEMORY "memory"
#define HL_WORKLOAD_TRAINING "training"
#define HL_WORKLOAD_PIPELINE "pipeline"       /* a step is a pass over a whole scan */
#define HL_WORKLOAD_PROGRESSIVE "progressive" /* a step is a pass over all samples */
#define HL_WORKLOAD_IMPORTED                                                                       \
  "imported" /* from another tool's file: a step is what that tool times */
bool hl_workload_is_load(const char *workload); /* false for NULL */
bool hl_workload_is_memory(const char *workload);
bool hl_workload_is_training(const char *workload);
bool hl_workload_is_pipeline(const char *workload);
bool hl_workload_is_progressive(const char *workload);
bool hl_workload_is_imported(const char *workload);
/* Out of memory by a plan's word (the reason begins with HL_REASON_PREDICTED): nothing was seen. */
#define HL_REASON_PREDICTED "predicted"
bool hl_record_predicted(const hl_record *record);

/* The field of a metric. */
void *hl_record_field_mutable(hl_record *record, const hl_metric *metric);
bool hl_record_is_null(const hl_record *record, const hl_metric *metric);

/* An integer, null for HL_INT_NULL. */
void hl_record_json_int(hl_json *json, const char *key, int64_t value);
/* Writes all metrics as members of the object that is open in `json`. */
void hl_record_write_json(const hl_record *record, hl_json *json);
/* A field as the text of a CSV cell before quoting; empty for null. */
void hl_record_field_text(const hl_record *record, const hl_metric *metric, hl_text *out);

/* A growing list of records. */
typedef struct hl_records {
  hl_record *items;
  size_t count, capacity;
} hl_records;
void hl_records_release(hl_records *records);
/* Moves `record` to the end of the list and leaves it initialised. */
hl_status hl_records_take(hl_records *records, hl_record *record, hl_error *error);

/* What the records of one run share. */
typedef struct hl_run_info {
  char *id;      /* "20261127T120000Z-1a2b" */
  char *created; /* UTC */
  char *resumed; /* UTC of each time it was resumed, one a line; NULL: never */
  char *plan;    /* of `hotlap run`: the text of its YAML file; NULL: none */
  char *hotlap_version;
  char *command; /* command line, quoted for a shell */
  char *machine_id, *cpu, *os, *kernel;
  char *gpus; /* names, one a line; NULL or "": none */
  int64_t cores, memory_bytes;
  char *percentiles;    /* "linear" */
  char *warmup;         /* "auto" or a number */
  double first_step_ms; /* from the command to the end of the first step, all set-up included */
  double max_time_s, overhead_ns, clock_read_ns, clock_resolution_ns;
  /* Measured limits of the roofline; NaN if not measured. bfloat16: or if there is none. */
  double peak_gflops, peak_bfloat16_gflops, peak_bandwidth_gbs;
  double safety_margin;    /* 0.1 */
  int64_t memory_limit_mb; /* HL_INT_NULL: none */
} hl_run_info;
void hl_run_info_init(hl_run_info *info);
void hl_run_info_release(hl_run_info *info);

#endif
