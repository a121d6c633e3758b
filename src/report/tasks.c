#include "report/tasks.h"

#include <math.h>
#include <string.h>

enum { width = 80, indent = 6 };

/* What the line of a task shows, in this order. */
static const struct shown {
  hl_task_id id;
  const char *words;
} shown[] = {
    {HL_TASK_TOTAL_TRAINING, "total"},        {HL_TASK_TOTAL_INFERENCE, "total"},
    {HL_TASK_FIRST_EPOCH, "first epoch"},     {HL_TASK_FIRST_LOADING, "first batch's loading"},
    {HL_TASK_FIRST_FORWARD, "its forward"},   {HL_TASK_CHECKPOINT_LOADING, "checkpoint"},
    {HL_TASK_BATCH_FORWARD, "first forward"}, {HL_TASK_BATCH_TIME, "a batch"},
    {HL_TASK_THROUGHPUT, "throughput"},       {HL_TASK_TRAINING_MEMORY, "peak memory"},
    {HL_TASK_INFERENCE_MEMORY, "peak memory"}};

static void append_value(hl_text *out, double value, const char *unit) {
  bool small = strcmp(unit, "s") == 0 && value < 1;
  hl_text_format(out, "%.4g %s", small ? value * 1e3 : value, small ? "ms" : unit);
}

static void append_numbers(const hl_task *task, hl_text *words) {
  bool any = false;
  for (size_t i = 0; i < HL_COUNT(shown); i++) {
    double value = task->values[shown[i].id];
    if (!hl_task_has(task->training, shown[i].id) || isnan(value)) continue;
    hl_text_format(words, "%s%s ", any ? ", " : "", shown[i].words);
    append_value(words, value, hl_task_metrics[shown[i].id].unit);
    any = true;
  }
  for (size_t i = 0; i < task->result_count && i < 4; i++)
    hl_text_format(words, ", %.60s %.6g", task->results[i].name, task->results[i].value);
}

static void append_wrapped(hl_text *out, const char *words) {
  hl_text_format(out, "%*s", indent, "");
  hl_text_wrap(out, words, indent, indent, width);
  hl_text_char(out, '\n');
}

void hl_report_task_row(const hl_task *task, size_t index, size_t count, hl_text *out) {
  hl_text words = HL_TEXT_INIT;
  hl_text_line(out, "[%zu/%zu] %s: %s%s%.12s", index + 1, count, task->branch, task->experiment,
               task->commit ? ", commit " : "", task->commit ? task->commit : "");
  hl_text_format(&words, "%s  ", task->outcome);
  if (hl_task_passed(task))
    append_numbers(task, &words);
  else
    hl_text_append(&words, task->reason);
  append_wrapped(out, words.data);
  if (task->notes) {
    hl_text_clear(&words);
    hl_text_format(&words, "Note: %s", task->notes);
    append_wrapped(out, words.data);
  }
  hl_text_release(&words);
}

/* -- comparisons ------------------------------------------------------------------------------ */

static void append_interval(hl_text *out, hl_pair ci) {
  if (isnan(ci.low) || isnan(ci.high))
    hl_text_append(out, "too few pairs");
  else
    hl_text_format(out, "%.3f to %.3f", ci.low, ci.high);
}

static void append_compared(const hl_task_compared *c, hl_text *out) {
  hl_text interval = HL_TEXT_INIT;
  append_interval(&interval, c->comparison.ci);
  const char *verdict = c->comparison.verdict ? c->comparison.verdict : "no pairs";
  hl_text_format(out, "    %-13s %-7.3f %-16s %3lld  %s\n", verdict, c->comparison.ratio,
                 interval.data, (long long)c->comparison.pairs, hl_task_metrics[c->metric].title);
  hl_text_release(&interval);
}

/* What the row's own cell says; NULL: nothing, or there is no such column. */
static const char *expected_of(const hl_task *task) {
  for (size_t i = 0; i < task->column_count; i++)
    if (strcmp(task->columns[i], "expected") == 0 && task->cells[i][0]) return task->cells[i];
  return NULL;
}

static void append_expected(const hl_task *task, const char *expected, const hl_task_compared *c,
                            hl_text *out) {
  hl_text measured = HL_TEXT_INIT;
  const char *verdict = "not compared";
  if (c) {
    double low = hl_task_gain(&c->expected, c->comparison.ci.low);
    double high = hl_task_gain(&c->expected, c->comparison.ci.high);
    verdict = hl_task_expected_verdict(c);
    hl_text_format(&measured, "%.1f %%", 100 * hl_task_gain(&c->expected, c->comparison.ratio));
    if (!isnan(low) && !isnan(high))
      hl_text_format(&measured, ", %.1f to %.1f %%", 100 * low, 100 * high);
  }
  hl_text_line(out, "    %-13s %-26s %s, line %zu: %s", verdict, measured.data, task->branch,
               task->line, expected);
  hl_text_release(&measured);
}

static void append_all_expected(const hl_tasks *tasks, const hl_task_comparisons *list,
                                hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < tasks->count; i++) {
    const char *expected = tasks->items[i].outcome ? expected_of(&tasks->items[i]) : NULL;
    const hl_task_compared *found = NULL;
    for (size_t k = 0; expected && k < list->count; k++)
      if (list->items[k].candidate == i && list->items[k].expected_text) found = &list->items[k];
    if (!expected) continue;
    if (!any) hl_text_append(out, "Expected and measured\n    Verdict       Measured\n");
    any = true;
    append_expected(&tasks->items[i], expected, found, out);
  }
}

void hl_report_tasks_compared(const hl_tasks *tasks, const hl_task_comparisons *list,
                              hl_text *out) {
  if (!list->count) return;
  hl_text_append(
      out, "Speed-up: time of the baseline / time of the branch; of throughputs the inverse\n");
  for (size_t i = 0; i < list->count; i++) {
    const hl_task_compared *c = &list->items[i];
    const hl_task *a = &tasks->items[c->baseline], *b = &tasks->items[c->candidate];
    bool first = i == 0 || list->items[i - 1].candidate != c->candidate;
    if (first)
      hl_text_line(out, "%s against %s: %s, lines %zu and %zu", b->branch, a->branch, b->experiment,
                   b->line, a->line);
    if (first) hl_text_append(out, "    Verdict       Speed-up Interval      Pairs  Metric\n");
    append_compared(c, out);
    if (first && c->comparison.notes) {
      hl_text words = HL_TEXT_INIT;
      hl_text_format(&words, "Note: %s", c->comparison.notes);
      hl_text_append(out, "    ");
      hl_text_wrap(out, words.data, 4, 6, width);
      hl_text_char(out, '\n');
      hl_text_release(&words);
    }
  }
  append_all_expected(tasks, list, out);
}

void hl_report_tasks_json(const hl_tasks *tasks, const hl_task_comparisons *list, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_array(&json, NULL);
  for (size_t i = 0; i < tasks->count; i++) {
    if (!tasks->items[i].outcome) continue;
    hl_json_object(&json, NULL);
    hl_task_write_json(&tasks->items[i], &json);
    hl_json_array(&json, "comparisons");
    for (size_t k = 0; k < list->count; k++)
      if (list->items[k].candidate == i)
        hl_task_compared_write_json(&list->items[k], tasks->items, &json);
    hl_json_end(&json);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
