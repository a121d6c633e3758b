#include "run/task-places.h"

#include "base/clock.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the branches of tasks");
}

hl_status hl_task_places_open(hl_task_places *places, const char *cache_directory,
                              const char *build, bool verbose, int wake_fd, hl_error *error) {
  hl_task_places p = {.build = build, .verbose = verbose};
  hl_status status = hl_worktrees_open(&p.worktrees, cache_directory, wake_fd, error);
  if (status != HL_OK) return status;
  p.scratch = hl_format("%s/.tasks", p.worktrees.place);
  if (!p.scratch)
    status = no_memory(error);
  else if (mkdir(p.scratch, 0700) != 0)
    status = hl_error_errno(error, HL_IO, "cannot make '%.300s'", p.scratch);
  *places = p;
  if (status != HL_OK) hl_task_places_close(places, NULL);
  return status;
}

/* -- the commit of a branch ------------------------------------------------------------------- */

/* What git's own rules forbid in the name of a branch, but '^', '~' and '@', which name others of
 * its commits. */
static bool is_name(const char *branch) {
  for (const char *c = branch; *c; c++)
    if ((unsigned char)*c <= ' ' || *c == 0x7F || strchr(":?*[\\", *c)) return false;
  return branch[0] && branch[0] != '-' && branch[0] != '/' && !strstr(branch, "..");
}

/* "origin/x" where exactly one remote has a branch x, what is wrong where several have; free()
 * either. */
static hl_status find_remote(const hl_task_places *p, const char *branch, char **ret_reference,
                             char **ret_fault, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *pattern = hl_format("refs/remotes/*/%s", branch);
  if (!pattern) return no_memory(error);
  const char *const words[] = {"for-each-ref", "--count=3", "--format=%(refname:lstrip=2)", pattern,
                               NULL};
  hl_execution e;
  hl_status status =
      hl_git_run(p->worktrees.repository.git_directory, words, p->worktrees.wake_fd, &e, error);
  *ret_reference = NULL;
  if (status == HL_INTERRUPTED) return status;
  size_t length = status == HL_OK ? strcspn(e.output, "\n") : 0;
  const char *second = e.output + length + (length > 0);
  if (length && !*second) {
    *ret_reference = strndup(e.output, length);
    if (!*ret_reference) return no_memory(error);
  } else if (length) {
    *ret_fault = hl_format("branch '%.200s' is on several remotes: %.*s and %.*s; name one of them",
                           branch, (int)length, e.output, (int)strcspn(second, "\n"), second);
    if (!*ret_fault) return no_memory(error);
  }
  return HL_OK;
}

/* Tries a full name of the reference. */
static bool try_reference(const hl_task_places *p, const char *prefix, const char *name,
                          char **ret_commit, hl_status *ret_status) {
  HL_CLEANUP(hl_free_pointer) char *reference = hl_format("%s%s", prefix, name);
  *ret_status = reference ? hl_repository_commit(reference, p->worktrees.wake_fd, ret_commit, NULL)
                          : HL_OUT_OF_MEMORY;
  return *ret_status == HL_OK || *ret_status == HL_INTERRUPTED;
}

/* The branch here, the branch of a remote by its whole name, whatever else git knows by the name,
 * the branch of the only remote that has it. */
static hl_status find_commit(hl_task_places *p, hl_task_place *place, hl_error *error) {
  static const char *const prefixes[] = {"refs/heads/", "refs/remotes/", ""};
  const char *branch = place->branch;
  if (!is_name(branch)) {
    place->fault = hl_format("'%.200s' is no name that a branch can have", branch);
    return place->fault ? HL_OK : no_memory(error);
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(prefixes); i++)
    if (try_reference(p, prefixes[i], branch, &place->commit, &status)) {
      place->reference = hl_strdup(branch);
      return status == HL_OK ? HL_OK : hl_error_set(error, status, "interrupted");
    }
  status = find_remote(p, branch, &place->reference, &place->fault, error);
  if (status == HL_OK && place->reference &&
      try_reference(p, "refs/remotes/", place->reference, &place->commit, &status))
    return status == HL_OK ? HL_OK : hl_error_set(error, status, "interrupted");
  if (status == HL_INTERRUPTED || place->fault) return status;
  if (p->worktrees.head)
    place->fault =
        hl_format("there is no branch '%.200s', here or on one remote alone; 'git fetch' "
                  "gets those that are new, 'git branch -a' lists them",
                  branch);
  else
    place->fault =
        hl_format("there is no branch '%.200s': this repository has no commit yet", branch);
  return place->fault ? HL_OK : no_memory(error);
}

/* The dates of the commit, as it says them. */
static hl_status read_dates(const hl_task_places *p, hl_task_place *place, hl_error *error) {
  const char *const words[] = {
      "show",        "--no-patch", "--no-show-signature", "--format=%cs %cI", "--end-of-options",
      place->commit, NULL};
  hl_execution e;
  hl_status status =
      hl_git_run(p->worktrees.repository.git_directory, words, p->worktrees.wake_fd, &e, error);
  if (status != HL_OK) return status == HL_INTERRUPTED ? status : HL_OK;
  size_t day = strcspn(e.output, " ");
  if (!e.output[day]) return HL_OK;
  place->date = strndup(e.output, day);
  place->time = strndup(e.output + day + 1, strcspn(e.output + day + 1, "\n"));
  return place->date && place->time ? HL_OK : no_memory(error);
}

/* -- what a check-out lacks ------------------------------------------------------------------- */

/* Names of files, one a line, with commas: the first three and how many more. */
static void append_files(hl_text *text, char *lines) {
  size_t count = 0;
  for (char *line = lines, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = '\0';
    if (count++ < 3) hl_text_format(text, "%s%.100s", count > 1 ? ", " : "", line);
  }
  if (count > 3) hl_text_format(text, " and %zu more", count - 3);
}

/* Files of Git LFS that are pointers still. */
static void remark_pointers(const hl_task_place *place, hl_text *text) {
  const char *const words[] = {
      "-C", place->root, "grep", "-lI", "-e", "^version https://git-lfs.github.com/spec/v1$", NULL};
  hl_execution e;
  if (hl_git_run(NULL, words, -1, &e, NULL) != HL_OK || !e.output[0]) return;
  hl_text_format(
      text, "%sfiles of Git LFS are pointers, not what they stand for: ", text->length ? "; " : "");
  append_files(text, e.output);
  hl_text_append(text, " (--build 'git lfs pull && ...' can get them); ");
}

static void remark(const hl_task_places *p, hl_task_place *place) {
  hl_text text = HL_TEXT_INIT;
  size_t length = strlen(place->commit);
  const char *head = p->worktrees.head;
  if (head && strncmp(head, place->commit, length) == 0 && head[length])
    hl_text_append(&text, "the working tree has changes that this commit lacks; ");
  HL_CLEANUP(hl_free_pointer) char *modules = hl_format("%s/.gitmodules", place->root);
  if (modules && access(modules, F_OK) == 0)
    hl_text_append(&text, "submodules are not checked out (--build 'git submodule update --init "
                          "&& ...' can do it); ");
  remark_pointers(place, &text);
  if (text.length) place->remark = strndup(text.data, text.length - 2);
  hl_text_release(&text);
}

void hl_task_place_look(const hl_task_place *place, char **ret_wrong, char **ret_changed) {
  const char *const head[] = {"-C", place->root, "rev-parse", "HEAD", NULL};
  const char *const changed[] = {"-C", place->root, "diff", "--name-only", "HEAD", NULL};
  hl_execution e;
  *ret_wrong = *ret_changed = NULL;
  hl_status status = hl_git_run(NULL, head, -1, &e, NULL);
  size_t length = status == HL_OK ? strcspn(e.output, "\n") : 0;
  if (length != strlen(place->commit) || strncmp(e.output, place->commit, length) != 0)
    *ret_wrong = hl_format("the check-out is no longer at commit %.12s, but at %.*s", place->commit,
                           length ? 12 : 7, length ? e.output : "nothing");
  if (hl_git_run(NULL, changed, -1, &e, NULL) != HL_OK || !e.output[0]) return;
  hl_text text = HL_TEXT_INIT;
  append_files(&text, e.output);
  *ret_changed = hl_text_take(&text);
}

/* -- places ----------------------------------------------------------------------------------- */

/* What another branch with the same commit had. */
static bool share(hl_task_places *p, hl_task_place *place, hl_error *error, hl_status *ret_status) {
  for (size_t i = 0; i < p->count; i++) {
    const hl_task_place *other = p->items[i];
    if (!other->commit || strcmp(other->commit, place->commit) != 0) continue;
    if (other->tree == SIZE_MAX && !other->fault) continue; /* it has gone */
    place->root = other->root;
    place->directory = other->directory;
    place->tree = other->tree;
    place->build_seconds = other->build_seconds;
    place->fault = hl_strdup(other->fault);
    place->said = hl_strdup(other->said);
    place->remark = hl_strdup(other->remark);
    *ret_status = other->fault && !place->fault ? no_memory(error) : HL_OK;
    return true;
  }
  return false;
}

static hl_status build(hl_task_places *p, hl_task_place *place, hl_error *error) {
  hl_error inner = {0};
  uint64_t start = hl_clock_ns();
  if (!p->build) return HL_OK;
  hl_status status =
      hl_worktrees_build(&p->worktrees, place->tree, p->build, p->verbose, &place->said, &inner);
  place->build_seconds = (double)(hl_clock_ns() - start) / 1e9;
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "%s", inner.msg);
  if (status == HL_OK) return HL_OK;
  place->fault = hl_format("--build: %s", inner.msg);
  return place->fault ? HL_OK : no_memory(error);
}

static hl_status prepare(hl_task_places *p, hl_task_place *place, hl_error *error) {
  hl_error inner = {0};
  hl_status status = find_commit(p, place, error);
  if (status != HL_OK || place->fault) return status;
  status = read_dates(p, place, error);
  if (status != HL_OK || share(p, place, error, &status)) return status;
  size_t tree = SIZE_MAX;
  status = hl_worktrees_add(&p->worktrees, place->commit, &tree, &inner);
  if (status != HL_OK) {
    if (tree != SIZE_MAX) hl_worktrees_drop(&p->worktrees, tree);
    if (status == HL_INTERRUPTED) return hl_error_set(error, status, "%s", inner.msg);
    place->fault = hl_format("cannot check out: %s", inner.msg);
    return place->fault ? HL_OK : no_memory(error);
  }
  place->tree = tree;
  place->root = p->worktrees.items[tree].root;
  place->directory = p->worktrees.items[tree].directory;
  remark(p, place);
  return build(p, place, error);
}

static void free_place(hl_task_place *place) {
  if (!place) return;
  char *const owned[] = {place->branch, place->reference, place->commit, place->date,
                         place->time,   place->fault,     place->said,   place->remark};
  for (size_t i = 0; i < HL_COUNT(owned); i++) free(owned[i]);
  free(place);
}

hl_status hl_task_places_get(hl_task_places *p, const char *branch, const hl_task_place **ret_place,
                             hl_error *error) {
  for (size_t i = p->count; i-- > 0;)
    if (strcmp(p->items[i]->branch, branch) == 0) {
      *ret_place = p->items[i];
      return HL_OK;
    }
  if (p->count == p->capacity) {
    size_t capacity = p->capacity ? 2 * p->capacity : 16;
    hl_task_place **grown = realloc(p->items, capacity * sizeof(hl_task_place *));
    if (!grown) return no_memory(error);
    p->items = grown;
    p->capacity = capacity;
  }
  hl_task_place *place = calloc(1, sizeof *place);
  if (place) *place = (hl_task_place){.tree = SIZE_MAX, .build_seconds = (double)NAN};
  if (!place || !(place->branch = hl_strdup(branch))) {
    free_place(place);
    return no_memory(error);
  }
  hl_status status = prepare(p, place, error);
  if (status != HL_OK) {
    free_place(place);
    return status;
  }
  p->items[p->count++] = place;
  *ret_place = place;
  return HL_OK;
}

void hl_task_places_done(hl_task_places *p, const char *branch) {
  size_t at = 0;
  while (at < p->count && strcmp(p->items[at]->branch, branch) != 0) at++;
  if (at == p->count) return;
  size_t tree = p->items[at]->tree;
  free_place(p->items[at]);
  p->items[at] = p->items[--p->count];
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i]->tree == tree) return;
  if (tree != SIZE_MAX) hl_worktrees_drop(&p->worktrees, tree);
}

hl_status hl_task_places_close(hl_task_places *p, hl_error *error) {
  for (size_t i = 0; i < p->count; i++) free_place(p->items[i]);
  free(p->items);
  free(p->scratch);
  hl_status status = hl_worktrees_close(&p->worktrees, error);
  *p = (hl_task_places){0};
  return status;
}
