#include "store/schema.h"

#include "record/record.h"
#include <stddef.h>

#define COLUMN_TEXT(type, key) {#key, HL_METRIC_TEXT, offsetof(type, key)},
#define COLUMN_INT(type, key) {#key, HL_METRIC_INT, offsetof(type, key)},
#define COLUMN_REAL(type, key) {#key, HL_METRIC_REAL, offsetof(type, key)},
#define COLUMN_BOOL(type, key) {#key, HL_METRIC_BOOL, offsetof(type, key)},
#define COLUMN_PAIR(type, key)                                                                     \
  {#key "_low", HL_METRIC_REAL, offsetof(type, key) + offsetof(hl_pair, low)},                     \
      {#key "_high", HL_METRIC_REAL, offsetof(type, key) + offsetof(hl_pair, high)},

static const hl_store_column row_columns[] = {
#define X(kind, key, unit, better, title, doc) COLUMN_##kind(hl_record, key)
#include "record/metrics.def"
#undef X
};

static const hl_store_column comparison_columns[] = {
#define X(kind, key, unit, better, title, doc) COLUMN_##kind(hl_comparison, key)
#include "record/comparisons.def"
#undef X
};

static const hl_store_column rate_columns[] = {
#define X(kind, key, unit, better, title, doc) COLUMN_##kind(hl_rate, key)
#include "record/rates.def"
#undef X
};

static const hl_store_column epoch_columns[] = {
#define X(kind, key, unit, better, title, doc) COLUMN_##kind(hl_epoch, key)
#include "record/epochs.def"
#undef X
};

static const hl_store_column custom_columns[] = {
#define X(kind, key, unit, better, title, doc) COLUMN_##kind(hl_custom, key)
#include "record/customs.def"
#undef X
};

#define RUN(kind, key)                                                                             \
  { #key, HL_METRIC_##kind, offsetof(hl_run_info, key) }
static const hl_store_column run_columns[] = {
    RUN(TEXT, created),
    RUN(TEXT, resumed),
    RUN(TEXT, plan),
    RUN(TEXT, hotlap_version),
    RUN(TEXT, command),
    RUN(TEXT, machine_id),
    RUN(TEXT, cpu),
    RUN(TEXT, os),
    RUN(TEXT, kernel),
    RUN(TEXT, gpus),
    RUN(INT, cores),
    RUN(INT, memory_bytes),
    RUN(TEXT, percentiles),
    RUN(TEXT, warmup),
    RUN(REAL, max_time_s),
    RUN(REAL, overhead_ns),
    RUN(REAL, first_step_ms),
    RUN(REAL, clock_read_ns),
    RUN(REAL, clock_resolution_ns),
    RUN(REAL, peak_gflops),
    RUN(REAL, peak_bfloat16_gflops),
    RUN(REAL, peak_bandwidth_gbs),
    RUN(REAL, safety_margin),
    RUN(INT, memory_limit_mb),
};

const hl_store_table hl_store_rows_table = {"rows", row_columns, HL_COUNT(row_columns)};
const hl_store_table hl_store_runs_table = {"runs", run_columns, HL_COUNT(run_columns)};
const hl_store_table hl_store_comparisons_table = {"comparisons", comparison_columns,
                                                   HL_COUNT(comparison_columns)};
const hl_store_table hl_store_rates_table = {"load_rates", rate_columns, HL_COUNT(rate_columns)};
const hl_store_table hl_store_customs_table = {"custom_metrics", custom_columns,
                                               HL_COUNT(custom_columns)};
const hl_store_table hl_store_epochs_table = {"train_epochs", epoch_columns,
                                              HL_COUNT(epoch_columns)};
