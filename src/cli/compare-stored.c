#include "cli/compare.h"

#include "analyse/stored.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "cli/run-info.h"
#include "report/stored.h"
#include "run/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A side: a run of the store, and the rows of it that are compared. */
typedef struct side {
  hl_run_info info;
  hl_records records;
  size_t *rows;
  hl_stored_run run;
} side;

typedef struct stored {
  hl_compare *compare;
  hl_store *store;
  side sides[2];
  size_t row, rows; /* of a side that is measured now */
  bool show_progress;
} stored;

/* The operand's words as the fields of a row are called: "batch-sizes=8". */
static hl_status select_rows(const hl_operand *o, side *s, hl_error *error) {
  const hl_options *options = &o->options;
  hl_status status = HL_OK;
  size_t count = 0;
  char **words = calloc(options->item_count + 1, sizeof *words);
  hl_plan_model model = {0};
  if (o->model && hl_cli_model(o->model, &model, NULL) != HL_OK) model.name = hl_strdup(o->model);
  if (words && o->model) words[count++] = hl_format("model=%s", model.name ? model.name : "");
  for (size_t i = 0; words && i < options->item_count; i++)
    words[count++] = hl_format("%s=%s", hl_option_name(options->item_ids[i]), options->items[i]);
  bool whole = words != NULL;
  for (size_t i = 0; i < count; i++) whole = whole && words[i];
  if (!whole)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an operand");
  else
    status = hl_stored_select(&s->records, (const char *const *)words, count, &s->rows,
                              &s->run.row_count, error);
  for (size_t i = 0; i < count; i++) free(words[i]);
  free(words);
  free((char *)(uintptr_t)model.name);
  return status;
}

static void be_run(side *s) {
  s->run.info = &s->info;
  s->run.records = &s->records;
  s->run.rows = s->rows;
}

static hl_status load_side(stored *s, size_t i, hl_error *error) {
  const hl_operand *o = &s->compare->operands[i];
  side *to = &s->sides[i];
  hl_error inner = {0};
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_status status = hl_store_run_resolve(s->store, o->reference, &id, &inner);
  if (status == HL_OK) status = hl_store_run_load(s->store, id, &to->info, &to->records, &inner);
  if (status == HL_OK) status = select_rows(o, to, &inner);
  if (status == HL_OK) return HL_OK;
  return hl_error_set(error, status, "operand '%.200s': %s", s->compare->texts[i], inner.msg);
}

/* ---- a side that is measured now ---- */

static void row_begin(void *context, const hl_configuration *c, size_t index, size_t count) {
  stored *s = context;
  (void)c;
  s->row = index;
  s->rows = count;
}

static void phase(void *context, const char *text) {
  const stored *s = context;
  if (s->show_progress) fprintf(stderr, "\r\033[Krow %zu of %zu: %s", s->row + 1, s->rows, text);
}

/* As a sweep does, and kept in the store as its rows are. */
static hl_status execute(stored *s, const hl_plan *plan, side *to, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *cache = NULL, *commit = NULL;
  const hl_run_environment environment = hl_compare_environment(s->compare, &cache, &commit);
  const hl_run_view view = {.context = s, .row_begin = row_begin, .phase = phase};
  hl_comparisons ignored = {0};
  s->show_progress = hl_compare_shows_progress(s->compare);
  hl_status status =
      hl_run_execute(plan, &environment, &view, s->store, &to->info, &to->records, &ignored, error);
  if (s->show_progress) fputs("\r\033[K", stderr);
  hl_comparisons_release(&ignored);
  return status;
}

static hl_status measure_side(stored *s, size_t i, hl_error *error) {
  hl_compare *c = s->compare;
  side *to = &s->sides[i];
  hl_plan plan = {0};
  hl_plan_model model = {0};
  hl_machine machine = {0};
  hl_error inner = {0};
  const hl_options *options = &c->operands[i].options;
  hl_status status = hl_compare_machine(options, &machine, &inner);
  if (status == HL_OK) status = hl_cli_model_of(options, c->operands[i].model, &model, &inner);
  if (status == HL_OK) status = hl_cli_plan(options, &model, 1, &machine, &plan, &inner);
  if (status == HL_OK) status = hl_compare_method(c, &model, &machine, &plan.method, &inner);
  if (status == HL_OK)
    status =
        hl_cli_run_info(c->argc, c->argv, &c->options, &machine, &plan.method, &to->info, &inner);
  if (status == HL_OK) status = execute(s, &plan, to, &inner);
  if (status == HL_OK)
    status = hl_stored_select(&to->records, NULL, 0, &to->rows, &to->run.row_count, &inner);
  free((char *)(uintptr_t)model.name);
  hl_plan_release(&plan);
  hl_machine_release(&machine);
  if (status == HL_OK) return HL_OK;
  return hl_error_set(error, status, "operand '%.200s': %s", c->texts[i], inner.msg);
}

/* ---- both ---- */

static hl_status open_store(stored *s, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_status status = hl_cli_store_path(&s->compare->options, &path, error);
  if (status != HL_OK) return status;
  if (!path)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--store none holds no runs; name a file");
  bool measures = false;
  for (size_t i = 0; i < s->compare->count; i++)
    measures = measures || s->compare->operands[i].kind != HL_OPERAND_RUN;
  /* A store that is not there, or an empty file, holds no run: it is not made. */
  status = hl_store_open(path, HL_STORE_READ, &s->store, error);
  if (status != HL_OK || !measures) return status;
  hl_store_free(s->store);
  s->store = NULL;
  return hl_store_open(path, HL_STORE_WRITE, &s->store, error);
}

static hl_status check_kinds(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++) {
    hl_operand_kind kind = c->operands[i].kind;
    if (kind != HL_OPERAND_RUN && kind != HL_OPERAND_CONFIGURATION)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s': a stored run is compared with another or with a "
                          "configuration, not with %s...",
                          c->texts[i], hl_operand_prefix(kind));
  }
  if (c->count > 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%zu operands; stored runs are compared two at a time", c->count);
  return HL_OK;
}

/* There are no turns, and what was measured before is not measured as the command line says. */
static hl_status check_options(const hl_compare *c, hl_error *error) {
  static const hl_option_id of_turns[] = {HL_OPTION_PROCESSES, HL_OPTION_PAIRS,
                                          HL_OPTION_ORDER_SEED};
  static const hl_option_id of_rows[] = {HL_OPTION_MAX_TIME, HL_OPTION_SETUP_TIMEOUT,
                                         HL_OPTION_WARMUP_ITERATIONS, HL_OPTION_MEMORY_LIMIT,
                                         HL_OPTION_NO_CHECK};
  bool measures = false;
  for (size_t i = 0; i < c->count; i++) measures |= c->operands[i].kind != HL_OPERAND_RUN;
  for (size_t i = 0; i < c->options.item_count; i++) {
    hl_option_id id = c->options.item_ids[i];
    bool of_row = hl_option_taken(id, 'c') && id != HL_OPTION_SEED; /* of the bootstrap, too */
    bool of_turn = false;
    for (size_t k = 0; k < HL_COUNT(of_rows); k++) of_row |= id == of_rows[k];
    for (size_t k = 0; k < HL_COUNT(of_turns); k++) of_turn |= id == of_turns[k];
    if (of_turn)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s is for sides that take turns; a stored run takes none",
                          hl_option_name(id));
    if (of_row && !measures)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s is for what is measured now; words in an operand select rows of a "
                          "run: 'run:latest batch=8'",
                          hl_option_name(id));
  }
  return HL_OK;
}

static hl_status judge(stored *s, hl_error *error) {
  hl_compare *c = s->compare;
  int64_t seed = 0;
  hl_status status = hl_options_int(&c->options, HL_OPTION_SEED, 0, INT64_MAX, 42, &seed, error);
  if (status != HL_OK) return status;
  const hl_stored_options options = {.alpha = c->how.alpha,
                                     .margin = c->how.margin,
                                     .seed = (uint64_t)seed,
                                     .force = c->how.force};
  const hl_stored_run *a = &s->sides[0].run, *b = &s->sides[1].run;
  hl_stored found;
  status = hl_stored_compare(a, b, &options, &found, error);
  if (status != HL_OK) return status;
  const hl_report_stored report = {.operands = {c->texts[0], c->texts[1]},
                                   .runs = {a, b},
                                   .found = &found,
                                   .margin = c->how.margin,
                                   .alpha = c->how.alpha};
  hl_text text = HL_TEXT_INIT;
  if (hl_options_on(&c->options, HL_OPTION_JSON))
    hl_report_stored_json(&report, &text);
  else if (!hl_options_on(&c->options, HL_OPTION_QUIET))
    hl_report_stored_text(&report, &text);
  c->shown = hl_text_take(&text);
  c->comparisons = found.comparisons;
  found.comparisons = (hl_comparisons){0};
  hl_stored_release(&found);
  return c->shown ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the result");
}

hl_status hl_compare_stored_operands(hl_compare *compare, hl_error *error) {
  stored s = {.compare = compare};
  for (size_t i = 0; i < 2; i++) hl_run_info_init(&s.sides[i].info);
  hl_status status = check_kinds(compare, error);
  if (status == HL_OK) status = check_options(compare, error);
  if (status == HL_OK) status = open_store(&s, error);
  for (size_t i = 0; i < 2 && status == HL_OK; i++) /* a wrong id is found before measuring */
    if (compare->operands[i].kind == HL_OPERAND_RUN) status = load_side(&s, i, error);
  for (size_t i = 0; i < 2 && status == HL_OK; i++)
    if (compare->operands[i].kind != HL_OPERAND_RUN) status = measure_side(&s, i, error);
  for (size_t i = 0; i < 2; i++) be_run(&s.sides[i]);
  if (status == HL_OK) status = judge(&s, error);
  for (size_t i = 0; i < 2; i++) {
    hl_run_info_release(&s.sides[i].info);
    hl_records_release(&s.sides[i].records);
    free(s.sides[i].rows);
  }
  hl_store_free(s.store);
  return status;
}
