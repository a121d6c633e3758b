#include "record/task-comparison.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { words_most = 200 };

/* What people call a metric; the total where nothing else is said. */
static const struct phrase {
  const char *words;
  hl_task_id training, inference;
} phrases[] = {{"forward", HL_TASK_FIRST_FORWARD, HL_TASK_BATCH_FORWARD},
               {"data loading", HL_TASK_FIRST_LOADING, HL_TASK_BATCH_LOADING},
               {"batch loading", HL_TASK_FIRST_LOADING, HL_TASK_BATCH_LOADING},
               {"data transfer", HL_TASK_METRICS, HL_TASK_BATCH_TRANSFER},
               {"first epoch", HL_TASK_FIRST_EPOCH, HL_TASK_METRICS},
               {"data setup", HL_TASK_TRAINING_DATA, HL_TASK_METRICS},
               {"checkpoint", HL_TASK_METRICS, HL_TASK_CHECKPOINT_LOADING},
               {"initialization", HL_TASK_TRAINING_MODEL, HL_TASK_INFERENCE_MODEL},
               {"initialisation", HL_TASK_TRAINING_MODEL, HL_TASK_INFERENCE_MODEL},
               {"post-processing", HL_TASK_METRICS, HL_TASK_BATCH_POST},
               {"throughput", HL_TASK_METRICS, HL_TASK_THROUGHPUT},
               {"full prediction", HL_TASK_METRICS, HL_TASK_FULL_PREDICTION},
               {"per batch", HL_TASK_METRICS, HL_TASK_BATCH_TIME},
               {"inference", HL_TASK_METRICS, HL_TASK_TOTAL_INFERENCE},
               {"training", HL_TASK_TOTAL_TRAINING, HL_TASK_METRICS},
               {"overall", HL_TASK_TOTAL_TRAINING, HL_TASK_TOTAL_INFERENCE},
               {"total", HL_TASK_TOTAL_TRAINING, HL_TASK_TOTAL_INFERENCE}};

static hl_status refuse(const char *text, bool training, hl_error *error) {
  return hl_error_set(
      error, HL_INVALID_ARGUMENT,
      "expected '%.100s': it is written as 10-30%%, 20%% reduction in data loading, "
      "-5-0%% total, 15%% %s; from the smaller to the larger, above -100",
      text, training ? "first_epoch" : "throughput");
}

/* A metric's own name among the words, else a phrase that is in them. */
static bool find_metric(const char *words, bool training, hl_task_id *ret_id) {
  char copy[words_most], *rest = NULL;
  memcpy(copy, words, strlen(words) + 1);
  for (char *word = strtok_r(copy, " ,;()", &rest); word; word = strtok_r(NULL, " ,;()", &rest))
    if (strchr(word, '_') && hl_task_find(training, word, ret_id)) return true;
  for (size_t i = 0; i < HL_COUNT(phrases); i++) {
    if (!strstr(words, phrases[i].words)) continue;
    *ret_id = training ? phrases[i].training : phrases[i].inference;
    return *ret_id != HL_TASK_METRICS;
  }
  *ret_id = hl_task_total(training);
  /* Words that name nothing would otherwise pass for the total. */
  return words[strspn(words, " ")] == '\0' || strstr(words, "speedup") ||
         strstr(words, "speed-up") || strstr(words, "faster") || strstr(words, "reduction") ||
         strstr(words, "less") || strstr(words, "improvement") || strstr(words, "no ") ||
         strstr(words, "gain");
}

hl_status hl_task_expected_parse(const char *text, bool training, hl_task_expected *ret_expected,
                                 hl_error *error) {
  char words[words_most];
  hl_task_expected e = {0};
  char *end = NULL;
  if (strlen(text) >= sizeof words) return refuse(text, training, error);
  e.low = e.high = strtod(text, &end) / 100;
  if (end == text) return refuse(text, training, error);
  if (*end == '%') end++;
  if (*end == '-') {
    const char *second = end + 1;
    e.high = strtod(second, &end) / 100;
    if (end == second) return refuse(text, training, error);
  }
  if (*end == '%') end++;
  size_t length = 0;
  for (; *end; end++) words[length++] = (char)tolower((unsigned char)*end);
  words[length] = '\0';
  e.reduction = strstr(words, "reduction") || strstr(words, "less");
  bool known = isfinite(e.low) && isfinite(e.high) && e.low > -1 && e.low <= e.high &&
               !(e.reduction && e.high >= 1);
  if (!known || !find_metric(words, training, &e.metric)) return refuse(text, training, error);
  *ret_expected = e;
  return HL_OK;
}

double hl_task_gain(const hl_task_expected *expected, double ratio) {
  return expected->reduction ? 1 - 1 / ratio : ratio - 1;
}

const char *hl_task_expected_verdict(const hl_task_compared *c) {
  double low = hl_task_gain(&c->expected, c->comparison.ci.low);
  double high = hl_task_gain(&c->expected, c->comparison.ci.high);
  const char *verdict = c->comparison.verdict;
  if (c->expected.low == 0 && c->expected.high == 0 && verdict &&
      strcmp(verdict, "equivalent") == 0)
    return "met";
  if (isnan(low) || isnan(high)) return "unsure";
  if (low >= c->expected.low && high <= c->expected.high) return "met";
  if (low > c->expected.high) return "exceeded";
  return high < c->expected.low ? "missed" : "unsure";
}

void hl_task_comparisons_release(hl_task_comparisons *comparisons) {
  for (size_t i = 0; i < comparisons->count; i++)
    hl_comparison_release(&comparisons->items[i].comparison);
  free(comparisons->items);
  *comparisons = (hl_task_comparisons){0};
}

hl_status hl_task_comparisons_take(hl_task_comparisons *list, hl_task_compared *compared,
                                   hl_error *error) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 16;
    hl_task_compared *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison");
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = *compared;
  hl_comparison_init(&compared->comparison);
  return HL_OK;
}

void hl_task_compared_write_json(const hl_task_compared *c, const hl_task *tasks, hl_json *json) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_task_path(c->metric);
  const hl_comparison *found = &c->comparison;
  hl_json_object(json, NULL);
  hl_json_text(json, "metric", path);
  hl_json_text(json, "baseline", tasks[c->baseline].branch);
  hl_json_int(json, "baseline_line", (int64_t)tasks[c->baseline].line);
  hl_json_text(json, "verdict", found->verdict);
  hl_json_real(json, "speedup", found->ratio);
  hl_json_pair(json, "ci", found->ci);
  hl_record_json_int(json, "pairs", found->pairs);
  hl_record_json_int(json, "voided", found->voided);
  hl_json_text(json, "voided_by", found->voided_by);
  hl_json_real(json, "mde", found->mde);
  hl_json_text(json, "notes", found->notes ? found->notes : "");
  if (c->expected_text) {
    hl_json_object(json, "expected");
    hl_json_text(json, "text", c->expected_text);
    hl_json_text(json, "kind", c->expected.reduction ? "reduction" : "speed-up");
    hl_json_real(json, "low", c->expected.low);
    hl_json_real(json, "high", c->expected.high);
    hl_json_real(json, "measured", hl_task_gain(&c->expected, found->ratio));
    const hl_pair measured = {hl_task_gain(&c->expected, found->ci.low),
                              hl_task_gain(&c->expected, found->ci.high)};
    hl_json_pair(json, "measured_ci", measured);
    hl_json_text(json, "verdict", hl_task_expected_verdict(c));
    hl_json_end(json);
  }
  hl_json_end(json);
}
