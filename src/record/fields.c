#include "record/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *at(const void *fields, const hl_metric *metric) {
  return (const char *)fields + metric->offset;
}

void hl_fields_init(void *fields, const hl_metric *table, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *field = (char *)fields + table[i].offset;
    switch (table[i].kind) {
    case HL_METRIC_TEXT:
      *(char **)field = NULL;
      break;
    case HL_METRIC_INT:
      *(int64_t *)field = HL_INT_NULL;
      break;
    case HL_METRIC_REAL:
      *(double *)field = (double)NAN;
      break;
    case HL_METRIC_BOOL:
      *(int8_t *)field = -1;
      break;
    case HL_METRIC_PAIR:
      *(hl_pair *)field = (hl_pair){(double)NAN, (double)NAN};
      break;
    }
  }
}

void hl_fields_release(void *fields, const hl_metric *table, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (table[i].kind == HL_METRIC_TEXT) free(*(char **)((char *)fields + table[i].offset));
}

void hl_fields_copy(const void *from, void *to, const hl_metric *table, size_t count) {
  static const size_t bytes[] = {[HL_METRIC_INT] = sizeof(int64_t),
                                 [HL_METRIC_REAL] = sizeof(double),
                                 [HL_METRIC_BOOL] = sizeof(int8_t),
                                 [HL_METRIC_PAIR] = sizeof(hl_pair)};
  for (size_t i = 0; i < count; i++) {
    const void *source = at(from, &table[i]);
    void *field = (char *)to + table[i].offset;
    if (table[i].kind != HL_METRIC_TEXT) {
      memcpy(field, source, bytes[table[i].kind]);
      continue;
    }
    free(*(char **)field);
    *(char **)field = hl_strdup(*(char *const *)source);
  }
}

void hl_fields_note(char **notes, const char *format, va_list arguments) {
  char sentence[1024];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  bool first = !*notes || !(*notes)[0];
  char *joined = first ? hl_strdup(sentence) : hl_format("%s; %s", *notes, sentence);
  if (!joined) return;
  free(*notes);
  *notes = joined;
}

static bool is_known(hl_pair pair) {
  return isfinite(pair.low) && isfinite(pair.high);
}

void hl_json_pair(hl_json *json, const char *key, hl_pair pair) {
  if (!is_known(pair)) {
    hl_json_null(json, key);
    return;
  }
  hl_json_array(json, key);
  hl_json_real(json, NULL, pair.low);
  hl_json_real(json, NULL, pair.high);
  hl_json_end(json);
}

bool hl_field_is_null(const void *fields, const hl_metric *metric) {
  const void *field = at(fields, metric);
  switch (metric->kind) {
  case HL_METRIC_TEXT:
    return *(char *const *)field == NULL;
  case HL_METRIC_INT:
    return *(const int64_t *)field == HL_INT_NULL;
  case HL_METRIC_REAL:
    return !isfinite(*(const double *)field);
  case HL_METRIC_BOOL:
    return *(const int8_t *)field < 0;
  case HL_METRIC_PAIR:
    return !is_known(*(const hl_pair *)field);
  }
  return true;
}

static void write_json(const void *field, const hl_metric *m, hl_json *json) {
  switch (m->kind) {
  case HL_METRIC_TEXT:
    hl_json_text(json, m->key, *(char *const *)field);
    break;
  case HL_METRIC_INT:
    hl_json_int(json, m->key, *(const int64_t *)field);
    break;
  case HL_METRIC_REAL:
    hl_json_real(json, m->key, *(const double *)field);
    break;
  case HL_METRIC_BOOL:
    hl_json_bool(json, m->key, *(const int8_t *)field != 0);
    break;
  case HL_METRIC_PAIR:
    hl_json_pair(json, m->key, *(const hl_pair *)field);
    break;
  }
}

void hl_fields_write_json(const void *fields, const hl_metric *table, size_t count, hl_json *json) {
  for (size_t i = 0; i < count; i++) {
    const hl_metric *m = &table[i];
    if (!hl_field_is_null(fields, m))
      write_json(at(fields, m), m, json);
    else if (strcmp(m->key, "notes") == 0) /* text for people to read: empty rather than null */
      hl_json_text(json, m->key, "");
    else
      hl_json_null(json, m->key);
  }
}

void hl_field_text(const void *fields, const hl_metric *metric, hl_text *out) {
  if (hl_field_is_null(fields, metric)) return;
  const void *field = at(fields, metric);
  char low[32], high[32];
  switch (metric->kind) {
  case HL_METRIC_TEXT:
    hl_text_append(out, *(char *const *)field);
    break;
  case HL_METRIC_INT:
    hl_text_format(out, "%" PRId64, *(const int64_t *)field);
    break;
  case HL_METRIC_BOOL:
    hl_text_append(out, *(const int8_t *)field ? "true" : "false");
    break;
  case HL_METRIC_REAL:
    hl_json_format_real(*(const double *)field, low);
    hl_text_append(out, low);
    break;
  case HL_METRIC_PAIR:
    hl_json_format_real(((const hl_pair *)field)->low, low);
    hl_json_format_real(((const hl_pair *)field)->high, high);
    hl_text_format(out, "%s %s", low, high);
    break;
  }
}
