#include "run/compare.h"

#include "base/splitmix.h"
#include "method/pairing.h"
#include "run/alternate.h"
#include "run/candidate.h"
#include "run/interleave.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparing {
  const hl_compare_options *options;
  hl_row_context context;
  hl_method_options method;  /* of one process */
  hl__candidate *candidates; /* count - 1 */
  uint64_t random;
  bool apart;                                /* the sides do not fit in memory together */
  double enough_s;                           /* budget that would give enough pairs, 0: not known */
  size_t processes_before, processes_of_all; /* of other groups, and of all: for the view */
} comparing;

static void differ_text(hl_text *out, const char *what, const char *a, const char *b) {
  const char *left = a ? a : "synthetic", *right = b ? b : "synthetic";
  if (strcmp(left, right) != 0)
    hl_text_format(out, "%s%s (%s, %s)", out->length ? ", " : "", what, left, right);
}

static void differ_int(hl_text *out, const char *what, int64_t a, int64_t b) {
  if (a != b)
    hl_text_format(out, "%s%s (%" PRId64 ", %" PRId64 ")", out->length ? ", " : "", what, a, b);
}

static char *shapes_of(const hl_configuration *c) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < c->input_shape_count; i++) {
    if (i) hl_text_char(&text, ' ');
    hl_input_shape_format(&c->input_shapes[i], &text);
  }
  return hl_text_take(&text);
}

static const char *workload_of(const hl_configuration *c) {
  return c->pipeline ? "pipeline" : c->progressive ? "progressive" : "inference";
}

/* All but the optimisations, which are how and not what. */
static void differ_imaging(const hl_progressive_spec *a, const hl_progressive_spec *b,
                           hl_text *out) {
  if (!a || !b) return;
  differ_int(out, "samples", a->samples, b->samples);
  differ_int(out, "rounds", a->rounds, b->rounds);
  differ_int(out, "updates", a->epochs, b->epochs);
  differ_text(out, "object", a->object, b->object);
  differ_text(out, "pattern", a->pattern, b->pattern);
  if (a->radius < b->radius || a->radius > b->radius)
    hl_text_append(out, out->length ? ", radius" : "radius");
  if (isnan(a->snr_db) != isnan(b->snr_db) || a->snr_db < b->snr_db || a->snr_db > b->snr_db)
    hl_text_append(out, out->length ? ", noise" : "noise");
}

/* "model (resnet50, vit_b_16), seed (42, 7)": what makes two configurations different work. */
static void append_differences(const hl_configuration *a, const hl_configuration *b, hl_text *out) {
  differ_text(out, "model", a->model, b->model);
  differ_text(out, "workload", workload_of(a), workload_of(b));
  differ_imaging(a->progressive, b->progressive, out);
  differ_text(out, "data", a->test_data, b->test_data);
  differ_int(out, "images", a->n_images, b->n_images);
  differ_text(out, "decoding", a->decodes_scaled ? "scaled" : "exact",
              b->decodes_scaled ? "scaled" : "exact");
  differ_int(out, "seed", a->seed, b->seed);
  HL_CLEANUP(hl_free_pointer) char *left = shapes_of(a);
  HL_CLEANUP(hl_free_pointer) char *right = shapes_of(b);
  if (left && right) differ_text(out, "input shapes", left, right);
}

/* A path without the directory that it lies in. */
static const char *below(const hl_compare_options *o, size_t side, const char *path) {
  const char *directory = o->directories ? o->directories[side] : NULL;
  size_t length = directory ? strlen(directory) : 0;
  if (!path || !length || strncmp(path, directory, length) != 0) return path;
  return path + length + strspn(path + length, "/");
}

/* What makes two sides different work. Appended. */
static void differences(const hl_compare_options *o, size_t a, size_t b, hl_text *out) {
  const size_t pair[2] = {a, b};
  hl_configuration sides[2];
  for (size_t i = 0; i < 2; i++) {
    sides[i] = *o->configurations[pair[i]];
    sides[i].model = below(o, pair[i], sides[i].model);
    sides[i].test_data = below(o, pair[i], sides[i].test_data);
  }
  append_differences(&sides[0], &sides[1], out);
}

static hl_status check_work(const hl_compare_options *o, hl_error *error) {
  for (size_t i = 1; i < o->count && !o->force; i++) {
    hl_text text = HL_TEXT_INIT;
    differences(o, 0, i, &text);
    hl_status status = HL_OK;
    if (text.length)
      status = hl_error_set(error, HL_INVALID_ARGUMENT,
                            "operands 1 and %zu are not the same work: they differ in %s; --force "
                            "compares them all the same",
                            i + 1, text.data);
    hl_text_release(&text);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static hl_status add_pairs(comparing *c, size_t process, hl_interleaved_pair *pair,
                           hl_error *error) {
  hl__candidate *k = &c->candidates[pair->b - 1];
  const hl_configuration *const *sides = c->options->configurations;
  hl_status status =
      hl__candidate_add(k, pair->ratios, pair->ratio_count,
                        hl__batch_shift(sides[0], sides[pair->b]), process, &pair->voiding, error);
  if (status != HL_OK || process > 0) return status;
  hl_comparison first = k->comparison; /* outputs and names are those of the first process */
  k->comparison = pair->comparison;
  pair->comparison = first;
  return HL_OK;
}

static hl_status take_group(comparing *c, size_t process, hl_interleaved *group, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < group->count && status == HL_OK; i++)
    status = hl__record_check(&group->records[i], i, c->options->force, error);
  for (size_t i = 0; i < group->pair_count && status == HL_OK; i++) {
    hl_interleaved_pair *pair = &group->pairs[i];
    if (pair->a != 0) continue; /* candidates are judged against the baseline only */
    if (pair->comparison.agree == 0 && !c->options->force)
      status = hl_error_set(error, HL_UNAVAILABLE,
                            "the outputs of operands 1 and %zu do not agree (%s); --force compares "
                            "all the same",
                            pair->b + 1,
                            pair->comparison.notes ? pair->comparison.notes : "no reason is known");
    else
      status = add_pairs(c, process, pair, error);
  }
  return status;
}

/* Every side in a fresh process. */
static hl_status run_process(comparing *c, size_t process, hl_error *error) {
  const hl_compare_options *o = c->options;
  const hl_run_view *view = c->context.view;
  hl_record records[HL_COMPARE_SIDES];
  bool alone[HL_COMPARE_SIDES] = {false};
  for (size_t i = 0; i < o->count; i++) hl_record_init(&records[i]);
  hl_interleaved group = {.configurations = o->configurations,
                          .count = o->count,
                          .seed = hl_splitmix(&c->random),
                          .rounds = (o->pairs + o->processes - 1) / o->processes,
                          .last_first = hl_splitmix(&c->random) >> 63,
                          .together = true,
                          .records = records,
                          .alone = alone};
  if (view->row_begin)
    view->row_begin(view->context, o->configurations[0], c->processes_before + process,
                    c->processes_of_all);
  hl_status status = hl_interleave_measure(&c->context, &group, error);
  for (size_t i = 0; i < o->count; i++) c->apart |= alone[i];
  if (status == HL_OK && !c->apart) status = take_group(c, process, &group, error);
  for (size_t i = 0; i < o->count; i++) hl_record_release(&records[i]);
  hl_interleaved_release(&group);
  return status;
}

static void describe(const comparing *c, size_t index) {
  const hl_compare_options *o = c->options;
  hl_comparison *to = &c->candidates[index].comparison;
  const hl_configuration *a = o->configurations[0], *b = o->configurations[index + 1];
  if (!c->apart) to->processes = (int64_t)o->processes;
  hl_text text = HL_TEXT_INIT;
  differences(o, 0, index + 1, &text);
  if (text.length) hl_comparison_note(to, "not the same work: different %s", text.data);
  hl_text_release(&text);
  if (to->model) {
    HL_CLEANUP(hl_free_pointer) char *name = hl_strdup(below(o, 0, to->model));
    hl_record_set_text(&to->model, name);
  }
  if (a->batch_size != b->batch_size && !(a->pipeline && b->pipeline))
    hl_comparison_note(to, "time of an input, as batches are %" PRId64 " and %" PRId64,
                       a->batch_size, b->batch_size);
  hl__comparison_note_pairs(to, c->enough_s);
}

/* What was found before memory became too small for all is of another kind: begins anew. */
static hl_status run_apart(comparing *c, hl_error *error) {
  const hl_compare_options *o = c->options;
  const hl__alternation alternation = {.configurations = o->configurations,
                                       .count = o->count,
                                       .pairs = o->pairs,
                                       .seed = hl_splitmix(&c->random),
                                       .max_time_s = o->method->max_time_s,
                                       .force = o->force};
  for (size_t i = 0; i + 1 < o->count; i++) hl__candidate_release(&c->candidates[i]);
  c->method.max_time_s = o->method->max_time_s / HL_PAIRS_LEAST;
  return hl__alternate(&c->context, &alternation, c->candidates, &c->enough_s, error);
}

static hl_status run_group(comparing *c, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t p = 0; p < c->options->processes && !c->apart && status == HL_OK; p++)
    status = run_process(c, p, error);
  if (status == HL_OK && c->apart) status = run_apart(c, error);
  if (status != HL_OK && c->options->name) hl_error_prefix(error, "%.200s", c->options->name);
  return status;
}

/* Every group in turn; then all candidates are one family. */
static hl_status run_groups(comparing *groups, size_t group_count, hl_comparisons *comparisons,
                            hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < group_count && status == HL_OK; i++) status = run_group(&groups[i], error);
  if (status != HL_OK) return status;
  size_t total = 0;
  for (size_t i = 0; i < group_count; i++) total += groups[i].options->count - 1;
  const hl_compare_options *first = groups[0].options;
  status = hl__candidates_judge(groups[0].candidates, total, first->alpha, first->margin, error);
  for (size_t i = 0; i < group_count && status == HL_OK; i++)
    for (size_t k = 0; k + 1 < groups[i].options->count && status == HL_OK; k++) {
      describe(&groups[i], k);
      status = hl_comparisons_take(comparisons, &groups[i].candidates[k].comparison, error);
    }
  return status;
}

static hl_status check_groups(const hl_compare_options *groups, size_t group_count,
                              hl_error *error) {
  for (size_t i = 0; i < group_count; i++) {
    const hl_compare_options *o = &groups[i];
    if (o->count < 2 || o->count > HL_COMPARE_SIDES || o->processes == 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "2 to %d operands are compared",
                          HL_COMPARE_SIDES);
    hl_status status = check_work(o, error);
    if (status != HL_OK && o->name) hl_error_prefix(error, "%.200s", o->name);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* Candidates of all groups lie behind one another. */
static void prepare(const hl_compare_options *options, size_t group_count,
                    const hl_row_context *context, comparing *groups, hl__candidate *candidates) {
  size_t processes = 0;
  for (size_t i = 0; i < group_count; i++) {
    comparing *c = &groups[i];
    *c = (comparing){.options = &options[i],
                     .context = *context,
                     .method = *options[i].method,
                     .candidates = candidates,
                     .random = options[i].seed + i,
                     .processes_before = processes};
    c->method.max_time_s /= (double)options[i].processes;
    c->method.min_time_s = 0;
    c->method.keeps_batches = true; /* with others a side would not be what was asked for */
    c->context.method = &c->method;
    for (size_t k = 0; k + 1 < options[i].count; k++) hl__candidate_init(candidates++);
    processes += options[i].processes;
  }
  for (size_t i = 0; i < group_count; i++) groups[i].processes_of_all = processes;
}

hl_status hl_compare_live(const hl_compare_options *groups, size_t group_count,
                          const hl_run_environment *environment, const hl_run_view *view,
                          hl_run_info *info, hl_comparisons *comparisons, hl_error *error) {
  hl_status status = check_groups(groups, group_count, error);
  if (status != HL_OK || group_count == 0) return status;
  size_t total = 0;
  for (size_t i = 0; i < group_count; i++) total += groups[i].count - 1;
  hl_reference_cache references = {0};
  const hl_row_context context = {.environment = environment,
                                  .view = view,
                                  .references = &references,
                                  .info = info,
                                  .bad_input_ends = true};
  HL_CLEANUP(hl_free_pointer) comparing *all = calloc(group_count, sizeof *all);
  HL_CLEANUP(hl_free_pointer) hl__candidate *candidates = calloc(total, sizeof *candidates);
  if (!all || !candidates)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for comparisons");
  prepare(groups, group_count, &context, all, candidates);
  status = run_groups(all, group_count, comparisons, error);
  for (size_t i = 0; i < total; i++) hl__candidate_release(&candidates[i]);
  hl_reference_cache_release(&references);
  return status;
}
