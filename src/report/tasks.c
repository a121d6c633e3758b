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

void hl_report_tasks_json(const hl_tasks *tasks, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_array(&json, NULL);
  for (size_t i = 0; i < tasks->count; i++) hl_task_write_json(&tasks->items[i], &json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
