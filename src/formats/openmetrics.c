#include "formats/openmetrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A unit of metrics.def: the base unit, how it is spelled in keys, and what a value is divided by,
 * since 1.25 / 1000 is exact where 1.25 * 0.001 is not. */
typedef struct base_unit {
  const char *name, *base, *spelled;
  double divisor;
} base_unit;

static const base_unit units[] = {
    {"ms", "seconds", "_ms", 1e3},
    {"ns", "seconds", "_ns", 1e9},
    {"s", "seconds", "_s", 1},
    {"MB", "bytes", "_mb", 1e-6},
    {"J", "joules", "_j", 1},
    {"W", "watts", "_w", 1},
    {"MHz", "hertz", "_mhz", 1e-6},
    {"°C", "celsius", "_c", 1},
    {"%", "ratio", "_percent", 100},
    {"images/s", "images_per_second", "_ips", 1},
    {"patterns/s", "patterns_per_second", "", 1},
    {"queries/s", "queries_per_second", "_qps", 1},
    {"FLOP", "", "", 1}, /* their keys say flops */
    {"images/s/MB", "images_per_second_per_byte", "", 1e6},
};

static const base_unit *unit_of(const hl_metric *metric) {
  for (size_t i = 0; i < HL_COUNT(units); i++)
    if (strcmp(units[i].name, metric->unit) == 0) return &units[i];
  return NULL;
}

/* Appends the key without the word that spells its unit. */
static void append_stem(hl_text *out, const char *key, const char *spelled) {
  size_t length = strlen(spelled);
  const char *at = length ? strstr(key, spelled) : NULL;
  while (at && at[length] != '\0' && at[length] != '_') at = strstr(at + 1, spelled);
  if (!at) {
    hl_text_append(out, key);
    return;
  }
  hl_text_append_n(out, key, (size_t)(at - key));
  hl_text_append(out, at + length);
}

/* A unit that the table above does not know: its letters, '/' as per. */
static void append_unit(hl_text *out, const char *name) {
  for (const char *c = name; *c; c++) {
    if (*c == '/')
      hl_text_append(out, "_per_");
    else if (isalnum((unsigned char)*c))
      hl_text_char(out, (char)tolower((unsigned char)*c));
  }
}

void hl_openmetrics_name(const hl_metric *metric, hl_text *ret_name, hl_text *ret_unit) {
  const base_unit *u = unit_of(metric);
  hl_text_append(ret_name, "hotlap_");
  append_stem(ret_name, metric->key, u ? u->spelled : "");
  if (u)
    hl_text_append(ret_unit, u->base);
  else
    append_unit(ret_unit, metric->unit);
  if (ret_unit->length && !hl_text_ends(ret_name->data, ret_unit->data))
    hl_text_format(ret_name, "_%s", ret_unit->data);
}

void hl_openmetrics_label(hl_text *out, const char *value) {
  for (const unsigned char *c = (const unsigned char *)value; *c;) {
    size_t length = *c < 0x80 ? 1 : hl_utf8_length(c);
    if (!length) {
      hl_text_append(out, "\xef\xbf\xbd");
      c++;
      continue;
    }
    if (*c == '\\' || *c == '"') hl_text_char(out, '\\');
    if (*c == '\n')
      hl_text_append(out, "\\n");
    else
      hl_text_append_n(out, (const char *)c, length);
    c += length;
  }
}

static void put_label(hl_text *out, const char *key, const char *value) {
  if (!value || !value[0]) return; /* an empty label is no label */
  hl_text_format(out, "%s%s=\"", out->length ? "," : "", key);
  hl_openmetrics_label(out, value);
  hl_text_char(out, '"');
}

static void put_int_label(hl_text *out, const char *key, int64_t value) {
  if (value != HL_INT_NULL)
    hl_text_format(out, "%s%s=\"%" PRId64 "\"", out->length ? "," : "", key, value);
}

static bool is_identity(const char *key) {
  static const char *const keys[] = {"workload", "model",     "engine",  "provider",
                                     "dtype",    "device_id", "scenario"};
  for (size_t i = 0; i < HL_COUNT(keys); i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

/* What tells rows apart. */
static void put_identity(hl_text *out, const hl_record *r) {
  put_label(out, "workload", r->workload);
  put_label(out, "model", r->model);
  put_label(out, "engine", r->engine);
  put_label(out, "provider", r->provider);
  put_label(out, "dtype", r->dtype);
  put_int_label(out, "batch_size", r->batch_size);
  put_int_label(out, "threads", r->threads);
  put_label(out, "device_id", r->device_id);
  put_label(out, "scenario", r->scenario);
  if (isfinite(r->target_qps)) {
    char number[32];
    hl_json_format_real(r->target_qps, number);
    put_label(out, "target_qps", number);
  }
}

/* The labels of all rows; a set that is there before gets a label of its own, for two samples of
 * one set are no OpenMetrics. */
static bool make_labels(const hl_records *records, hl_text *labels) {
  bool whole = true;
  for (size_t i = 0; i < records->count; i++) {
    hl_text *text = &labels[i];
    *text = (hl_text)HL_TEXT_INIT;
    put_identity(text, &records->items[i]);
    size_t length = text->length;
    int64_t number = 1;
    for (size_t k = 0; k < i; k++)
      number += labels[k].length >= length && memcmp(labels[k].data, text->data, length) == 0 &&
                (labels[k].length == length || strncmp(labels[k].data + length, ",row=", 5) == 0);
    if (number > 1) put_int_label(text, "row", number);
    whole = whole && !text->failed;
  }
  return whole;
}

/* -- families ---------------------------------------------------------------------------------- */

static void put_help(hl_text *out, const char *name, const char *unit, const char *doc) {
  hl_text_format(out, "# TYPE %s gauge\n", name);
  if (unit[0]) hl_text_format(out, "# UNIT %s %s\n", name, unit);
  hl_text_format(out, "# HELP %s ", name);
  hl_openmetrics_label(out, doc); /* the same escapes */
  hl_text_char(out, '\n');
}

static void put_sample(hl_text *out, const char *name, const hl_text *labels, const char *bound,
                       double value) {
  char number[32];
  hl_json_format_real(value, number);
  hl_text_format(out, "%s{%s%s%s%s%s} %s\n", name, labels->data, bound && labels->length ? "," : "",
                 bound ? "bound=\"" : "", bound ? bound : "", bound ? "\"" : "", number);
}

static double in_base_unit(const hl_metric *metric, double value) {
  const base_unit *u = unit_of(metric);
  if (!u) return value;
  double base = value / u->divisor;
  return strcmp(u->base, "bytes") == 0 ? rint(base) : base; /* bytes were whole before */
}

static void put_field(hl_text *out, const char *name, const hl_text *labels, const hl_metric *m,
                      const void *field) {
  switch (m->kind) {
  case HL_METRIC_INT:
    put_sample(out, name, labels, NULL, (double)*(const int64_t *)field);
    break;
  case HL_METRIC_REAL:
    put_sample(out, name, labels, NULL, in_base_unit(m, *(const double *)field));
    break;
  case HL_METRIC_BOOL:
    put_sample(out, name, labels, NULL, *(const int8_t *)field ? 1 : 0);
    break;
  case HL_METRIC_PAIR:
    put_sample(out, name, labels, "low", in_base_unit(m, ((const hl_pair *)field)->low));
    put_sample(out, name, labels, "high", in_base_unit(m, ((const hl_pair *)field)->high));
    break;
  case HL_METRIC_TEXT:
    break;
  }
}

static void put_family(hl_text *out, const hl_metric *metric, const hl_records *records,
                       const hl_text *labels) {
  if (metric->kind == HL_METRIC_TEXT) return;
  hl_text name = HL_TEXT_INIT, unit = HL_TEXT_INIT;
  hl_openmetrics_name(metric, &name, &unit);
  bool begun = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (hl_record_is_null(r, metric)) continue;
    if (!begun) put_help(out, name.data, unit.data, metric->doc);
    begun = true;
    put_field(out, name.data, &labels[i], metric, (const char *)r + metric->offset);
  }
  out->failed = out->failed || name.failed || unit.failed;
  hl_text_release(&name);
  hl_text_release(&unit);
}

static bool has_before(const hl_records *records, size_t row, const char *name) {
  for (size_t i = 0; i < row; i++)
    if (hl_customs_find(&records->items[i].customs, name)) return true;
  return false;
}

/* A family for each metric of the users': hotlap_custom_NAME, in the unit that they gave. */
static void put_customs(hl_text *out, const hl_records *records, const hl_text *labels) {
  for (size_t row = 0; row < records->count; row++)
    for (size_t c = 0; c < records->items[row].customs.count; c++) {
      const hl_custom *first = &records->items[row].customs.items[c];
      if (!first->name || has_before(records, row, first->name)) continue;
      hl_text name = HL_TEXT_INIT, unit = HL_TEXT_INIT;
      append_unit(&unit, first->unit ? first->unit : "");
      hl_text_format(&name, "hotlap_custom_%s", first->name);
      if (unit.length && !hl_text_ends(name.data, unit.data))
        hl_text_format(&name, "_%s", unit.data);
      put_help(out, name.data, unit.data, first->doc ? first->doc : "a metric of a plug-in");
      for (size_t i = row; i < records->count; i++) {
        const hl_custom *found = hl_customs_find(&records->items[i].customs, first->name);
        if (found && isfinite(found->value))
          put_sample(out, name.data, &labels[i], NULL, found->value);
      }
      out->failed = out->failed || name.failed || unit.failed;
      hl_text_release(&name);
      hl_text_release(&unit);
    }
}

static void put_row_info(hl_text *out, const hl_records *records, const hl_text *labels) {
  if (!records->count) return;
  put_help(out, "hotlap_row_passed", "", "1 for a row that passed");
  for (size_t i = 0; i < records->count; i++)
    put_sample(out, "hotlap_row_passed", &labels[i], NULL, hl_record_passed(&records->items[i]));
  put_help(out, "hotlap_row_info", "", "the words of a row");
  for (size_t i = 0; i < records->count; i++) {
    hl_text all = HL_TEXT_INIT;
    hl_text_append(&all, labels[i].data);
    for (size_t m = 0; m < hl_metric_count; m++)
      if (hl_metrics[m].kind == HL_METRIC_TEXT && !is_identity(hl_metrics[m].key))
        put_label(&all, hl_metrics[m].key,
                  *(char *const *)((const char *)&records->items[i] + hl_metrics[m].offset));
    put_sample(out, "hotlap_row_info", &all, NULL, 1);
    out->failed = out->failed || all.failed;
    hl_text_release(&all);
  }
}

static void put_run_info(hl_text *out, const hl_run_info *info) {
  hl_text labels = HL_TEXT_INIT;
  put_label(&labels, "run", info->id);
  put_label(&labels, "created", info->created);
  put_label(&labels, "hotlap_version", info->hotlap_version);
  put_label(&labels, "command", info->command);
  put_label(&labels, "machine_id", info->machine_id);
  put_label(&labels, "cpu", info->cpu);
  put_label(&labels, "os", info->os);
  put_label(&labels, "kernel", info->kernel);
  put_label(&labels, "percentiles", info->percentiles);
  put_help(out, "hotlap_run_info", "", "the run and its machine");
  put_sample(out, "hotlap_run_info", &labels, NULL, 1);
  out->failed = out->failed || labels.failed;
  hl_text_release(&labels);
}

void hl_openmetrics_write(const hl_run_info *info, const hl_records *records, hl_text *out) {
  hl_text *labels = calloc(records->count + 1, sizeof *labels);
  if (!labels || !make_labels(records, labels)) out->failed = true;
  if (!out->failed) {
    put_run_info(out, info);
    put_row_info(out, records, labels);
    for (size_t i = 0; i < hl_metric_count; i++) put_family(out, &hl_metrics[i], records, labels);
    put_customs(out, records, labels);
    hl_text_append(out, "# EOF\n");
  }
  for (size_t i = 0; labels && i < records->count; i++) hl_text_release(&labels[i]);
  free(labels);
}
