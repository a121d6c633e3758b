#include "protocol/train-message.h"

#include "base/training-names.h"
#include "protocol/channel.h"
#include <stddef.h>
#include <string.h>

/* Numbers by name: low and high are what a worker takes. */
static const struct {
  const char *name;
  size_t field;
  int64_t low, high;
} ints[] = {
    {"epochs", offsetof(hl_train_spec, epochs), 0, HL_TRAIN_STEPS_LIMIT},
    {"steps", offsetof(hl_train_spec, steps), 0, HL_TRAIN_STEPS_LIMIT},
    {"ranks", offsetof(hl_train_spec, ranks), 1, HL_TRAIN_RANKS_LIMIT},
    {"loader_threads", offsetof(hl_train_spec, loader_threads), 0, HL_TRAIN_LOADERS_LIMIT},
    {"accumulate", offsetof(hl_train_spec, accumulate), 1, 1000000},
    {"patience", offsetof(hl_train_spec, patience), 0, HL_TRAIN_STEPS_LIMIT},
    {"warmup_steps", offsetof(hl_train_spec, warmup_steps), 0, HL_TRAIN_STEPS_LIMIT},
    {"early_stop", offsetof(hl_train_spec, early_stop), 0, HL_TRAIN_STEPS_LIMIT},
    {"checkpoint_steps", offsetof(hl_train_spec, checkpoint_steps), 0, HL_TRAIN_STEPS_LIMIT},
};

static const struct {
  const char *name;
  size_t field;
} reals[] = {
    {"max_time_s", offsetof(hl_train_spec, max_time_s)},
    {"learning_rate", offsetof(hl_train_spec, learning_rate)},
    {"momentum", offsetof(hl_train_spec, momentum)},
    {"weight_decay", offsetof(hl_train_spec, weight_decay)},
    {"beta1", offsetof(hl_train_spec, beta1)},
    {"beta2", offsetof(hl_train_spec, beta2)},
    {"epsilon", offsetof(hl_train_spec, epsilon)},
    {"clip_norm", offsetof(hl_train_spec, clip_norm)},
    {"decay", offsetof(hl_train_spec, decay)},
    {"min_learning_rate", offsetof(hl_train_spec, min_learning_rate)},
};

json_t *hl_train_message(const hl_train_spec *spec) {
  const char *base = (const char *)spec;
  json_t *object = json_object();
  if (!object) return NULL;
  for (size_t i = 0; i < HL_COUNT(ints); i++)
    hl_json_set_int(object, ints[i].name,
                    (uint64_t) * (const int64_t *)(const void *)(base + ints[i].field));
  for (size_t i = 0; i < HL_COUNT(reals); i++)
    hl_json_set_real(object, reals[i].name, *(const double *)(const void *)(base + reals[i].field));
  hl_json_set_text(object, "trainer", spec->trainer);
  hl_json_set_text(object, "loss", hl_train_loss_name(spec));
  hl_json_set_text(object, "optimizer", hl_optimizer_name(spec->optimizer));
  hl_json_set_text(object, "schedule", hl_schedule_name(spec->schedule));
  hl_json_set_bool(object, "nesterov", spec->nesterov);
  hl_json_set_bool(object, "recompute", spec->recompute);
  hl_json_set_bool(object, "drop_last", spec->drop_last);
  hl_json_set_text(object, "transform", spec->transform);
  hl_json_set_text(object, "checkpoint", spec->checkpoint);
  hl_json_set_text(object, "resume_from", spec->resume_from);
  return object;
}

static hl_status bad(hl_error *error, const char *name) {
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "configure: 'train.%s' is missing or out of range", name);
}

static hl_status read_numbers(const json_t *object, hl_train_spec *spec, hl_error *error) {
  char *base = (char *)spec;
  for (size_t i = 0; i < HL_COUNT(ints); i++) {
    int64_t value = hl_json_get_int(object, ints[i].name, INT64_MIN);
    if (value < ints[i].low || value > ints[i].high) return bad(error, ints[i].name);
    *(int64_t *)(void *)(base + ints[i].field) = value;
  }
  for (size_t i = 0; i < HL_COUNT(reals); i++) {
    double value = hl_json_get_real(object, reals[i].name, -1);
    if (!(value >= 0)) return bad(error, reals[i].name);
    *(double *)(void *)(base + reals[i].field) = value;
  }
  if (spec->epochs == 0 && spec->steps == 0) return bad(error, "epochs");
  return HL_OK;
}

hl_status hl_train_message_read(const json_t *object, hl_arena *arena,
                                const hl_train_spec **ret_spec, hl_error *error) {
  hl_train_spec *spec = hl_arena_array(arena, 1, sizeof *spec);
  if (!spec) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a training run");
  const char *loss = hl_json_get_text(object, "loss", "");
  *spec = (hl_train_spec){.trainer = hl_json_get_text(object, "trainer", "cpu"),
                          .nesterov = hl_json_get_bool(object, "nesterov", false),
                          .recompute = hl_json_get_bool(object, "recompute", false),
                          .drop_last = hl_json_get_bool(object, "drop_last", false),
                          .transform = hl_json_get_text(object, "transform", NULL),
                          .checkpoint = hl_json_get_text(object, "checkpoint", NULL),
                          .resume_from = hl_json_get_text(object, "resume_from", NULL)};
  if (!hl_train_loss_read(loss, spec)) return bad(error, "loss");
  if (!hl_optimizer_from_name(hl_json_get_text(object, "optimizer", ""), &spec->optimizer))
    return bad(error, "optimizer");
  if (!hl_schedule_from_name(hl_json_get_text(object, "schedule", ""), &spec->schedule))
    return bad(error, "schedule");
  hl_status status = read_numbers(object, spec, error);
  if (status == HL_OK) *ret_spec = spec;
  return status;
}
