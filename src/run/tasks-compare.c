/* Rows that differ in their branch, in random turns against that of the baseline. */
#include "base/clock.h"
#include "base/hash.h"
#include "method/pairing.h"
#include "run/candidate.h"
#include "run/tasks-internal.h"
#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one execution measured. */
typedef struct turn {
  size_t round;
  double values[HL_TASK_METRICS];
} turn;

typedef struct member {
  size_t index; /* of the tasks */
  const hl_task_place *place;
  turn *turns;
  size_t count, capacity;
  bool out; /* it failed, or is not to be trusted */
} member;

/* The baseline is the first member. */
typedef struct group {
  member members[HL_PAIRING_MEMBERS];
  size_t count;
  hl_pairing pairing;
  hl_counter_source counters;
  uint64_t warm_ns;
} group;

/* A metric of a candidate, before it is judged with the others of the metric. */
typedef struct judged {
  size_t baseline, candidate;
  hl_task_id metric;
  hl__candidate pairs;
} judged;

typedef struct comparer {
  hl__tasks *tasks;
  judged *items;
  size_t count, capacity;
} comparer;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison of tasks");
}

static hl_task *task_of(const comparer *c, const member *m) {
  return &c->tasks->found->tasks.items[m->index];
}

/* -- one execution ---------------------------------------------------------------------------- */

static hl_status run_once(comparer *c, member *m, hl_task *ret_task, hl_error *error) {
  hl__task_init(c->tasks->file, m->index, ret_task);
  ret_task->command = hl_strdup(task_of(c, m)->command);
  if (!ret_task->command) return no_memory(error);
  return hl_task_execute(&c->tasks->how, m->place, ret_task, error);
}

/* A failure of an execution becomes the row's. */
static void take_outcome(hl_task *to, hl_task *from) {
  hl_record_set_text(&to->outcome, from->outcome);
  hl_record_set_text(&to->reason, from->reason);
  hl_record_set_text(&to->said, from->said);
}

/* What is said once, by the execution that warms up. */
static hl_status take_first(hl_task *to, hl_task *from, hl_error *error) {
  take_outcome(to, from);
  if (from->notes) hl_task_note(to, "%s", from->notes);
  hl_record_set_text(&to->proof, from->proof);
  to->proved = from->proved;
  to->modules = from->modules;
  for (int i = 0; i < HL_TASK_METRICS; i++) {
    to->values[i] = from->values[i];
    hl_record_set_text(&to->reasons[i], from->reasons[i]);
  }
  for (size_t i = 0; i < from->result_count; i++) {
    hl_status status = hl_task_add_result(to, from->results[i].name, from->results[i].value, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* -- results ---------------------------------------------------------------------------------- */

/* Only what computes the same may be called faster. */
static void check_results(const comparer *c, const hl_task *baseline, hl_task *task) {
  double tolerance = c->tasks->options->tolerance;
  for (size_t i = 0; i < task->result_count && hl_task_passed(task); i++)
    for (size_t k = 0; k < baseline->result_count; k++) {
      const hl_task_result *a = &baseline->results[k], *b = &task->results[i];
      if (strcmp(a->name, b->name) != 0) continue;
      double most = fmax(fabs(a->value), fabs(b->value));
      if (most == 0 || fabs(a->value - b->value) / most <= tolerance) continue;
      hl_task_fail(task, HL_MISTRUSTED,
                   "its %.60s is %.6g where the baseline's is %.6g: beyond --tolerance %.4g %%, so "
                   "that its times are not compared",
                   b->name, b->value, a->value, tolerance * 100);
    }
  if (!task->result_count && !baseline->result_count)
    hl_task_note(task, "neither side reports results, so that they were not compared");
}

/* -- turns ------------------------------------------------------------------------------------ */

static void begin(comparer *c, const member *m, size_t pair) {
  const hl_tasks_view *v = c->tasks->view;
  if (v->begin) v->begin(v->context, task_of(c, m), m->index, c->tasks->file->count, pair);
}

static hl_status warm_up(comparer *c, group *g, member *m, hl_error *error) {
  hl_task first, *task = task_of(c, m);
  uint64_t start = hl_clock_ns();
  begin(c, m, 0);
  hl_status status = hl__task_prepare(c->tasks, m->index, &m->place, error);
  if (status != HL_OK) return status;
  m->out = task->outcome != NULL;
  if (m->out) return HL_OK;
  status = run_once(c, m, &first, error);
  if (status == HL_OK) status = take_first(task, &first, error);
  hl_task_release(&first);
  if (status != HL_OK) return status;
  if (m != &g->members[0] && !g->members[0].out) check_results(c, task_of(c, &g->members[0]), task);
  m->out = !hl_task_passed(task);
  g->warm_ns += hl_clock_ns() - start;
  return HL_OK;
}

static hl_status keep_turn(member *m, size_t round, const hl_task *ran, hl_error *error) {
  if (m->count == m->capacity) {
    size_t capacity = m->capacity ? 2 * m->capacity : 16;
    turn *grown = realloc(m->turns, capacity * sizeof *grown);
    if (!grown) return no_memory(error);
    m->turns = grown;
    m->capacity = capacity;
  }
  turn *t = &m->turns[m->count++];
  t->round = round;
  memcpy(t->values, ran->values, sizeof t->values);
  return HL_OK;
}

static hl_status take_turn(comparer *c, group *g, member *m, hl_error *error) {
  hl_task ran;
  hl_counters before, after;
  uint64_t start = hl_clock_ns();
  hl_counters_read(&g->counters, &before);
  hl_status status = run_once(c, m, &ran, error);
  if (status == HL_OK && !hl_task_passed(&ran)) {
    take_outcome(task_of(c, m), &ran);
    hl_pairing_drop(&g->pairing, (size_t)(m - g->members));
    m->out = true;
  } else if (status == HL_OK) {
    hl_counters_read(&g->counters, &after);
    double seconds = ran.values[hl_task_total(ran.training)];
    uint64_t ns = seconds > 1e-9 ? (uint64_t)(seconds * 1e9) : 1;
    const hl_turn taken = {.member = (size_t)(m - g->members),
                           .samples_ns = &ns,
                           .sample_count = 1,
                           .steps_per_sample = 1,
                           .steps = 1,
                           .elapsed_ns = hl_clock_ns() - start,
                           .noise = hl__turn_noise(&before, &after)};
    status = keep_turn(m, g->pairing.rounds - 1, &ran, error);
    if (status == HL_OK) status = hl_pairing_add(&g->pairing, &taken, error);
  }
  hl_task_release(&ran);
  return status;
}

static hl_status take_turns(comparer *c, group *g, hl_error *error) {
  const hl_tasks_options *o = c->tasks->options;
  double budget = o->max_time_s * 1e9 * (double)g->count - (double)g->warm_ns;
  if (o->max_time_s <= 0) budget = 1e18;
  hl_pairing_init(&g->pairing, &(hl_pairing_options){.members = g->count,
                                                     .seed = o->seed,
                                                     .budget_ns = budget > 1 ? (uint64_t)budget : 1,
                                                     .rounds = o->pairs,
                                                     .single = true});
  for (size_t i = 0; i < g->count; i++)
    if (g->members[i].out) hl_pairing_drop(&g->pairing, i);
  hl_turn_request request;
  hl_status status = HL_OK;
  while (status == HL_OK && !g->members[0].out && g->pairing.live > 1 &&
         hl_pairing_next(&g->pairing, false, &request)) {
    begin(c, &g->members[request.member], g->pairing.rounds);
    status = take_turn(c, g, &g->members[request.member], error);
  }
  return status;
}

/* -- what they say ---------------------------------------------------------------------------- */

static bool is_compared(bool training, hl_task_id id) {
  const hl_task_metric *m = &hl_task_metrics[id];
  return hl_task_has(training, id) && strcmp(m->name, "process") != 0 &&
         (strcmp(m->unit, "s") == 0 || strcmp(m->unit, "samples/s") == 0);
}

/* The turns' logarithms of that metric as those of a time; false where a side has none. */
static bool fill_logs(const group *g, size_t side, hl_task_id id, double *logs) {
  const size_t pair[2] = {0, side};
  size_t known[2] = {0, 0};
  for (size_t i = 0; i < g->pairing.rounds * g->count; i++) logs[i] = (double)NAN;
  for (size_t k = 0; k < 2; k++) {
    const member *m = &g->members[pair[k]];
    for (size_t i = 0; i < m->count; i++) {
      double value = m->turns[i].values[id];
      if (!(value > 0)) continue;
      bool rate = hl_task_metrics[id].better == HL_BETTER_HIGHER;
      logs[m->turns[i].round * g->count + pair[k]] = rate ? -log(value) : log(value);
      known[k]++;
    }
  }
  return known[0] && known[1];
}

static hl_status add_metric(comparer *c, const group *g, size_t side, hl_task_id id, double *logs,
                            hl_error *error) {
  if (!fill_logs(g, side, id, logs)) return HL_OK;
  if (c->count == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 32;
    judged *grown = realloc(c->items, capacity * sizeof *grown);
    if (!grown) return no_memory(error);
    c->items = grown;
    c->capacity = capacity;
  }
  judged *j = &c->items[c->count++];
  *j = (judged){.baseline = g->members[0].index, .candidate = g->members[side].index, .metric = id};
  hl__candidate_init(&j->pairs);
  hl_pairing of_metric = g->pairing; /* the same turns, with other values */
  of_metric.logs = logs;
  hl_status status = hl__candidate_add_each(&j->pairs, &of_metric, side, 0, error);
  j->pairs.comparison.pairs = (int64_t)j->pairs.count;
  if (strcmp(task_of(c, &g->members[0])->commit, task_of(c, &g->members[side])->commit) == 0)
    hl_comparison_note(&j->pairs.comparison, "both are the same commit");
  hl__comparison_note_pairs(
      &j->pairs.comparison,
      hl__pairing_enough_s(&g->pairing, g->warm_ns, c->tasks->options->max_time_s));
  return status;
}

static hl_status set_medians(comparer *c, member *m, hl_error *error) {
  hl_task *task = task_of(c, m);
  hl_task_id total = hl_task_total(task->training);
  HL_CLEANUP(hl_free_pointer) double *sorted = calloc(m->count + 1, sizeof *sorted);
  task->seconds = calloc(m->count + 1, sizeof *task->seconds);
  if (!sorted || !task->seconds) return no_memory(error);
  for (int id = 0; id < HL_TASK_METRICS && m->count; id++) {
    size_t known = 0;
    for (size_t i = 0; i < m->count; i++)
      if (!isnan(m->turns[i].values[id])) sorted[known++] = m->turns[i].values[id];
    if (known) hl_task_set(task, (hl_task_id)id, hl_median(sorted, known));
  }
  for (size_t i = 0; i < m->count; i++) task->seconds[i] = m->turns[i].values[total];
  task->executions = (int64_t)m->count;
  if (m->count || isnan(task->values[total])) return HL_OK;
  task->seconds[0] = task->values[total]; /* of the one that was to warm up */
  task->executions = 1;
  return HL_OK;
}

static hl_status conclude(comparer *c, group *g, hl_error *error) {
  hl_status status = HL_OK;
  HL_CLEANUP(hl_free_pointer)
  double *logs = calloc((g->pairing.rounds + 1) * g->count, sizeof *logs);
  if (!logs) return no_memory(error);
  for (size_t i = 0; i < g->count && status == HL_OK; i++)
    status = set_medians(c, &g->members[i], error);
  for (size_t i = 1; i < g->count && status == HL_OK; i++) {
    bool both = !g->members[0].out && !g->members[i].out;
    for (int id = 0; both && id < HL_TASK_METRICS && status == HL_OK; id++)
      if (is_compared(c->tasks->file->training, (hl_task_id)id))
        status = add_metric(c, g, i, (hl_task_id)id, logs, error);
    if (g->members[0].out && hl_task_passed(task_of(c, &g->members[i])))
      hl_task_note(task_of(c, &g->members[i]),
                   "not compared: the baseline did not pass, and each ran once");
  }
  return status;
}

static hl_status run_group(comparer *c, group *g, hl_error *error) {
  const hl_tasks_view *view = c->tasks->view;
  bool failed = false;
  hl_status status = HL_OK;
  hl_counter_source_init(&g->counters, NULL);
  for (size_t i = 0; i < g->count && status == HL_OK && !failed; i++) {
    status = warm_up(c, g, &g->members[i], error);
    failed = g->members[i].out && !c->tasks->options->skip_failed;
  }
  if (status == HL_OK && !failed && g->count > 1) status = take_turns(c, g, error);
  if (status == HL_OK) status = conclude(c, g, error);
  if (status == HL_INTERRUPTED) conclude(c, g, NULL); /* what there is */
  for (size_t i = 0; i < g->count; i++) {
    const hl_task *task = task_of(c, &g->members[i]);
    failed |= task->outcome && !hl_task_passed(task);
    if (status == HL_OK && task->outcome && view->end)
      view->end(view->context, task, g->members[i].index);
    free(g->members[i].turns);
  }
  c->tasks->found->stopped |= failed && !c->tasks->options->skip_failed;
  hl_pairing_release(&g->pairing);
  hl_counter_source_release(&g->counters);
  return status;
}

/* -- groups ----------------------------------------------------------------------------------- */

static bool same_overrides(const hl_task_row *a, const hl_task_row *b) {
  if (a->override_count != b->override_count) return false;
  for (size_t i = 0; i < a->override_count; i++)
    if (strcmp(a->overrides[i], b->overrides[i]) != 0) return false;
  return true;
}

/* All but the branch and what is overridden. */
static bool same_work(const hl_task_row *a, const hl_task_row *b) {
  return hl_text_same(a->experiment, b->experiment) && hl_text_same(a->trainer, b->trainer) &&
         hl_text_same(a->checkpoint_path, b->checkpoint_path) &&
         hl_text_same(a->data_path, b->data_path) && a->max_epochs == b->max_epochs &&
         a->batch_size == b->batch_size;
}

/* The row of the baseline that row `index` is compared with: of several that with its overrides,
 * else the first. SIZE_MAX: there is none. */
static size_t baseline_of(const hl_task_file *file, const char *branch, size_t index) {
  size_t found = SIZE_MAX;
  for (size_t i = 0; i < file->count; i++) {
    if (!hl_text_same(file->rows[i].branch, branch) ||
        !same_work(&file->rows[i], &file->rows[index]))
      continue;
    if (same_overrides(&file->rows[i], &file->rows[index])) return i;
    if (found == SIZE_MAX) found = i;
  }
  return found;
}

static hl_status run_from(comparer *c, const size_t *baselines, size_t first, bool *done,
                          hl_error *error) {
  const hl_task_file *file = c->tasks->file;
  group *g = calloc(1, sizeof *g);
  if (!g) return no_memory(error);
  size_t baseline = baselines[first] == SIZE_MAX ? first : baselines[first];
  hl_status status = HL_OK;
  g->members[g->count++].index = baseline;
  done[baseline] = true;
  for (size_t i = first; baselines[first] != SIZE_MAX && i < file->count && status == HL_OK; i++) {
    if (done[i] || baselines[i] != baseline) continue;
    if (g->count == HL_PAIRING_MEMBERS) {
      status =
          hl_error_set(error, HL_LIMIT,
                       "line %zu: more than %d rows are compared with each other: make several "
                       "tables of them",
                       file->rows[i].line, HL_PAIRING_MEMBERS);
      break;
    }
    g->members[g->count++].index = i;
    done[i] = true;
  }
  if (status == HL_OK && g->count == 1)
    hl_task_note(task_of(c, &g->members[0]),
                 "no row of another branch, or of the baseline's, is the "
                 "same work, so that it is not compared and ran once");
  if (status == HL_OK) status = run_group(c, g, error);
  free(g);
  return status;
}

/* All verdicts of a metric are corrected together. */
static hl_status judge(comparer *c, hl_error *error) {
  const hl_tasks_options *o = c->tasks->options;
  HL_CLEANUP(hl_free_pointer) hl__candidate *family = calloc(c->count + 1, sizeof *family);
  hl_status status = family ? HL_OK : no_memory(error);
  for (int id = 0; id < HL_TASK_METRICS && status == HL_OK; id++) {
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
      if (c->items[i].metric == (hl_task_id)id) family[count++] = c->items[i].pairs;
    if (count) status = hl__candidates_judge(family, count, o->alpha, o->margin, error);
    count = 0;
    for (size_t i = 0; i < c->count; i++)
      if (c->items[i].metric == (hl_task_id)id) c->items[i].pairs = family[count++];
  }
  return status;
}

static void set_expected(const comparer *c, hl_task_compared *compared) {
  const char *text = c->tasks->file->rows[compared->candidate].expected;
  hl_task_expected expected;
  if (!text || hl_task_expected_parse(text, c->tasks->file->training, &expected, NULL) != HL_OK)
    return;
  if (expected.metric != compared->metric) return;
  compared->expected_text = text;
  compared->expected = expected;
}

static hl_status take_all(comparer *c, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < c->count && status == HL_OK; i++) {
    judged *j = &c->items[i];
    hl_task_compared compared = {
        .baseline = j->baseline, .candidate = j->candidate, .metric = j->metric};
    compared.comparison = j->pairs.comparison;
    hl_comparison_init(&j->pairs.comparison);
    set_expected(c, &compared);
    status = hl_task_comparisons_take(&c->tasks->found->comparisons, &compared, error);
    hl_comparison_release(&compared.comparison);
  }
  return status;
}

/* A branch that has no row cannot be the baseline; what is expected has to be understood. */
static hl_status check_table(const hl__tasks *t, const char *branch, hl_error *error) {
  bool found = false;
  for (size_t i = 0; i < t->file->count; i++) {
    const hl_task_row *row = &t->file->rows[i];
    hl_task_expected expected;
    hl_error why = {0};
    found |= hl_text_same(row->branch, branch);
    if (row->expected &&
        hl_task_expected_parse(row->expected, t->file->training, &expected, &why) != HL_OK)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "line %zu: %s", row->line, why.msg);
  }
  if (found) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--baseline %.200s: the table has no row of it",
                      branch);
}

hl_status hl__tasks_compare(hl__tasks *t, hl_error *error) {
  const hl_task_file *file = t->file;
  const char *branch = t->options->baseline ? t->options->baseline : file->rows[0].branch;
  comparer c = {.tasks = t};
  size_t *baselines = calloc(file->count + 1, sizeof *baselines);
  bool *done = calloc(file->count + 1, sizeof *done);
  hl_status status = baselines && done ? check_table(t, branch, error) : no_memory(error);
  if (status == HL_OK && file->count > HL__TASKS_COMPARED)
    status = hl_error_set(error, HL_LIMIT, "%zu rows; --compare takes %d", file->count,
                          HL__TASKS_COMPARED);
  for (size_t i = 0; i < file->count && status == HL_OK; i++)
    baselines[i] = baseline_of(file, branch, i);
  t->found->tasks.count = status == HL_OK ? file->count : 0;
  for (size_t i = 0; i < file->count && status == HL_OK && !t->found->stopped; i++)
    if (!done[i]) status = run_from(&c, baselines, i, done, error);
  if (status == HL_OK || status == HL_INTERRUPTED) {
    hl_error inner = {0};
    hl_status judged_status = judge(&c, &inner);
    if (judged_status == HL_OK) judged_status = take_all(&c, &inner);
    if (judged_status != HL_OK && status == HL_OK)
      status = hl_error_set(error, judged_status, "%s", inner.msg);
  }
  for (size_t i = 0; i < c.count; i++) hl__candidate_release(&c.items[i].pairs);
  free(c.items);
  free(baselines);
  free(done);
  return status;
}
