#include "run/candidate.h"

#include "base/text.h"
#include "method/family.h"
#include "run/compare.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void hl__candidate_init(hl__candidate *candidate) {
  *candidate = (hl__candidate){0};
  hl_comparison_init(&candidate->comparison);
}

void hl__candidate_release(hl__candidate *candidate) {
  hl_comparison_release(&candidate->comparison);
  free(candidate->ratios);
  free(candidate->processes);
  hl__candidate_init(candidate);
}

hl_status hl__candidate_add(hl__candidate *k, const double *ratios, size_t count, double shift,
                            size_t process, const hl_voiding *voiding, hl_error *error) {
  size_t all = k->count + count;
  double *more = realloc(k->ratios, (all + 1) * sizeof *more);
  if (more) k->ratios = more;
  size_t *processes = realloc(k->processes, (all + 1) * sizeof *processes);
  if (processes) k->processes = processes;
  if (!more || !processes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pairs");
  for (size_t i = 0; i < count; i++) {
    k->ratios[k->count] = ratios[i] + shift;
    k->processes[k->count++] = process;
  }
  if (voiding) hl_voiding_add(&k->voiding, voiding);
  return HL_OK;
}

void hl__comparison_note(hl_comparison *comparison, const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char *before = comparison->notes;
  HL_CLEANUP(hl_free_pointer)
  char *joined = before ? hl_format("%s; %s", before, text) : hl_strdup(text);
  if (joined) hl_record_set_text(&comparison->notes, joined);
}

void hl__comparison_set_voiding(const hl_voiding *voiding, hl_comparison *c) {
  hl_text text = HL_TEXT_INIT;
  hl_voiding_format(voiding, &text);
  c->voided = (int64_t)hl_voiding_total(voiding);
  hl_record_set_text(&c->voided_by, text.length ? text.data : NULL);
  hl_text_release(&text);
  if (voiding->one_sided)
    hl__comparison_note(c,
                        "disturbed turns fall on one side (%zu on A, %zu on B): they are its own, "
                        "and all pairs count",
                        voiding->only_a, voiding->only_b);
  if (c->voided > c->pairs)
    hl__comparison_note(c, "most pairs were disturbed: quieten the machine (hotlap doctor)");
}

static void describe(hl__candidate *k, const hl_family_result *result) {
  hl_comparison *to = &k->comparison;
  hl_record_set_text(&to->verdict, result->verdict);
  to->ratio = result->ratio;
  to->ci = (hl_pair){result->low, result->high};
  to->mde = result->detectable;
  to->pairs = (int64_t)k->count;
  hl__comparison_set_voiding(&k->voiding, to);
  if (result->by_processes)
    hl__comparison_note(to, "processes differ by more than their pairs tell, so that the interval "
                            "is that of the processes: more of them make it narrower");
}

hl_status hl__candidates_judge(hl__candidate *candidates, size_t count, double alpha, double margin,
                               hl_error *error) {
  hl_family_member members[HL_COMPARE_SIDES] = {{0}};
  hl_family_result results[HL_COMPARE_SIDES];
  for (size_t i = 0; i < count; i++)
    members[i] =
        (hl_family_member){candidates[i].ratios, candidates[i].processes, candidates[i].count};
  hl_status status = hl_family_judge(members, count, alpha, margin, results, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) describe(&candidates[i], &results[i]);
  return status;
}
