#include "report/history.h"

#include <string.h>

static void write_point(const hl_history_point *p, hl_json *json) {
  hl_json_object(json, NULL);
  hl_json_text(json, "commit", p->commit);
  hl_json_bool(json, "dirty", p->dirty);
  hl_json_text(json, "time", p->time);
  hl_record_json_int(json, "behind", p->behind < 0 ? HL_INT_NULL : p->behind);
  hl_json_real(json, "value", p->value);
  hl_json_pair(json, "interval", p->interval);
  hl_json_int(json, "runs", (int64_t)p->runs);
  hl_json_real(json, "level", p->level);
  hl_json_end(json);
}

static void write_check(const hl_change_check *check, hl_json *json) {
  if (!check) {
    hl_json_null(json, "check");
    return;
  }
  hl_json_object(json, "check");
  hl_json_text(json, "checked", check->checked);
  hl_json_text(json, "verdict", check->verdict);
  hl_json_real(json, "ratio", check->ratio);
  hl_json_pair(json, "ci", check->ci);
  hl_record_json_int(json, "pairs", check->pairs);
  hl_json_text(json, "command", check->command);
  hl_json_end(json);
}

static void write_change(const hl_report_history *r, const hl_history_series *s,
                         const hl_history_change *change, hl_json *json) {
  hl_text command = HL_TEXT_INIT;
  if (!change->obstacle) hl_report_history_command(r, s, change, &command);
  hl_json_object(json, NULL);
  hl_json_text(json, "commit_before", s->points[change->at - 1].commit);
  hl_json_text(json, "commit_after", s->points[change->at].commit);
  hl_record_json_int(json, "commits", change->commits < 0 ? HL_INT_NULL : change->commits);
  hl_json_int(json, "point", (int64_t)change->at);
  hl_json_real(json, "before", change->before);
  hl_json_real(json, "after", change->after);
  hl_json_real(json, "percent", hl_history_percent(change));
  hl_json_text(json, "direction", change->worse ? "worse" : "better");
  hl_json_real(json, "p", change->p);
  hl_json_real(json, "p_adjusted", change->p_adjusted);
  hl_json_text(json, "state", hl_change_state_name(change->state));
  write_check(change->check, json);
  hl_json_text(json, "confirm", change->obstacle ? NULL : command.data);
  hl_json_text(json, "obstacle", change->obstacle);
  hl_json_end(json);
  hl_text_release(&command);
}

static void write_series(const hl_report_history *r, const hl_history_series *s, hl_json *json) {
  size_t from = r->limit > 0 && (uint64_t)r->limit < s->count ? s->count - (size_t)r->limit : 0;
  hl_json_object(json, NULL);
  hl_json_text(json, "configuration", s->name);
  hl_json_text(json, "model", s->model);
  hl_json_text(json, "machine_id", s->machine_id);
  hl_json_text(json, "cpu", s->cpu);
  hl_json_text(json, "order", s->by_git ? "git" : "time");
  hl_json_int(json, "unplaced", (int64_t)s->unplaced);
  hl_json_int(json, "runs", (int64_t)s->runs);
  hl_json_int(json, "first_point", (int64_t)from);
  hl_json_array(json, "points");
  for (size_t i = from; i < s->count; i++) write_point(&s->points[i], json);
  hl_json_end(json);
  hl_json_text(json, "unfitted", s->unfitted);
  hl_json_array(json, "changes");
  for (size_t i = 0; i < s->change_count; i++) write_change(r, s, &s->changes[i], json);
  hl_json_end(json);
  hl_json_end(json);
}

void hl_report_history_json(const hl_report_history *r, hl_json *json) {
  const hl_history *h = r->history;
  hl_json_text(json, "metric", h->metric->key);
  hl_json_text(json, "unit", h->metric->unit);
  hl_json_text(json, "better", h->metric->better == HL_BETTER_HIGHER ? "higher" : "lower");
  hl_json_int(json, "rows", (int64_t)h->rows);
  hl_json_int(json, "rows_without", (int64_t)h->null_rows);
  hl_json_array(json, "series");
  for (size_t i = 0; i < h->count; i++) write_series(r, &h->items[i], json);
  hl_json_end(json);
}
