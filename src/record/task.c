#include "record/task.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hl_task_metric hl_task_metrics[HL_TASK_METRICS] = {
#define X(id, kinds, group, name, leaf, unit, better, title, doc)                                  \
  {kinds, group, name, leaf, unit, HL_BETTER_##better, title, doc},
#include "record/tasks.def"
#undef X
};

bool hl_task_has(bool training, hl_task_id id) {
  return strchr(hl_task_metrics[id].kinds, training ? 'T' : 'I') != NULL;
}

char *hl_task_path(hl_task_id id) {
  const hl_task_metric *m = &hl_task_metrics[id];
  return hl_format("%s%s%s%s%s", m->group, m->group[0] ? "." : "", m->name, m->name[0] ? "." : "",
                   m->leaf);
}

/* Whether `path` is a run of whole members of the metric's path. */
static bool is_part(const char *whole, const char *path) {
  size_t length = strlen(path);
  for (const char *at = strstr(whole, path); at && length; at = strstr(at + 1, path))
    if ((at == whole || at[-1] == '.') && (!at[length] || at[length] == '.')) return true;
  return false;
}

bool hl_task_find(bool training, const char *path, hl_task_id *ret_id) {
  size_t found = 0;
  for (int i = 0; i < HL_TASK_METRICS; i++) {
    if (!hl_task_has(training, (hl_task_id)i)) continue;
    HL_CLEANUP(hl_free_pointer) char *whole = hl_task_path((hl_task_id)i);
    if (!whole || !is_part(whole, path)) continue;
    /* A name of seconds and memory, such as total_training, means the seconds. */
    if (found++ && strcmp(hl_task_metrics[i].leaf, "peak_memory_mb") == 0) {
      found--;
      continue;
    }
    *ret_id = (hl_task_id)i;
  }
  return found == 1;
}

void hl_task_init(hl_task *task, bool training) {
  *task = (hl_task){.training = training, .modules = HL_INT_NULL, .build_seconds = (double)NAN};
  for (int i = 0; i < HL_TASK_METRICS; i++) task->values[i] = (double)NAN;
}

void hl_task_release(hl_task *t) {
  char *const owned[] = {t->timestamp,   t->outcome,   t->reason, t->said,
                         t->notes,       t->reference, t->commit, t->commit_date,
                         t->commit_time, t->command,   t->proof,  t->build};
  for (size_t i = 0; i < HL_COUNT(owned); i++) free(owned[i]);
  for (size_t i = 0; i < HL_TASK_METRICS; i++) free(t->reasons[i]);
  for (size_t i = 0; i < t->result_count; i++) free(t->results[i].name);
  free(t->results);
  free(t->seconds);
  hl_task_init(t, t->training);
}

void hl_task_set(hl_task *task, hl_task_id id, double value) {
  task->values[id] = value;
  hl_record_set_text(&task->reasons[id], NULL);
}

void hl_task_explain(hl_task *task, hl_task_id id, const char *reason) {
  if (isnan(task->values[id]) && !task->reasons[id]) task->reasons[id] = hl_strdup(reason);
}

void hl_task_note(hl_task *task, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  hl_fields_note(&task->notes, format, arguments);
  va_end(arguments);
}

hl_task_id hl_task_total(bool training) {
  return training ? HL_TASK_TOTAL_TRAINING : HL_TASK_TOTAL_INFERENCE;
}

void hl_task_fail(hl_task *task, hl_outcome outcome, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  hl_record_set_text(&task->outcome, hl_outcome_name(outcome));
  hl_record_set_text(&task->reason, text);
}

bool hl_task_passed(const hl_task *task) {
  return task->outcome && strcmp(task->outcome, hl_outcome_name(HL_PASSED)) == 0;
}

hl_status hl_task_add_result(hl_task *task, const char *name, double value, hl_error *error) {
  for (size_t i = 0; i < task->result_count; i++)
    if (strcmp(task->results[i].name, name) == 0) {
      task->results[i].value = value;
      return HL_OK;
    }
  if (task->result_count == HL_TASK_RESULTS)
    return hl_error_set(error, HL_LIMIT, "more than %d results", HL_TASK_RESULTS);
  hl_task_result *grown = realloc(task->results, (task->result_count + 1) * sizeof *grown);
  if (grown) task->results = grown;
  char *copy = hl_strdup(name);
  if (!grown || !copy) {
    free(copy);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for results");
  }
  task->results[task->result_count++] = (hl_task_result){copy, value};
  return HL_OK;
}

void hl_tasks_release(hl_tasks *tasks) {
  for (size_t i = 0; i < tasks->allocated; i++) hl_task_release(&tasks->items[i]);
  free(tasks->items);
  *tasks = (hl_tasks){0};
}

/* -- JSON ------------------------------------------------------------------------------------- */

/* The object of `key`, in place of the one that is open; "" for none. */
static void enter(hl_json *json, const char **open, const char *key) {
  if (strcmp(*open, key) == 0) return;
  if ((*open)[0]) hl_json_end(json);
  if (key[0]) hl_json_object(json, key);
  *open = key;
}

static void write_unknown(const hl_task *t, hl_json *json) {
  bool any = false;
  for (int i = 0; i < HL_TASK_METRICS; i++) {
    if (!t->reasons[i] || !isnan(t->values[i])) continue;
    if (!any) hl_json_object(json, "unknown");
    any = true;
    HL_CLEANUP(hl_free_pointer) char *path = hl_task_path((hl_task_id)i);
    if (path) hl_json_text(json, path, t->reasons[i]);
  }
  if (any) hl_json_end(json);
}

static void write_metrics(const hl_task *t, hl_json *json) {
  const char *group = "", *name = "";
  hl_json_object(json, "metrics");
  for (int i = 0; i < HL_TASK_METRICS; i++) {
    const hl_task_metric *m = &hl_task_metrics[i];
    if (!hl_task_has(t->training, (hl_task_id)i)) continue;
    if (strcmp(group, m->group) != 0) enter(json, &name, "");
    enter(json, &group, m->group);
    enter(json, &name, m->name);
    double value = t->values[i];
    if (m->unit[0] || isnan(value))
      hl_json_real(json, m->leaf, value);
    else
      hl_json_int(json, m->leaf, (int64_t)value);
  }
  enter(json, &name, "");
  enter(json, &group, "");
  if (t->result_count) {
    hl_json_object(json, "final_metrics");
    for (size_t i = 0; i < t->result_count; i++)
      hl_json_real(json, t->results[i].name, t->results[i].value);
    hl_json_end(json);
  }
  write_unknown(t, json);
  hl_json_end(json);
}

static void write_git(const hl_task *t, hl_json *json) {
  hl_json_object(json, "git_info");
  hl_json_text(json, "branch", t->branch);
  hl_json_text(json, "reference", t->reference);
  hl_json_text(json, "commit_hash", t->commit);
  hl_json_text(json, "commit_date", t->commit_date);
  hl_json_text(json, "commit_time", t->commit_time);
  hl_json_text(json, "build", t->build);
  hl_json_real(json, "build_seconds", t->build_seconds);
  hl_json_bool(json, "proved", t->proved);
  hl_json_text(json, "proof", t->proof);
  hl_record_json_int(json, "modules_imported", t->modules);
  hl_json_end(json);
}

void hl_task_write_json(const hl_task *t, hl_json *json) {
  hl_json_text(json, "branch", t->branch);
  hl_json_text(json, "experiment", t->experiment);
  hl_json_text(json, "kind", t->training ? "training" : "inference");
  hl_json_text(json, "timestamp", t->timestamp);
  hl_json_bool(json, "success", hl_task_passed(t));
  hl_json_text(json, "outcome", t->outcome);
  hl_json_text(json, "error", t->reason);
  if (t->said) hl_json_lines(json, "said", t->said);
  hl_json_int(json, "line", (int64_t)t->line);
  hl_json_object(json, "task_config");
  for (size_t i = 0; i < t->column_count; i++) hl_json_text(json, t->columns[i], t->cells[i]);
  hl_json_end(json);
  write_git(t, json);
  hl_json_text(json, "command", t->command);
  hl_json_int(json, "executions", t->executions);
  hl_json_array(json, "executions_seconds");
  for (int64_t i = 0; i < t->executions; i++) hl_json_real(json, NULL, t->seconds[i]);
  hl_json_end(json);
  write_metrics(t, json);
  hl_json_text(json, "notes", t->notes ? t->notes : "");
}
