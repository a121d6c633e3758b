#include "run/outputs.h"

#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Outputs that belong to no single image are not compared, and not in silence. */
static void note_left_out(hl_record *record, const size_t *counts, size_t count) {
  size_t left_out = 0;
  for (size_t i = 0; i < count; i++) left_out += counts[i] == 0;
  if (left_out && left_out < count)
    hl_record_note(record, "%zu of %zu outputs belong to no single image and were not compared",
                   left_out, count);
}

static const char *reference_name(const hl_row *r) {
  return r->session.configuration->is_foreign ? "the model itself, plainly run in float32"
                                              : "reference evaluator";
}

/* UNAVAILABLE, with the reason, where nothing can be compared: that the reference cannot be had
 * says nothing about the engine. */
static hl_status compare_outputs(hl_row *r, hl_error *error) {
  const hl_row_context *context = r->context;
  hl_reference *outputs = &r->outputs;
  const hl_reference *reference = NULL;
  hl_error failure = {0};
  if (r->session.unread[0]) return hl_error_set(error, HL_UNAVAILABLE, "%s", r->session.unread);
  hl_status status =
      hl_reference_find(context->references, r->session.reference_key, r->session.configuration,
                        r->session.fixed_batch ? r->session.fixed_batch : 1, context->environment,
                        context->view, &reference, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status != HL_OK)
    return hl_error_set(error, HL_UNAVAILABLE, "%s: %s", reference_name(r), failure.msg);
  note_left_out(r->record, outputs->counts, outputs->count);
  r->nan_output = hl_reference_nan(reference);
  hl_agreement agreement;
  status = hl_reference_compare(reference, outputs->values, outputs->counts, outputs->count,
                                &agreement, error);
  if (status != HL_OK) return status;
  r->record->output_error = agreement.error;
  r->record->output_cosine = agreement.cosine;
  r->nan_output_own = agreement.nan_output;
  r->no_cosine = agreement.cosine_reason;
  if (r->no_cosine) hl_record_note(r->record, "no cosine with the reference: %s", r->no_cosine);
  if (r->session.classifier) r->record->output_top1 = agreement.top1;
  return HL_OK;
}

hl_status hl_row_check_outputs(hl_row *r, hl_error *error) {
  if (!r->context->method->check) {
    hl_record_set_text(&r->record->output_check, "not checked: --no-check");
    return HL_OK;
  }
  hl_message reply;
  hl_status status = hl_process_call(&r->session.process, "output", NULL, r->session.step_timeout_s,
                                     &reply, error);
  if (status == HL_UNIMPLEMENTED) {
    hl_record_set_text(&r->record->output_check, "not checked: the engine gives no outputs");
    return HL_OK;
  }
  if (status != HL_OK) return status;
  hl_error failure = {0};
  status = hl_reference_take(&reply, &r->outputs, &failure);
  hl_message_release(&reply);
  if (status == HL_OK) status = compare_outputs(r, &failure);
  if (status == HL_INTERRUPTED) return status;
  if (status == HL_UNAVAILABLE) {
    HL_CLEANUP(hl_free_pointer) char *why = hl_format("not checked: %s", failure.msg);
    hl_record_set_text(&r->record->output_check, why);
    return HL_OK;
  }
  if (status != HL_OK) return hl_error_set(error, HL_INTERNAL, "output check: %s", failure.msg);
  HL_CLEANUP(hl_free_pointer) char *how = hl_format("%s, first image", reference_name(r));
  hl_record_set_text(&r->record->output_check, how);
  return HL_OK;
}

static float *copy_reference(const hl_row *r) {
  const hl_reference *reference = &r->context->references->current;
  bool same = reference->values && strcmp(reference->key, r->session.reference_key) == 0 &&
              reference->count == r->outputs.count && reference->total == r->outputs.total;
  for (size_t i = 0; same && i < reference->count; i++)
    same = reference->counts[i] == r->outputs.counts[i];
  float *copy = same ? malloc(reference->total * sizeof *copy + 1) : NULL;
  if (copy) memcpy(copy, reference->values, reference->total * sizeof *copy);
  return copy;
}

void hl_row_keep_outputs(hl_row *r) {
  hl_reference *from = &r->outputs;
  hl_record_outputs *kept = from->values ? calloc(1, sizeof *kept) : NULL;
  if (!kept) return;
  kept->count = from->count;
  for (size_t i = 0; i < from->count; i++) {
    kept->items[i] = (hl_record_output){.count = from->counts[i], .rank = from->ranks[i]};
    memcpy(kept->items[i].dims, from->dims[i], sizeof kept->items[i].dims);
  }
  kept->reference = copy_reference(r);
  kept->values = from->values;
  from->values = NULL;
  hl_record_outputs_free(r->record->outputs);
  r->record->outputs = kept;
}

static void mistrust(hl_record *record, const char *why) {
  hl_record_set_text(&record->outcome, hl_outcome_name(HL_MISTRUSTED));
  hl_record_set_text(&record->reason, why);
}

/* Rounding to 8 bits may move a single element far, but not the direction of the whole. */
static void judge_int8(const hl_row *r) {
  hl_record *record = r->record;
  if (isnan(record->output_error) || record->output_cosine >= HL_REFERENCE_COSINE) return;
  HL_CLEANUP(hl_free_pointer)
  char *why = r->no_cosine
                  ? hl_format("no cosine of an output and the float32 reference: %s; %.2f is asked "
                              "for int8",
                              r->no_cosine, HL_REFERENCE_COSINE)
                  : hl_format("the cosine of an output and the float32 reference is %.4f; %.2f is "
                              "asked for int8",
                              record->output_cosine, HL_REFERENCE_COSINE);
  mistrust(record, why);
}

/* NaN equals NaN, so that a network of them would pass; it is faster than one of numbers, too. */
static bool judge_nan(const hl_row *r) {
  if (r->session.not_a_number[0]) {
    mistrust(r->record, r->session.not_a_number);
    return true;
  }
  if (r->nan_output_own >= 0) {
    HL_CLEANUP(hl_free_pointer)
    char *own = hl_format("output %d holds NaN where the reference has numbers", r->nan_output_own);
    mistrust(r->record, own);
    return true;
  }
  if (r->nan_output < 0) return false;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("output %d is NaN, by the reference evaluator too: look at the weights and "
                        "at the data",
                        r->nan_output);
  mistrust(r->record, why);
  return true;
}

void hl_row_judge_outputs(hl_row *r) {
  hl_record *record = r->record;
  if (judge_nan(r)) return;
  if (strcmp(record->dtype, "int8") == 0) judge_int8(r);
  double tolerance = hl_reference_tolerance(record->dtype);
  if (!(record->output_error > tolerance)) return;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("outputs differ from the reference by %.2g of the largest value; %.0e is "
                        "allowed for %s",
                        record->output_error, tolerance, record->dtype);
  mistrust(record, why);
}

static bool is_int8(const hl_record *record) {
  return strcmp(record->dtype, "int8") == 0;
}

/* Judged by the coarser of the two types. */
static void set_agreement(const hl_record *a, const hl_record *b, const hl_agreement *found,
                          bool classifier, hl_comparison *comparison) {
  comparison->max_abs = found->max_abs;
  comparison->max_relative = found->error;
  comparison->cosine = found->cosine;
  if (found->cosine_reason) hl_comparison_note(comparison, "no cosine: %s", found->cosine_reason);
  if (classifier) comparison->top1 = found->top1;
  if (is_int8(a) || is_int8(b)) {
    comparison->agree = found->cosine >= HL_REFERENCE_COSINE;
    return;
  }
  comparison->tolerance = fmax(hl_reference_tolerance(a->dtype), hl_reference_tolerance(b->dtype));
  comparison->agree = found->error <= comparison->tolerance;
}

void hl_outputs_compare(const hl_row *a, const hl_row *b, hl_comparison *comparison) {
  hl_agreement found;
  hl_error failure = {0};
  if (!a->outputs.values || !b->outputs.values) {
    hl_comparison_note(comparison, "outputs not compared: at least one side gave none");
    return;
  }
  hl_status status = hl_reference_compare(&a->outputs, b->outputs.values, b->outputs.counts,
                                          b->outputs.count, &found, &failure);
  if (status == HL_OK) {
    set_agreement(a->record, b->record, &found, a->session.classifier, comparison);
    return;
  }
  hl_comparison_note(comparison, "outputs not compared: %s", failure.msg);
  if (status == HL_BAD_DATA) comparison->agree = 0; /* of different shapes */
}

typedef enum judgement { UNJUDGED, RIGHT, WRONG } judgement;

/* What the reference evaluator says. */
static judgement judge(const hl_record *r) {
  if (isnan(r->output_error)) return UNJUDGED;
  if (is_int8(r)) return r->output_cosine >= HL_REFERENCE_COSINE ? RIGHT : WRONG;
  return r->output_error <= hl_reference_tolerance(r->dtype) ? RIGHT : WRONG;
}

static void mistrust_for(hl_record *record, const hl_record *other, const hl_comparison *c) {
  if (!hl_record_passed(record)) return;
  HL_CLEANUP(hl_free_pointer)
  char *cosine =
      isnan(c->cosine) ? hl_strdup("without a cosine") : hl_format("cosine %.4f", c->cosine);
  HL_CLEANUP(hl_free_pointer)
  char *why =
      hl_format("outputs disagree with those of %s %s: largest relative difference %.2g, %s",
                other->engine, other->dtype, c->max_relative, cosine ? cosine : "");
  mistrust(record, why);
}

void hl_outputs_settle(hl_record *a, hl_record *b, hl_comparison *comparison) {
  if (comparison->agree != 0) return;
  judgement of_a = judge(a), of_b = judge(b);
  if (of_a == RIGHT && of_b == RIGHT) {
    hl_comparison_note(comparison,
                       "outputs disagree, and the reference evaluator finds both within their "
                       "tolerance");
    return;
  }
  if (of_a != RIGHT) mistrust_for(a, b, comparison);
  if (of_b != RIGHT) mistrust_for(b, a, comparison);
  if (of_a == UNJUDGED && of_b == UNJUDGED)
    hl_comparison_note(comparison, "outputs disagree, and no reference says which are right");
  else
    hl_comparison_note(comparison, "outputs disagree; by the reference evaluator %s",
                       of_a == RIGHT   ? "A is right"
                       : of_b == RIGHT ? "B is right"
                       : of_a == of_b  ? "both are wrong"
                       : of_a == WRONG ? "A is wrong, B was not judged"
                                       : "B is wrong, A was not judged");
}
