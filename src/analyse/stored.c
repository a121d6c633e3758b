/* From two runs to verdicts: which row is compared with which. */
#include "analyse/stored.h"

#include "analyse/number.h"
#include "analyse/stored-internal.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for comparing stored runs");
}

static bool leave(hl__stored_comparing *c, bool is_b, size_t row, char *reason) {
  hl_stored_left *left = realloc(c->found.left, (c->found.left_count + 1) * sizeof *left);
  if (left) c->found.left = left;
  if (!left || !reason) {
    free(reason);
    return false;
  }
  hl_text_blank(reason, "");
  left[c->found.left_count++] = (hl_stored_left){is_b, row, reason};
  return true;
}

/* Rows of load tests are latencies of queries at a rate that was chosen: they are left out. */
static hl_status read_rows(hl__stored_comparing *c, size_t side, hl_error *error) {
  const hl_stored_run *run = c->run[side];
  HL_CLEANUP(hl_free_pointer) size_t *steps = calloc(run->row_count + 1, sizeof *steps);
  if (!steps) return no_memory(error);
  size_t count = 0;
  for (size_t i = 0; i < run->row_count; i++) {
    if (!hl_workload_is_load(run->records->items[run->rows[i]].workload))
      steps[count++] = run->rows[i];
    else if (!leave(c, side, run->rows[i], hl_strdup("a load test times queries, not steps")))
      return no_memory(error);
  }
  const hl_stored_run some = {run->info, run->records, steps, count};
  if (count) return hl__stored_rows_make(&some, &c->rows[side], error);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "%s has no row that can be compared%s; `hotlap report %s` shows it",
                      run->info->id, run->row_count ? ": a load test times queries, not steps" : "",
                      run->info->id);
}

static hl_status check_machines(hl__stored_comparing *c, hl_error *error) {
  const char *a = hl__stored_or_unknown(c->run[0]->info->machine_id);
  const char *b = hl__stored_or_unknown(c->run[1]->info->machine_id);
  bool known = c->run[0]->info->machine_id && c->run[1]->info->machine_id;
  bool same_run = strcmp(c->run[0]->info->id, c->run[1]->info->id) == 0;
  if (same_run || (known && strcmp(a, b) == 0)) return HL_OK;
  if (!c->options->force)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s and %s were measured on different machines (%s, %s); --force compares "
                        "them all the same",
                        c->run[0]->info->id, c->run[1]->info->id, a, b);
  hl__stored_note_all(c, "different machines (%s, %s)", a, b);
  return HL_OK;
}

static hl_status check_work(hl__stored_comparing *c, hl_error *error) {
  hl_status status = hl__stored_differences_make(&c->rows[0], &c->rows[1], &c->differences, error);
  if (status != HL_OK) return status;
  const char *work = c->differences.work, *compared = c->differences.compared;
  if (!work || !compared) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compare");
  if (work[0] && !c->options->force)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s and %s are not the same work: they differ in %.300s; --force compares "
                        "them all the same",
                        c->run[0]->info->id, c->run[1]->info->id, work);
  if (work[0]) hl__stored_note_all(c, "not the same work: different %.500s", work);
  if (compared[0]) hl__stored_note_all(c, "different %.500s", compared);
  return HL_OK;
}

static bool add_pair(hl__stored_comparing *c, size_t a, size_t b) {
  size_t count = c->found.comparisons.count;
  hl_stored_pair *pairs = realloc(c->found.pairs, (count + 1) * sizeof *pairs);
  if (!pairs) return false;
  c->found.pairs = pairs;
  pairs[count] = (hl_stored_pair){a, b};
  hl_comparison comparison;
  hl_comparison_init(&comparison);
  return hl_comparisons_take(&c->found.comparisons, &comparison, NULL) == HL_OK;
}

/* Whether two rows that measure the same can be compared; if not, why. A row that passed on one
 * side only is what a gate must not miss. */
static hl_status check_outcomes(hl__stored_comparing *c, const hl__stored_row *a,
                                const hl__stored_row *b, bool *ret_compare, char **ret_reason,
                                hl_error *error) {
  const hl_record *left = a->record, *right = b->record;
  bool passed[] = {hl_record_passed(left), hl_record_passed(right)};
  bool timed = left->latency_p50_ms > 0 && right->latency_p50_ms > 0;
  *ret_compare = (passed[0] && passed[1]) || (c->options->force && timed);
  if (*ret_compare) return HL_OK;
  const hl_record *bad = passed[0] ? right : left;
  if (passed[0] != passed[1] && !c->options->force)
    return hl_error_set(
        error, HL_UNAVAILABLE, "%s, batch %" PRId64 " of %s: %s: %.200s; --force compares the rest",
        hl__stored_or_unknown(bad->engine), bad->batch_size, c->run[passed[0] ? 1 : 0]->info->id,
        hl__stored_or_unknown(bad->outcome), bad->reason ? bad->reason : "no reason is known");
  *ret_reason = hl_format("%s%s%s", hl__stored_or_unknown(bad->outcome), bad->reason ? ": " : "",
                          bad->reason ? bad->reason : "");
  return *ret_reason ? HL_OK : no_memory(error);
}

static hl_status take_pair(hl__stored_comparing *c, hl__stored_row *a, hl__stored_row *b,
                           hl_error *error) {
  bool compare = false;
  char *reason = NULL;
  hl_status status = check_outcomes(c, a, b, &compare, &reason, error);
  if (status != HL_OK) return status;
  a->taken = b->taken = true;
  if (compare) return add_pair(c, a->row, b->row) ? HL_OK : no_memory(error);
  bool ok = leave(c, false, a->row, hl_strdup(reason)) && leave(c, true, b->row, hl_strdup(reason));
  free(reason);
  return ok ? HL_OK : no_memory(error);
}

static hl_status match(hl__stored_comparing *c, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < c->rows[0].count; i++)
    for (size_t j = 0; !c->rows[0].items[i].taken && j < c->rows[1].count; j++) {
      hl__stored_row *a = &c->rows[0].items[i], *b = &c->rows[1].items[j];
      if (b->taken || !hl__stored_alike(a, b, c->differences.common)) continue;
      status = take_pair(c, a, b, error);
      if (status != HL_OK) return status;
    }
  for (size_t side = 0; side < 2; side++)
    for (size_t i = 0; i < c->rows[side].count; i++)
      if (!c->rows[side].items[i].taken &&
          !leave(c, side, c->rows[side].items[i].row, hl_strdup("the other run has no such row")))
        return no_memory(error);
  return HL_OK;
}

/* An operand that selects a row of A, for a message: by its model where models differ. */
static char *example_of(const hl__stored_comparing *c) {
  const char *id = c->run[0]->info->id;
  for (size_t k = 0; k < HL__STORED_KEYS; k++) {
    bool differs = c->differences.apart[k] && !c->differences.common[k];
    if (differs && strcmp(hl__stored_keys[k].name, "model") == 0 && c->rows[0].count)
      return hl_format(
          "'run:%s \"%.60s\"'", id,
          hl__stored_or_unknown(c->run[0]->records->items[c->rows[0].items[0].row].model));
  }
  return hl_format("'run:%s batch=8'", id);
}

/* Nothing to compare: in what the runs are apart, or which rows did not pass. */
static hl_status refuse_empty(const hl__stored_comparing *c, hl_error *error) {
  hl_text apart = HL_TEXT_INIT;
  for (size_t k = 0; k < HL__STORED_KEYS; k++)
    if (c->differences.apart[k] && !c->differences.common[k])
      hl_text_format(&apart, "%s%s", apart.length ? ", " : "", hl__stored_keys[k].name);
  char *example = example_of(c);
  const char *failed = NULL;
  for (size_t i = 0; i < c->found.left_count && !failed; i++)
    if (!strstr(c->found.left[i].reason, "no such row")) failed = c->found.left[i].reason;
  hl_status status =
      failed ? hl_error_set(error, HL_UNAVAILABLE, "no row of %s and %s passed in both: %.250s",
                            c->run[0]->info->id, c->run[1]->info->id, failed)
             : hl_error_set(error, HL_INVALID_ARGUMENT,
                            "no row of %s measures what a row of %s does%s%s; select one row of "
                            "each to compare them: %s",
                            c->run[0]->info->id, c->run[1]->info->id,
                            apart.length ? ": all differ in " : "", apart.data, example);
  free(example);
  hl_text_release(&apart);
  return status;
}

static hl_status compare_all(hl__stored_comparing *c, hl_error *error) {
  hl_status status = read_rows(c, 0, error);
  if (status == HL_OK) status = read_rows(c, 1, error);
  if (status == HL_OK) status = check_work(c, error);
  if (status == HL_OK) status = check_machines(c, error);
  if (status == HL_OK) status = match(c, error);
  if (status == HL_OK && c->found.comparisons.count == 0) status = refuse_empty(c, error);
  if (status == HL_OK) status = hl__stored_judge(c, error);
  if (status != HL_OK) return status;
  hl__stored_note_runs(c);
  c->found.notes = hl_text_take(&c->notes);
  return c->found.notes ? HL_OK : no_memory(error);
}

hl_status hl_stored_compare(const hl_stored_run *a, const hl_stored_run *b,
                            const hl_stored_options *options, hl_stored *ret_stored,
                            hl_error *error) {
  hl__stored_comparing c = {.run = {a, b}, .options = options, .notes = HL_TEXT_INIT};
  hl_status status = compare_all(&c, error);
  for (size_t side = 0; side < 2; side++) hl__stored_rows_release(&c.rows[side]);
  hl__stored_differences_release(&c.differences);
  hl_text_release(&c.notes);
  if (status == HL_OK)
    *ret_stored = c.found;
  else
    hl_stored_release(&c.found);
  return status;
}

void hl_stored_release(hl_stored *stored) {
  for (size_t i = 0; i < stored->left_count; i++) free(stored->left[i].reason);
  free(stored->left);
  free(stored->pairs);
  free(stored->notes);
  hl_comparisons_release(&stored->comparisons);
  *stored = (hl_stored){0};
}
