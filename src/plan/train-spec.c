#include "plan/train-spec.h"

#include "base/file.h"
#include "base/json-writer.h"
#include "base/training-names.h"
#include "plan/configuration.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const schedules[] = {[HL_SCHEDULE_CONSTANT] = "constant",
                                        [HL_SCHEDULE_EXPONENTIAL] = "exponential",
                                        [HL_SCHEDULE_PLATEAU] = "plateau",
                                        [HL_SCHEDULE_COSINE] = "cosine"};

const char *hl_schedule_name(hl_schedule schedule) {
  return (size_t)schedule < HL_COUNT(schedules) ? schedules[schedule] : "unknown";
}

bool hl_schedule_from_name(const char *name, hl_schedule *ret_schedule) {
  for (size_t i = 0; i < HL_COUNT(schedules); i++)
    if (strcmp(schedules[i], name) == 0) return *ret_schedule = (hl_schedule)i, true;
  return false;
}

bool hl_train_loss_read(const char *name, hl_train_spec *spec) {
  spec->loss_is_auto = strcmp(name, "auto") == 0;
  spec->is_physics = strcmp(name, "physics") == 0;
  spec->loss = HL_LOSS_POISSON;
  return spec->loss_is_auto || spec->is_physics || hl_loss_from_name(name, &spec->loss);
}

const char *hl_train_loss_name(const hl_train_spec *spec) {
  return spec->loss_is_auto ? "auto" : spec->is_physics ? "physics" : hl_loss_name(spec->loss);
}

static bool is_trainer(const char *name) {
  return strcmp(name, "cpu") == 0 || strcmp(name, "gpu") == 0 || strcmp(name, "ddp") == 0;
}

/* Words are checked here, numbers by their options. */
static hl_status read_words(const hl_options *o, hl_train_spec *s, hl_error *error) {
  const char *loss = hl_options_get(o, HL_OPTION_LOSS);
  const char *optimizer = hl_options_get(o, HL_OPTION_OPTIMIZER);
  const char *schedule = hl_options_get(o, HL_OPTION_SCHEDULE);
  s->trainer = hl_options_get(o, HL_OPTION_TRAINER);
  s->transform = hl_options_get(o, HL_OPTION_TRANSFORM);
  s->checkpoint = hl_options_get(o, HL_OPTION_CHECKPOINT);
  s->resume_from = hl_options_get(o, HL_OPTION_RESUME_FROM);
  s->nesterov = hl_options_on(o, HL_OPTION_NESTEROV);
  s->recompute = hl_options_on(o, HL_OPTION_RECOMPUTE);
  s->drop_last = hl_options_on(o, HL_OPTION_DROP_LAST);
  if (!is_trainer(s->trainer))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--trainer: '%s' is none of cpu, gpu, ddp",
                        s->trainer);
  if (!hl_train_loss_read(loss, s))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--loss: '%s' is none of auto, cross-entropy, mse, mae, l1, poisson, "
                        "dice-ce, physics",
                        loss);
  if (!hl_optimizer_from_name(optimizer, &s->optimizer))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--optimizer: '%s' is none of sgd, adam, adamw",
                        optimizer);
  if (!hl_schedule_from_name(schedule, &s->schedule))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--schedule: '%s' is none of constant, exponential, plateau, cosine",
                        schedule);
  return HL_OK;
}

/* The same command begins and goes on. */
static hl_status read_resume(const hl_options *o, hl_train_spec *s, hl_error *error) {
  if (o->command != 'T' || !hl_options_on(o, HL_OPTION_RESUME)) return HL_OK;
  if (!s->checkpoint)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--resume goes on from a checkpoint: give --checkpoint FILE");
  if (s->resume_from)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--resume and --resume-from both say where to go on: give one of them");
  if (hl_file_is_same(s->checkpoint, s->checkpoint)) s->resume_from = s->checkpoint;
  return HL_OK;
}

/* Where an option has no value, the field has what the optimiser's authors and torch take. */
typedef struct real_option {
  hl_option_id id;
  size_t field;
  double low, high, otherwise;
} real_option;
#define REAL(id, field, low, high, otherwise)                                                      \
  { HL_OPTION_##id, offsetof(hl_train_spec, field), low, high, otherwise }

static const real_option reals[] = {REAL(LEARNING_RATE, learning_rate, 0, 1e6, 1e-3),
                                    REAL(MOMENTUM, momentum, 0, 1, 0),
                                    REAL(WEIGHT_DECAY, weight_decay, 0, 1e6, 0),
                                    REAL(BETA1, beta1, 0, 0.999999999, 0.9),
                                    REAL(BETA2, beta2, 0, 0.999999999, 0.999),
                                    REAL(EPSILON, epsilon, 1e-30, 1, 1e-8),
                                    REAL(MAX_TIME, max_time_s, 1e-3, 1e9, 0),
                                    REAL(CLIP_NORM, clip_norm, 1e-30, 1e30, 0),
                                    REAL(DECAY, decay, 1e-9, 1, 0.1),
                                    REAL(MIN_LEARNING_RATE, min_learning_rate, 0, 1e6, 0)};

typedef struct int_option {
  hl_option_id id;
  size_t field;
  int64_t low, high, otherwise;
} int_option;
#define INT(id, field, low, high, otherwise)                                                       \
  { HL_OPTION_##id, offsetof(hl_train_spec, field), low, high, otherwise }

static const int_option ints[] = {
    INT(EPOCHS, epochs, 1, HL_TRAIN_STEPS_LIMIT, 0),
    INT(STEPS, steps, 1, HL_TRAIN_STEPS_LIMIT, 0),
    INT(LOADER_THREADS, loader_threads, 0, HL_TRAIN_LOADERS_LIMIT, 1),
    INT(ACCUMULATE, accumulate, 1, 1000000, 1),
    INT(PATIENCE, patience, 0, HL_TRAIN_STEPS_LIMIT, 10),
    INT(WARMUP_STEPS, warmup_steps, 0, HL_TRAIN_STEPS_LIMIT, 0),
    INT(EARLY_STOP, early_stop, 1, HL_TRAIN_STEPS_LIMIT, 0),
    INT(CHECKPOINT_STEPS, checkpoint_steps, 1, HL_TRAIN_STEPS_LIMIT, 0)};

static hl_status read_numbers(const hl_options *o, hl_train_spec *s, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(reals) && status == HL_OK; i++) {
    const real_option *r = &reals[i];
    double *field = (double *)(void *)((char *)s + r->field);
    status = hl_options_real(o, r->id, r->low, r->high, r->otherwise, field, error);
  }
  for (size_t i = 0; i < HL_COUNT(ints) && status == HL_OK; i++) {
    const int_option *n = &ints[i];
    int64_t *field = (int64_t *)(void *)((char *)s + n->field);
    status = hl_options_int(o, n->id, n->low, n->high, n->otherwise, field, error);
  }
  return status;
}

static hl_status invalid(hl_error *error, const char *text) {
  return hl_error_set(error, HL_INVALID_ARGUMENT, "%s", text);
}

/* What contradicts itself, or would have no effect. */
static hl_status check(const hl_options *o, const hl_train_spec *s, hl_error *error) {
  bool sgd = s->optimizer == HL_OPTIMIZER_SGD;
  bool moments = hl_options_given(o, HL_OPTION_BETA1) || hl_options_given(o, HL_OPTION_BETA2) ||
                 hl_options_given(o, HL_OPTION_EPSILON);
  if (!sgd && (s->momentum > 0 || s->nesterov))
    return invalid(error, "--momentum and --nesterov are of --optimizer sgd");
  if (s->nesterov && !(s->momentum > 0))
    return invalid(error, "--nesterov needs --momentum above 0");
  if (sgd && moments) return invalid(error, "--beta1, --beta2 and --epsilon are of adam and adamw");
  if (s->min_learning_rate > s->learning_rate)
    return invalid(error, "--min-learning-rate is above --learning-rate");
  bool together = strcmp(s->trainer, "ddp") == 0;
  if (hl_options_given(o, HL_OPTION_RANKS) && !together)
    return invalid(error, "--ranks needs --trainer ddp");
  if (together && !hl_options_given(o, HL_OPTION_RANKS))
    return invalid(error, "--trainer ddp needs --ranks N: so many processes");
  if (s->checkpoint_steps && !s->checkpoint)
    return invalid(error, "--checkpoint-steps needs --checkpoint FILE");
  bool decays = s->schedule == HL_SCHEDULE_EXPONENTIAL || s->schedule == HL_SCHEDULE_PLATEAU;
  if (hl_options_given(o, HL_OPTION_DECAY) && !decays)
    return invalid(error, "--decay is of --schedule exponential and plateau");
  if (hl_options_given(o, HL_OPTION_PATIENCE) && s->schedule != HL_SCHEDULE_PLATEAU)
    return invalid(error, "--patience is of --schedule plateau; to end early give --early-stop");
  return HL_OK;
}

hl_status hl_train_spec_read(const hl_options *options, hl_arena *arena, hl_train_spec **ret_spec,
                             hl_error *error) {
  enum { epochs_if_nothing_is_said = 3 };
  hl_train_spec *s = hl_arena_array(arena, 1, sizeof *s);
  if (!s) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  *s = (hl_train_spec){.ranks = 1};
  hl_status status = read_words(options, s, error);
  if (status == HL_OK) status = read_resume(options, s, error);
  if (status == HL_OK) status = read_numbers(options, s, error);
  if (!hl_options_given(options, HL_OPTION_MAX_TIME)) s->max_time_s = 0; /* not a sweep's default */
  if (status == HL_OK && s->schedule == HL_SCHEDULE_EXPONENTIAL &&
      !hl_options_given(options, HL_OPTION_DECAY))
    s->decay = 0.995;
  if (status == HL_OK) status = check(options, s, error);
  if (status != HL_OK) return status;
  if (!s->epochs && !s->steps) s->epochs = epochs_if_nothing_is_said;
  *ret_spec = s;
  return HL_OK;
}

hl_status hl_train_ranks_read(const hl_options *options, hl_arena *arena, hl_train_spec *spec,
                              const hl_train_spec ***ret_specs, size_t *ret_count,
                              hl_error *error) {
  const char *text = hl_options_get(options, HL_OPTION_RANKS);
  size_t most = 1, count = 0;
  for (const char *at = text; at && *at; at++) most += *at == ',';
  const hl_train_spec **specs = hl_arena_array(arena, most, sizeof *specs);
  hl_train_spec *copies = hl_arena_array(arena, most, sizeof *copies);
  if (!specs || !copies) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  for (const char *at = text; at;) {
    char word[24];
    size_t length = strcspn(at, ",");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
    hl_train_spec *copy = &copies[count];
    *copy = *spec;
    hl_status status = hl_parse_int(word, 1, HL_TRAIN_RANKS_LIMIT, "--ranks", &copy->ranks, error);
    if (status != HL_OK) return status;
    bool seen = false; /* "2,02" */
    for (size_t i = 0; i < count; i++) seen = seen || specs[i]->ranks == copy->ranks;
    if (!seen) specs[count++] = copy;
    at = at[length] ? at + length + 1 : NULL;
  }
  if (count == 0) specs[count++] = spec;
  *ret_specs = specs;
  *ret_count = count;
  return HL_OK;
}

static void option_real(hl_text *out, hl_option_id id, double value) {
  char text[32];
  hl_json_format_real(value, text);
  hl_text_format(out, " --%s %s", hl_option_name(id), text);
}

static void option_text(hl_text *out, hl_option_id id, const char *text) {
  if (!text) return;
  hl_text_format(out, " --%s ", hl_option_name(id));
  hl_shell_quote(out, text);
}

/* Whether an option says anything of this run: the others would be refused. */
static bool is_told(const hl_train_spec *s, hl_option_id id) {
  bool sgd = s->optimizer == HL_OPTIMIZER_SGD;
  bool exponential = s->schedule == HL_SCHEDULE_EXPONENTIAL;
  if (id == HL_OPTION_BETA1 || id == HL_OPTION_BETA2 || id == HL_OPTION_EPSILON) return !sgd;
  if (id == HL_OPTION_DECAY) return exponential || s->schedule == HL_SCHEDULE_PLATEAU;
  return id != HL_OPTION_PATIENCE || s->schedule == HL_SCHEDULE_PLATEAU;
}

void hl_train_spec_options(const hl_train_spec *spec, hl_text *out) {
  const hl_train_spec *s = spec;
  if (strcmp(s->trainer, "cpu") != 0) hl_text_format(out, " --trainer %s", s->trainer);
  if (!s->loss_is_auto) hl_text_format(out, " --loss %s", hl_train_loss_name(s));
  hl_text_format(out, " --optimizer %s", hl_optimizer_name(s->optimizer));
  if (s->schedule != HL_SCHEDULE_CONSTANT)
    hl_text_format(out, " --schedule %s", hl_schedule_name(s->schedule));
  for (size_t i = 0; i < HL_COUNT(ints); i++) {
    int64_t value = *(const int64_t *)(const void *)((const char *)s + ints[i].field);
    if (is_told(s, ints[i].id) && value != ints[i].otherwise)
      hl_text_format(out, " --%s %" PRId64, hl_option_name(ints[i].id), value);
  }
  for (size_t i = 0; i < HL_COUNT(reals); i++) {
    double value = *(const double *)(const void *)((const char *)s + reals[i].field);
    bool always = reals[i].id == HL_OPTION_LEARNING_RATE;
    if (is_told(s, reals[i].id) && (always || value != reals[i].otherwise))
      option_real(out, reals[i].id, value);
  }
  if (strcmp(s->trainer, "ddp") == 0)
    hl_text_format(out, " --%s %" PRId64, hl_option_name(HL_OPTION_RANKS), s->ranks);
  if (s->nesterov) hl_text_append(out, " --nesterov");
  if (s->recompute) hl_text_append(out, " --recompute");
  if (s->drop_last) hl_text_append(out, " --drop-last");
  option_text(out, HL_OPTION_TRANSFORM, s->transform);
  option_text(out, HL_OPTION_CHECKPOINT, s->checkpoint);
  option_text(out, HL_OPTION_RESUME_FROM, s->resume_from);
}

void hl_train_spec_memory_options(const hl_train_spec *spec, hl_text *out) {
  if (!spec->loss_is_auto) hl_text_format(out, " --loss %s", hl_train_loss_name(spec));
  hl_text_format(out, " --optimizer %s", hl_optimizer_name(spec->optimizer));
  if (spec->clip_norm > 0) option_real(out, HL_OPTION_CLIP_NORM, spec->clip_norm);
  if (spec->accumulate > 1)
    hl_text_format(out, " --%s %" PRId64, hl_option_name(HL_OPTION_ACCUMULATE), spec->accumulate);
  if (spec->recompute) hl_text_append(out, " --recompute");
}
