/* plan:A.yaml plan:B.yaml: plans of `hotlap run`, row by row of the same work. */
#include "cli/compare-lines.h"
#include "cli/run-plan.h"
#include "plan/operand-file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_pairs = HL_OPERAND_LINES, most_words = 64 };

/* A plan, and which of its rows have a counterpart. */
typedef struct side {
  hl_plan_file file;
  hl_sweep sweep;  /* its plan and parts */
  size_t *partner; /* of each row: SIZE_MAX none */
} side;

typedef struct rows {
  hl_compare *compare;
  side sides[2];
  hl_method_options method;
  hl_compare_line *lines;
  size_t count;
  hl_report_left_out left_out;
} rows;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
}

bool hl_compare_is_rows(const hl_operand *operand) {
  const char *name = operand->reference, *dot = strrchr(name, '.');
  if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0)) return true;
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  return access(name, F_OK) != 0 && hl_cli_plan_find(name, &path, NULL) == HL_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* "--engine-option=a.b=c" of an operand is "a.b=c" of a plan, "--batch=8" is "batch=8". */
static const char *override_of(const char *word) {
  static const char of_engine[] = "--engine-option=";
  size_t length = sizeof of_engine - 1;
  return strncmp(word, of_engine, length) == 0 ? word + length : word + 2;
}

/* Options outside hold for both plans; words behind the file are stronger. */
static hl_status read_file(rows *r, size_t index, hl_error *error) {
  const hl_options *common = &r->compare->options;
  const hl_operand *o = &r->compare->operands[index];
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  char *made[most_words] = {0};
  const char *words[2 * most_words];
  size_t count = 0, made_count = 0;
  hl_status status = hl_cli_plan_find(o->reference, &path, error);
  for (size_t i = 0; i < common->item_count && status == HL_OK; i++) {
    if (!hl_option_taken(common->item_ids[i], 'c')) continue;
    if (made_count == most_words)
      status = hl_error_set(error, HL_LIMIT, "more than %d options for a plan", most_words);
    else if (!(made[made_count] =
                   hl_format("%s=%s", hl_option_name(common->item_ids[i]), common->items[i])))
      status = no_memory(error);
    else
      words[count++] = made[made_count++];
  }
  for (size_t i = o->own_words; i < o->word_count && status == HL_OK; i++)
    words[count++] = override_of(o->words[i]);
  if (status == HL_OK && o->model)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s': '%.60s' is no KEY=VALUE for the plan",
                          r->compare->texts[index], o->model);
  if (status == HL_OK)
    status = hl_plan_file_read(path, words, count, false, &r->sides[index].file, error);
  for (size_t i = 0; i < made_count; i++) free(made[i]);
  return status;
}

static hl_status read_side(rows *r, size_t index, hl_error *error) {
  side *s = &r->sides[index];
  hl_status status = read_file(r, index, error);
  if (status == HL_OK) status = hl_compare_machine(&r->compare->options, &s->sweep.machine, error);
  if (status == HL_OK) status = hl_cli_plan_from_file(&s->sweep, &s->file, error);
  if (status != HL_OK) return status;
  s->partner = calloc(s->sweep.plan.count + 1, sizeof *s->partner);
  if (!s->partner) return no_memory(error);
  for (size_t i = 0; i < s->sweep.plan.count; i++) s->partner[i] = SIZE_MAX;
  return HL_OK;
}

/* -- which row belongs to which ---------------------------------------------------------------- */

/* Only inference takes turns. */
static bool takes_turns(const hl_configuration *c) {
  return !c->train && !c->load && !c->memory;
}

static bool same_work(const hl_configuration *a, const hl_configuration *b) {
  return strcmp(a->model, b->model) == 0 && a->batch_size == b->batch_size;
}

/* In how many ways two rows of one work differ. */
static int distance(const hl_configuration *a, const hl_configuration *b) {
  return (strcmp(a->entry, b->entry) != 0) + (strcmp(a->engine, b->engine) != 0) +
         (strcmp(a->dtype, b->dtype) != 0) + (strcmp(a->device, b->device) != 0) +
         (a->threads != b->threads);
}
enum { farthest = 5 };

/* Rows of the other plan that are so near and have no partner; the last of them. */
static size_t count_near(const side *other, const hl_configuration *c, int near, size_t *ret_last) {
  size_t count = 0;
  for (size_t i = 0; i < other->sweep.plan.count; i++) {
    const hl_configuration *o = &other->sweep.plan.items[i];
    if (other->partner[i] != SIZE_MAX || !takes_turns(o) || !same_work(c, o) ||
        distance(c, o) != near)
      continue;
    count++;
    *ret_last = i;
  }
  return count;
}

static void put_name(const hl_configuration *c, hl_text *out) {
  hl_text_format(out, "%s: %s, %s, %s, %" PRId64 " thread%s, %s, batch %" PRId64, c->entry,
                 c->model, c->engine, c->dtype, c->threads, c->threads == 1 ? "" : "s", c->device,
                 c->batch_size);
}

static hl_status refuse_several(const rows *r, size_t index, const hl_configuration *c,
                                size_t several, hl_error *error) {
  hl_text name = HL_TEXT_INIT;
  put_name(c, &name);
  hl_status status = hl_error_set(
      error, HL_INVALID_ARGUMENT,
      "%s: row '%.200s' might be set against %zu rows of %s, which are equally near to it: narrow "
      "either by words behind the plan, such as 'plan:A.yaml engine=native'",
      r->compare->texts[index], name.data, several, r->compare->texts[1 - index]);
  hl_text_release(&name);
  return status;
}

/* The nearest first, so that what the plans have in common stays together; never by place. */
static hl_status find_partners(rows *r, hl_error *error) {
  side *a = &r->sides[0], *b = &r->sides[1];
  for (int near = 0; near <= farthest; near++)
    for (size_t i = 0; i < a->sweep.plan.count; i++) {
      const hl_configuration *c = &a->sweep.plan.items[i];
      size_t of_b = 0, of_a = 0;
      if (a->partner[i] != SIZE_MAX || !takes_turns(c)) continue;
      size_t several = count_near(b, c, near, &of_b);
      if (several == 0) continue;
      if (several > 1) return refuse_several(r, 0, c, several, error);
      const hl_configuration *found = &b->sweep.plan.items[of_b];
      several = count_near(a, found, near, &of_a);
      if (several > 1) return refuse_several(r, 1, found, several, error);
      a->partner[i] = of_b;
      b->partner[of_b] = i;
      r->count++;
    }
  if (r->count > most_pairs)
    return hl_error_set(error, HL_LIMIT, "%zu rows to compare; at most %d are", r->count,
                        most_pairs);
  if (r->count) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "no row of %s is the work of a row of %s: inference of the same model at "
                      "the same batch size",
                      r->compare->texts[0], r->compare->texts[1]);
}

static void count_left_out(rows *r) {
  for (size_t k = 0; k < 2; k++) {
    const side *s = &r->sides[k];
    for (size_t i = 0; i < s->sweep.plan.count; i++)
      if (!takes_turns(&s->sweep.plan.items[i]))
        r->left_out.other[k]++;
      else if (s->partner[i] == SIZE_MAX)
        r->left_out.alone[k]++;
  }
}

/* -- lines ------------------------------------------------------------------------------------- */

static size_t line_of(const side *s, const hl_configuration *c) {
  for (size_t i = 0; i < s->file.step_count; i++)
    if (strcmp(s->file.steps[i].entry, c->entry) == 0) return s->file.steps[i].where->line;
  return 0;
}

static hl_status fill_line(const rows *r, size_t row, hl_compare_line *line, hl_error *error) {
  size_t places[2] = {row, r->sides[0].partner[row]};
  for (size_t k = 0; k < 2; k++) {
    const side *s = &r->sides[k];
    const hl_configuration *c = &s->sweep.plan.items[places[k]];
    hl_text name = HL_TEXT_INIT;
    put_name(c, &name);
    line->configurations[k] = c;
    line->shown.numbers[k] = line_of(s, c);
    line->shown.texts[k] = hl_text_take(&name);
    if (!line->shown.texts[k]) return no_memory(error);
  }
  line->method = &r->method;
  line->name = line->shown.texts[0];
  return HL_OK;
}

static hl_status make_lines(rows *r, hl_error *error) {
  const hl_plan *plan = &r->sides[0].sweep.plan;
  r->lines = calloc(r->count, sizeof *r->lines);
  if (!r->lines) return no_memory(error);
  const hl_plan_model model = {.name = plan->items[0].model,
                               .is_builtin = plan->items[0].is_builtin,
                               .is_foreign = plan->items[0].is_foreign};
  hl_status status =
      hl_compare_method(r->compare, &model, &r->sides[0].sweep.machine, &r->method, error);
  size_t at = 0;
  for (size_t i = 0; i < plan->count && status == HL_OK; i++)
    if (r->sides[0].partner[i] != SIZE_MAX) status = fill_line(r, i, &r->lines[at++], error);
  return status;
}

hl_status hl_compare_plan_rows(hl_compare *compare, hl_error *error) {
  rows r = {.compare = compare};
  hl_status status = HL_OK;
  for (size_t k = 0; k < 2 && status == HL_OK; k++) {
    hl_run_info_init(&r.sides[k].sweep.info);
    if (!hl_compare_is_rows(&compare->operands[k]))
      status = hl_error_set(error, HL_INVALID_ARGUMENT,
                            "operand '%.300s' is a list of configurations, and a YAML plan is "
                            "compared with another YAML plan",
                            compare->texts[k]);
  }
  for (size_t k = 0; k < 2 && status == HL_OK; k++) status = read_side(&r, k, error);
  if (status == HL_OK) status = find_partners(&r, error);
  if (status == HL_OK) status = make_lines(&r, error);
  if (status == HL_OK) count_left_out(&r);
  if (status == HL_OK)
    status =
        hl_compare_lines(compare, r.lines, r.count, &r.sides[0].sweep.machine, &r.left_out, error);
  for (size_t i = 0; r.lines && i < r.count; i++)
    for (size_t k = 0; k < 2; k++) free((char *)(uintptr_t)r.lines[i].shown.texts[k]);
  free(r.lines);
  for (size_t k = 0; k < 2; k++) {
    free(r.sides[k].partner);
    hl_sweep_release(&r.sides[k].sweep);
    hl_plan_file_release(&r.sides[k].file);
  }
  return status;
}
