#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/interrupt.h"
#include "models/models.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(const hl_compare *c, const char *what, const char *text) {
  if (!hl_compare_shows_progress(c)) return;
  hl_text line = HL_TEXT_INIT;
  hl_text_format(&line, "%s %s", what, text);
  fputs("\r\033[K", stderr);
  hl_cli_show(&line, stderr);
  hl_text_release(&line);
}

/* One side's commit, checked out and built. */
static hl_status check_out(hl_compare *c, size_t i, hl_error *error) {
  hl_error inner = {0};
  const char *build = hl_options_get(&c->options, HL_OPTION_BUILD);
  hl_status status = hl_options_real(&c->options, HL_OPTION_BUILD_TIMEOUT, 0.001, 8640000, 0,
                                     &c->worktrees.build_timeout_s, error);
  if (status != HL_OK) return status;
  show(c, "checking out", c->texts[i]);
  status = hl_worktrees_add(&c->worktrees, c->operands[i].reference, &c->tree_of[i], &inner);
  if (status != HL_OK) return hl_error_set(error, status, "%s", inner.msg);
  const hl_worktree *tree = &c->worktrees.items[c->tree_of[i]];
  hl_record_set_text(&c->sides[i].commit, tree->commit);
  if (!build) return HL_OK;
  show(c, "building", c->texts[i]);
  status = hl_worktrees_build(&c->worktrees, c->tree_of[i], build,
                              hl_options_on(&c->options, HL_OPTION_VERBOSE), &c->said, &inner);
  if (status != HL_OK)
    return hl_error_set(error, status, "--build for %.200s: %s", c->texts[i], inner.msg);
  return HL_OK;
}

hl_status hl_compare_check_build(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind == HL_OPERAND_GIT) return HL_OK;
  if (!hl_options_given(&c->options, HL_OPTION_BUILD)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--build is for commits, and no operand is git:REF");
}

hl_status hl_compare_checkout(hl_compare *c, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *cache = NULL;
  size_t first = 0;
  while (first < c->count && c->operands[first].kind != HL_OPERAND_GIT) first++;
  if (first == c->count) return HL_OK;
  hl_cli_cache_directory(&cache, NULL);
  hl_status status = hl_worktrees_open(&c->worktrees, cache, hl_interrupt_catch(), error);
  for (size_t i = first; i < c->count && status == HL_OK; i++)
    if (c->operands[i].kind == HL_OPERAND_GIT) status = check_out(c, i, error);
  show(c, "", "");
  return status;
}

const char *hl_compare_directory(const hl_compare *c, size_t side) {
  return c->operands[side].kind == HL_OPERAND_GIT ? c->worktrees.items[c->tree_of[side]].directory
                                                  : NULL;
}

/* A file by the rule of hl_cli_model, but in that directory. */
static bool is_model_file(const char *directory, const char *name) {
  size_t length = strlen(name);
  if (name[0] == '/' || hl_models_has(name)) return false;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", directory, name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".onnx") == 0) ||
         (path && access(path, F_OK) == 0);
}

hl_status hl_compare_rebase(hl_compare *c, size_t side, hl_error *error) {
  hl_operand *o = &c->operands[side];
  const char *directory = hl_compare_directory(c, side);
  if (!directory) return HL_OK;
  if (is_model_file(directory, o->model)) {
    char *path = hl_format("%s/%s", directory, o->model);
    if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
    free(o->model);
    o->model = path;
  }
  return hl_operand_rebase(o, directory, error);
}

void hl_compare_remark(hl_compare *c) {
  if (c->operands[0].kind != HL_OPERAND_GIT) return;
  for (size_t i = 1; i <= c->comparisons.count; i++) {
    if (c->operands[i].kind != HL_OPERAND_GIT) continue;
    HL_CLEANUP(hl_free_pointer)
    char *remark = hl_worktrees_remark(&c->worktrees, c->tree_of[0], c->tree_of[i]);
    if (remark && remark[0]) hl_comparison_note(&c->comparisons.items[i - 1], "%s", remark);
  }
}
