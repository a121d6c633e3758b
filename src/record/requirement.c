#include "record/requirement.h"

#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hl_requirement_verdict_name(hl_requirement_verdict verdict) {
  static const char *const names[] = {"PASS", "FAIL", "UNSURE", "UNKNOWN", "ELSEWHERE"};
  return names[verdict];
}

/* -- reading ----------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\n");
}

static const hl_metric *nearest_metric(const char *key, size_t length) {
  const hl_metric *nearest = NULL;
  size_t best = 6;
  for (size_t i = 0; i < hl_metric_count; i++) {
    size_t distance = hl_edit_distance(key, length, hl_metrics[i].key);
    if (distance < best) {
      best = distance;
      nearest = &hl_metrics[i];
    }
  }
  return nearest;
}

static hl_status read_metric(const char **at, const char *text, const hl_metric **ret_metric,
                             hl_error *error) {
  char key[64];
  *at = skip_blanks(*at);
  size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789_");
  if (length == 0 || length >= sizeof key)
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "requirement '%.150s': no metric before '%.20s'; it is METRIC < NUMBER, such "
        "as latency_p99_ms < 1",
        text, *at);
  memcpy(key, *at, length);
  key[length] = '\0';
  *ret_metric = hl_metric_find(key);
  *at += length;
  if (*ret_metric) return HL_OK;
  const hl_metric *nearest = nearest_metric(key, length);
  return hl_error_set(
      error, HL_INVALID_ARGUMENT, "requirement '%.150s': there is no metric '%s'%s%s%s", text, key,
      nearest ? "; did you mean '" : "", nearest ? nearest->key : "", nearest ? "'?" : "");
}

static hl_status read_relation(const char **at, const char *text, hl_relation *ret_relation,
                               hl_error *error) {
  static const struct {
    const char *sign;
    hl_relation relation;
  } signs[] = {{"<=", HL_RELATION_AT_MOST}, {">=", HL_RELATION_AT_LEAST}, {"!=", HL_RELATION_OTHER},
               {"==", HL_RELATION_EQUAL},   {"<", HL_RELATION_LESS},      {">", HL_RELATION_MORE},
               {"=", HL_RELATION_EQUAL}};
  *at = skip_blanks(*at);
  for (size_t i = 0; i < HL_COUNT(signs); i++)
    if (strncmp(*at, signs[i].sign, strlen(signs[i].sign)) == 0) {
      *at += strlen(signs[i].sign);
      *ret_relation = signs[i].relation;
      return HL_OK;
    }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "requirement '%.150s': '%.20s' is none of <, <=, >, >=, = and !=", text, *at);
}

/* A word: up to a blank; the model mlp:hidden_dim=8 has signs of its own. */
static hl_status read_part(const char **at, const char *text, hl_requirement_part *part,
                           hl_error *error) {
  hl_status status = read_metric(at, text, &part->metric, error);
  if (status == HL_OK) status = read_relation(at, text, &part->relation, error);
  if (status != HL_OK) return status;
  *at = skip_blanks(*at);
  size_t length = strcspn(*at, " \t\n");
  if (length == 0 || length >= sizeof part->value)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': no value after '%s'",
                        text, part->metric->key);
  memcpy(part->value, *at, length);
  part->value[length] = '\0';
  *at += length;
  part->number = (double)NAN;
  (void)hl_parse_real(part->value, -1e300, 1e300, "", &part->number, NULL);
  return HL_OK;
}

static bool is_number(const hl_metric *metric) {
  return metric->kind == HL_METRIC_INT || metric->kind == HL_METRIC_REAL;
}

static bool is_order(hl_relation relation) {
  return relation != HL_RELATION_EQUAL && relation != HL_RELATION_OTHER;
}

static hl_status check_part(const hl_requirement_part *p, bool required, const char *text,
                            hl_error *error) {
  if (p->metric->kind == HL_METRIC_PAIR || (required && !is_number(p->metric)))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': '%s' is not one number",
                        text, p->metric->key);
  if (required && !is_order(p->relation))
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "requirement '%.150s': a measured number is required to be <, <=, > or >=", text);
  if ((is_order(p->relation) || is_number(p->metric)) &&
      (isnan(p->number) || !is_number(p->metric)))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "requirement '%.150s': '%.60s' is no number to compare '%s' with", text,
                        p->value, p->metric->key);
  return HL_OK;
}

/* latency_p99_ms has latency_p99_ci_ms. */
static const hl_metric *interval_of(const hl_metric *metric) {
  const char *unit = strrchr(metric->key, '_');
  char key[80];
  if (!unit) return NULL;
  snprintf(key, sizeof key, "%.*s_ci%s", (int)(unit - metric->key), metric->key, unit);
  const hl_metric *interval = hl_metric_find(key);
  return interval && interval->kind == HL_METRIC_PAIR ? interval : NULL;
}

static bool take_word(const char **at, const char *word) {
  const char *start = skip_blanks(*at);
  size_t length = strlen(word);
  if (strncmp(start, word, length) != 0 || !strchr(" \t\n", start[length]) || !start[length])
    return false;
  *at = start + length;
  return true;
}

hl_status hl_requirement_parse(const char *text, hl_requirement *ret_requirement, hl_error *error) {
  hl_requirement r = {0};
  const char *at = text;
  if (strchr(text, ';')) /* what a row keeps is separated by them */
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': one at a time, no ';'",
                        text);
  hl_status status = read_part(&at, text, &r.required, error);
  if (status == HL_OK) status = check_part(&r.required, true, text, error);
  if (status != HL_OK) return status;
  r.interval = interval_of(r.required.metric);
  bool more = take_word(&at, "where");
  while (more) {
    if (r.condition_count == HL_REQUIREMENT_CONDITIONS)
      return hl_error_set(error, HL_LIMIT, "requirement '%.150s': more than %d conditions", text,
                          HL_REQUIREMENT_CONDITIONS);
    hl_requirement_part *part = &r.conditions[r.condition_count++];
    status = read_part(&at, text, part, error);
    if (status == HL_OK) status = check_part(part, false, text, error);
    if (status != HL_OK) return status;
    more = take_word(&at, "and");
  }
  if (*skip_blanks(at))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "requirement '%.150s': '%.60s' is neither 'where CONDITION' nor the end",
                        text, skip_blanks(at));
  *ret_requirement = r;
  return HL_OK;
}

/* -- judging ----------------------------------------------------------------------------------- */

static double number_of(const hl_record *record, const hl_metric *metric) {
  const void *field = (const char *)record + metric->offset;
  if (hl_record_is_null(record, metric)) return (double)NAN;
  return metric->kind == HL_METRIC_INT ? (double)*(const int64_t *)field : *(const double *)field;
}

static bool holds(hl_relation relation, double value, double limit) {
  switch (relation) {
  case HL_RELATION_LESS:
    return value < limit;
  case HL_RELATION_AT_MOST:
    return value <= limit;
  case HL_RELATION_MORE:
    return value > limit;
  case HL_RELATION_AT_LEAST:
    return value >= limit;
  case HL_RELATION_EQUAL:
    return value == limit;
  case HL_RELATION_OTHER:
    return value != limit;
  }
  return false;
}

static bool applies(const hl_requirement_part *p, const hl_record *record) {
  if (is_number(p->metric)) {
    double value = number_of(record, p->metric);
    return !isnan(value) && holds(p->relation, value, p->number);
  }
  hl_text text = HL_TEXT_INIT;
  hl_record_field_text(record, p->metric, &text);
  bool same = strcmp(text.data, p->value) == 0;
  hl_text_release(&text);
  return same == (p->relation == HL_RELATION_EQUAL);
}

hl_requirement_judged hl_requirement_judge(const hl_requirement *requirement,
                                           const hl_record *record) {
  const hl_requirement_part *p = &requirement->required;
  double nan = (double)NAN;
  hl_requirement_judged j = {HL_REQUIREMENT_ELSEWHERE, nan, {nan, nan}};
  for (size_t i = 0; i < requirement->condition_count; i++)
    if (!applies(&requirement->conditions[i], record)) return j;
  j.verdict = HL_REQUIREMENT_UNKNOWN;
  if (!hl_record_passed(record)) return j;
  j.value = number_of(record, p->metric);
  if (isnan(j.value)) return j;
  if (!requirement->interval) {
    j.verdict = holds(p->relation, j.value, p->number) ? HL_REQUIREMENT_PASS : HL_REQUIREMENT_FAIL;
    return j;
  }
  if (hl_record_is_null(record, requirement->interval)) return j;
  j.interval = *(const hl_pair *)((const char *)record + requirement->interval->offset);
  bool low = holds(p->relation, j.interval.low, p->number);
  bool high = holds(p->relation, j.interval.high, p->number);
  j.verdict = low && high   ? HL_REQUIREMENT_PASS
              : low || high ? HL_REQUIREMENT_UNSURE
                            : HL_REQUIREMENT_FAIL;
  return j;
}

hl_status hl_record_require(hl_record *record, const char *const *texts, size_t count,
                            hl_error *error) {
  hl_text kept = HL_TEXT_INIT;
  bool met = true, failed = false;
  for (size_t i = 0; i < count; i++) {
    hl_requirement requirement;
    hl_status status = hl_requirement_parse(texts[i], &requirement, error);
    if (status != HL_OK) {
      hl_text_release(&kept);
      return status;
    }
    hl_requirement_verdict verdict = hl_requirement_judge(&requirement, record).verdict;
    if (verdict == HL_REQUIREMENT_ELSEWHERE) continue;
    hl_text_format(&kept, "%s%s", kept.length ? "; " : "", texts[i]);
    met = met && verdict == HL_REQUIREMENT_PASS;
    failed = failed || verdict == HL_REQUIREMENT_FAIL;
  }
  if (kept.length) {
    hl_record_set_text(&record->requirements, kept.data);
    record->requirements_met = met ? 1 : failed ? 0 : -1;
  }
  hl_text_release(&kept);
  return HL_OK;
}
