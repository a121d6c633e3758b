#include "cli/run-suite.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

const char *hl_cli_suite_plan(const char *name) {
  static const char *const plans[][2] = {{"im2im/segmentation", "im2im-segmentation"},
                                         {"im2im/labelfree", "im2im-labelfree"},
                                         {"im2im/label_free", "im2im-labelfree"}};
  for (size_t i = 0; i < HL_COUNT(plans); i++)
    if (strcmp(name, plans[i][0]) == 0) return plans[i][1];
  return NULL;
}

/* How a value is written for us. */
typedef enum form { as_it_is, patch_form, precision_form, trainer_form } form;

typedef struct counterpart {
  const char *theirs, *ours;
  form form;
} counterpart;

static const counterpart counterparts[] = {
    {"trainer.max_epochs", "training.epochs", as_it_is},
    {"trainer.max_steps", "training.steps", as_it_is},
    {"trainer.precision", "precision", precision_form},
    {"trainer.gradient_clip_val", "training.clip-norm", as_it_is},
    {"trainer.accumulate_grad_batches", "training.accumulate", as_it_is},
    {"trainer", "training.trainer", trainer_form},
    {"data.path", "test-data", as_it_is},
    {"data.batch_size", "training.batch-sizes", as_it_is},
    {"data.num_workers", "training.loader-threads", as_it_is},
    {"data._aux.patch_shape", "patch", patch_form},
    {"model.optimizer.generator.lr", "training.learning-rate", as_it_is},
    {"model.optimizer.generator.weight_decay", "training.weight-decay", as_it_is},
    {"model.lr_scheduler.generator.gamma", "training.decay", as_it_is},
    {"model.inference_args.sw_batch_size", "inference.batch-sizes", as_it_is},
    {"ckpt_path", "training.resume-from", as_it_is},
};

/* "[16, 32, 32]" as "16x32x32". */
static void write_patch(const char *value, hl_text *out) {
  for (const char *c = value; *c; c++)
    if (*c == ',')
      hl_text_char(out, 'x');
    else if (!strchr("[] ", *c))
      hl_text_char(out, *c);
}

static hl_status write_precision(const char *value, hl_text *out, hl_error *error) {
  static const char *const types[][2] = {{"32", "float32"},          {"32-true", "float32"},
                                         {"16", "float16"},          {"16-mixed", "float16"},
                                         {"16-true", "float16"},     {"bf16", "bfloat16"},
                                         {"bf16-mixed", "bfloat16"}, {"bf16-true", "bfloat16"}};
  for (size_t i = 0; i < HL_COUNT(types); i++)
    if (strcmp(value, types[i][0]) == 0) {
      hl_text_append(out, types[i][1]);
      return HL_OK;
    }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "trainer.precision=%.40s: 32, 16-mixed and bf16-mixed are known", value);
}

static hl_status write_value(const counterpart *c, const char *value, hl_text *out,
                             hl_error *error) {
  if (c->form == precision_form) return write_precision(value, out, error);
  if (c->form == patch_form) {
    write_patch(value, out);
    return HL_OK;
  }
  /* trainer=gpu.yaml is trainer=gpu. */
  size_t length = strlen(value);
  if (c->form == trainer_form && length > 5 && strcmp(value + length - 5, ".yaml") == 0)
    length -= 5;
  hl_text_append_n(out, value, length);
  return HL_OK;
}

static hl_status refuse(const char *word, hl_error *error) {
  hl_text names = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(counterparts); i++)
    hl_text_format(&names, "%s%s", i ? ", " : "", counterparts[i].theirs);
  hl_status status =
      hl_error_set(error, HL_INVALID_ARGUMENT, "'%.60s' has no counterpart here. These have: %s",
                   word, names.data);
  hl_text_release(&names);
  return status;
}

/* A key of Hydra's groups, which no entry of these plans is called. */
static bool is_theirs(const char *key) {
  static const char *const groups[] = {"trainer.", "data.", "model.", "callbacks.", "logger."};
  for (size_t i = 0; i < HL_COUNT(groups); i++)
    if (strncmp(key, groups[i], strlen(groups[i])) == 0) return true;
  return false;
}

static hl_status rewrite(const char **word, hl_arena *arena, hl_error *error) {
  const char *key = *word + strspn(*word, "+"); /* Hydra's mark of a new key */
  size_t length = strcspn(key, "=");
  if (!key[length]) return HL_OK;
  for (size_t i = 0; i < HL_COUNT(counterparts); i++) {
    const counterpart *c = &counterparts[i];
    if (strlen(c->theirs) != length || strncmp(key, c->theirs, length) != 0) continue;
    hl_text text = HL_TEXT_INIT;
    hl_text_format(&text, "%s=", c->ours);
    hl_status status = write_value(c, key + length + 1, &text, error);
    if (status == HL_OK && !(*word = hl_arena_text(arena, text.data)))
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for options");
    hl_text_release(&text);
    return status;
  }
  return is_theirs(key) ? refuse(key, error) : HL_OK;
}

hl_status hl_cli_suite_words(const char **words, size_t count, hl_arena *arena, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) status = rewrite(&words[i], arena, error);
  return status;
}
