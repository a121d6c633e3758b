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

bool hl_requirement_any(const void *context, const char *name) {
  (void)context;
  (void)name;
  return true;
}

/* Who is asked about names that are no metric of hotlap. */
typedef struct reader {
  const char *text;
  hl_requirement_knows knows;
  const void *context;
  hl_error *error;
} reader;

static hl_status read_metric(const reader *r, const char **at, hl_requirement_part *part) {
  const char *text = r->text;
  hl_error *error = r->error;
  char key[HL_REQUIREMENT_NAME_BYTES];
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
  part->metric = hl_metric_find(key);
  *at += length;
  if (part->metric) return HL_OK;
  memcpy(part->custom, key, length + 1);
  if (r->knows && r->knows(r->context, key)) return HL_OK;
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

static const char *key_of(const hl_requirement_part *p) {
  return p->metric ? p->metric->key : p->custom;
}

/* A word: up to a blank; the model mlp:hidden_dim=8 has signs of its own. */
static hl_status read_part(const reader *r, const char **at, hl_requirement_part *part) {
  const char *text = r->text;
  hl_error *error = r->error;
  hl_status status = read_metric(r, at, part);
  if (status == HL_OK) status = read_relation(at, text, &part->relation, error);
  if (status != HL_OK) return status;
  *at = skip_blanks(*at);
  size_t length = strcspn(*at, " \t\n");
  if (length == 0 || length >= sizeof part->value)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': no value after '%s'",
                        text, key_of(part));
  memcpy(part->value, *at, length);
  part->value[length] = '\0';
  *at += length;
  part->number = (double)NAN;
  (void)hl_parse_real(part->value, -1e300, 1e300, "", &part->number, NULL);
  return HL_OK;
}

/* A metric of the user's own is one. */
static bool is_number(const hl_metric *metric) {
  return !metric || metric->kind == HL_METRIC_INT || metric->kind == HL_METRIC_REAL;
}

static bool is_order(hl_relation relation) {
  return relation != HL_RELATION_EQUAL && relation != HL_RELATION_OTHER;
}

static hl_status check_part(const hl_requirement_part *p, bool required, const char *text,
                            hl_error *error) {
  if ((p->metric && p->metric->kind == HL_METRIC_PAIR) || (required && !is_number(p->metric)))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': '%s' is not one number",
                        text, key_of(p));
  if (required && !is_order(p->relation))
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "requirement '%.150s': a measured number is required to be <, <=, > or >=", text);
  if ((is_order(p->relation) || is_number(p->metric)) &&
      (isnan(p->number) || !is_number(p->metric)))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "requirement '%.150s': '%.60s' is no number to compare '%s' with", text,
                        p->value, key_of(p));
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

hl_status hl_requirement_parse(const char *text, hl_requirement_knows knows, const void *context,
                               hl_requirement *ret_requirement, hl_error *error) {
  const reader in = {text, knows, context, error};
  hl_requirement r = {0};
  const char *at = text;
  if (strchr(text, ';')) /* what a row keeps is separated by them */
    return hl_error_set(error, HL_INVALID_ARGUMENT, "requirement '%.150s': one at a time, no ';'",
                        text);
  hl_status status = read_part(&in, &at, &r.required);
  if (status == HL_OK) status = check_part(&r.required, true, text, error);
  if (status != HL_OK) return status;
  r.interval = r.required.metric ? interval_of(r.required.metric) : NULL;
  bool more = take_word(&at, "where");
  while (more) {
    if (r.condition_count == HL_REQUIREMENT_CONDITIONS)
      return hl_error_set(error, HL_LIMIT, "requirement '%.150s': more than %d conditions", text,
                          HL_REQUIREMENT_CONDITIONS);
    hl_requirement_part *part = &r.conditions[r.condition_count++];
    status = read_part(&in, &at, part);
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

static double part_value(const hl_requirement_part *p, const hl_record *record) {
  if (p->metric) return number_of(record, p->metric);
  const hl_custom *custom = hl_customs_find(&record->customs, p->custom);
  return custom ? custom->value : (double)NAN;
}

static bool applies(const hl_requirement_part *p, const hl_record *record) {
  if (is_number(p->metric)) {
    double value = part_value(p, record);
    return !isnan(value) && holds(p->relation, value, p->number);
  }
  hl_text text = HL_TEXT_INIT;
  hl_record_field_text(record, p->metric, &text);
  bool same = strcmp(text.data, p->value) == 0;
  hl_text_release(&text);
  return same == (p->relation == HL_RELATION_EQUAL);
}

/* A percentile of the latency is no less than a lower one, whose interval takes fewer steps: where
 * all of that one is beyond the limit, it is too. */
static bool is_surely_above(const hl_requirement_part *p, const hl_record *r) {
  static const char latency[] = "latency_p";
  bool percentile = p->metric && strncmp(p->metric->key, latency, sizeof latency - 1) == 0 &&
                    p->metric->key[sizeof latency - 1] >= '5' &&
                    p->metric->key[sizeof latency - 1] <= '9';
  if (!percentile || (p->relation != HL_RELATION_LESS && p->relation != HL_RELATION_AT_MOST))
    return false;
  if (isfinite(r->latency_p50_ci_ms.low) &&
      !holds(p->relation, r->latency_p50_ci_ms.low, p->number))
    return true;
  /* Two steps and more, all beyond it: in one of a hundred cases where the 90th percentile is not.
   */
  return p->metric->key[sizeof latency - 1] == '9' && r->measurement_iterations >= 2 &&
         isfinite(r->latency_min_ms) && !holds(p->relation, r->latency_min_ms, p->number);
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
  j.value = part_value(p, record);
  if (isnan(j.value)) return j;
  if (!requirement->interval) {
    j.verdict = holds(p->relation, j.value, p->number) ? HL_REQUIREMENT_PASS : HL_REQUIREMENT_FAIL;
    return j;
  }
  if (hl_record_is_null(record, requirement->interval)) {
    if (is_surely_above(p, record)) j.verdict = HL_REQUIREMENT_FAIL;
    return j;
  }
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
    hl_status status =
        hl_requirement_parse(texts[i], hl_requirement_any, NULL, &requirement, error);
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
