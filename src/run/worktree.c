#include "run/worktree.h"

#include "base/file.h"
#include "base/text.h"
#include "run/git.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name_of_lock[] = "lock";

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a worktree");
}

/* A directory without permissions, as module caches of builds have, is given them. */
static int open_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)where;
  if ((kind == FTW_D || kind == FTW_DNR) && (st->st_mode & S_IRWXU) != S_IRWXU)
    chmod(path, S_IRWXU);
  return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)st;
  (void)kind;
  (void)where;
  remove(path); /* what stays is seen at the end */
  return 0;
}

void hl_worktree_remove_tree(const char *path) {
  nftw(path, open_entry, 16, FTW_PHYS);
  nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The repository that a stale worktree belongs to; free() it, NULL if there is none any more. */
static char *repository_of(const char *root) {
  const char *const find[] = {"-C", root, "rev-parse", "--path-format=absolute", "--git-common-dir",
                              NULL};
  hl_execution e;
  if (hl_git_run(NULL, find, -1, &e, NULL) != HL_OK) return NULL;
  e.output[strcspn(e.output, "\n")] = '\0';
  return hl_strdup(e.output);
}

/* From the disk and from git's list; `git_directory` NULL: of whatever repository. */
static void remove_worktree(const char *git_directory, const char *root) {
  const char *const forget[] = {"worktree", "remove", "--force", "--force", root, NULL};
  hl_execution e;
  HL_CLEANUP(hl_free_pointer)
  char *repository = git_directory ? hl_strdup(git_directory) : repository_of(root);
  if (repository && hl_git_run(repository, forget, -1, &e, NULL) == HL_OK) return;
  hl_worktree_remove_tree(root); /* what git could not remove; then it can forget it */
  if (repository) hl_git_run(repository, forget, -1, &e, NULL);
}

/* All worktrees in the place of a process, and the place. */
static void remove_place(const char *git_directory, const char *place) {
  DIR *directory = opendir(place);
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, name_of_lock) == 0) continue;
    HL_CLEANUP(hl_free_pointer) char *root = hl_format("%s/%s", place, entry->d_name);
    if (root) remove_worktree(git_directory, root);
  }
  if (directory) closedir(directory);
  hl_worktree_remove_tree(place);
}

/* Opens and locks a file; -1 with errno. */
static int lock_file(const char *folder, int how) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", folder, name_of_lock);
  int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
  if (fd < 0 || flock(fd, how) == 0) return fd;
  int failure = errno;
  close(fd);
  errno = failure;
  return -1;
}

/* The lock over all places and over git's list of worktrees, which git itself does not lock; until
 * another process gives it back. */
static hl_status lock_all(const char *all, int wake_fd, int *ret_fd, hl_error *error) {
  for (;;) {
    *ret_fd = lock_file(all, LOCK_EX | LOCK_NB);
    if (*ret_fd >= 0) return HL_OK;
    if (errno != EWOULDBLOCK && errno != EINTR)
      return hl_error_errno(error, HL_IO, "cannot lock '%.300s/lock'", all);
    struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
    if (poll(&wake, 1, 10) > 0) return hl_error_set(error, HL_INTERRUPTED, "interrupted");
  }
}

/* Places whose processes have gone: nobody holds their locks. */
static void remove_stale(const char *all) {
  DIR *directory = opendir(all);
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    if (strncmp(entry->d_name, "run-", 4) != 0) continue;
    HL_CLEANUP(hl_free_pointer) char *place = hl_format("%s/%s", all, entry->d_name);
    int fd = place ? lock_file(place, LOCK_EX | LOCK_NB) : -1;
    if (fd < 0) continue;
    remove_place(NULL, place);
    close(fd);
  }
  if (directory) closedir(directory);
}

/* A place of this process, locked, with the lock over all held meanwhile. */
static hl_status make_place(hl_worktrees *w, hl_error *error) {
  const char *all = w->all;
  int all_fd = -1;
  hl_status status = hl_directory_make(all, error);
  if (status == HL_OK) status = lock_all(all, w->wake_fd, &all_fd, error);
  if (status != HL_OK) return status;
  remove_stale(all);
  w->place = hl_format("%s/run-XXXXXX", all);
  if (!w->place)
    status = no_memory(error);
  else if (!mkdtemp(w->place))
    status = hl_error_errno(error, HL_IO, "cannot make a directory in '%.300s'", all);
  else if ((w->lock_fd = lock_file(w->place, LOCK_EX | LOCK_NB)) < 0)
    status = hl_error_errno(error, HL_IO, "cannot lock '%.300s'", w->place);
  close(all_fd);
  return status;
}

static void release_tree(hl_worktree *tree) {
  free(tree->commit);
  free(tree->root);
  free(tree->directory);
  *tree = (hl_worktree){0};
}

static void release(hl_worktrees *w) {
  for (size_t i = 0; i < w->count; i++) release_tree(&w->items[i]);
  if (w->lock_fd >= 0) close(w->lock_fd);
  free(w->all);
  free(w->place);
  free(w->head);
  hl_repository_release(&w->repository);
  *w = (hl_worktrees){.lock_fd = -1};
}

hl_status hl_worktrees_open(hl_worktrees *worktrees, const char *cache_directory, int wake_fd,
                            hl_error *error) {
  hl_worktrees w = {.lock_fd = -1, .wake_fd = wake_fd};
  hl_status status = hl_repository_find(wake_fd, &w.repository, error);
  if (status != HL_OK) return status;
  if (!cache_directory)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "no place for commits: set XDG_CACHE_HOME or HOME");
  if (status == HL_OK) w.all = hl_format("%s/worktrees", cache_directory);
  if (status == HL_OK && !w.all) status = no_memory(error);
  if (status == HL_OK) status = make_place(&w, error);
  if (status == HL_OK) {
    w.head = hl_git_commit();
    *worktrees = w;
  } else {
    release(&w);
  }
  return status;
}

static hl_status check_out(hl_worktrees *w, const char *reference, hl_worktree *tree,
                           hl_error *error) {
  tree->root = hl_format("%s/hotlap-%.12s", w->place, tree->commit);
  if (!tree->root) return no_memory(error);
  const char *const words[] = {"worktree", "add",      "--detach",   "--force",
                               "--quiet",  tree->root, tree->commit, NULL};
  hl_execution e;
  int all_fd = -1;
  hl_status status = lock_all(w->all, w->wake_fd, &all_fd, error);
  if (status != HL_OK) return status;
  status = hl_git_run(w->repository.git_directory, words, w->wake_fd, &e, error);
  close(all_fd);
  if (status != HL_OK) return status;
  tree->directory = hl_format("%s/%s", tree->root, w->repository.prefix);
  if (!tree->directory) return no_memory(error);
  if (access(tree->directory, X_OK) == 0) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "git:%.200s has no directory '%.200s'", reference,
                      w->repository.prefix);
}

hl_status hl_worktrees_add(hl_worktrees *w, const char *reference, size_t *ret_index,
                           hl_error *error) {
  bool here = strcmp(reference, HL_WORKTREE_HERE) == 0;
  hl_worktree tree = {0};
  hl_status status = HL_OK;
  if (!here) status = hl_repository_commit(reference, w->wake_fd, &tree.commit, error);
  if (status != HL_OK) return status;
  size_t free_place = w->count;
  for (size_t i = w->count; i-- > 0;)
    if (w->items[i].gone)
      free_place = i;
    else if (here == !w->items[i].root && (here || hl_text_same(w->items[i].commit, tree.commit))) {
      free(tree.commit);
      *ret_index = i;
      return HL_OK;
    }
  if (free_place == HL_WORKTREES) {
    free(tree.commit);
    return hl_error_set(error, HL_LIMIT, "more than %d commits", HL_WORKTREES);
  }
  hl_worktree *to = &w->items[free_place];
  *to = tree;
  w->count += free_place == w->count;
  *ret_index = free_place; /* also where it fails: what there is of it is to be removed */
  if (!here) return check_out(w, reference, to, error);
  to->commit = hl_strdup(w->head); /* NULL in a repository without commits */
  return HL_OK;
}

hl_status hl_worktrees_build(hl_worktrees *w, size_t index, const char *text, bool verbose,
                             char **ret_said, hl_error *error) {
  hl_worktree *tree = &w->items[index];
  if (tree->built) return HL_OK;
  hl_command command;
  hl_status status = hl_command_init(&command, text, error);
  if (status != HL_OK) return status;
  const hl_command_place place = {.directory = tree->directory,
                                  .wake_fd = w->wake_fd,
                                  .timeout_s = w->build_timeout_s,
                                  .output = HL_OUTPUT_SAID,
                                  .verbose = verbose,
                                  .without_git = tree->root != NULL};
  hl_execution e = {0};
  hl_error inner = {0};
  status = hl_command_execute(&command, &place, &e, &inner);
  if (status == HL_OK) status = hl_execution_check(&command, &e, &inner);
  if (status == HL_UNAVAILABLE || status == HL_TIMED_OUT) *ret_said = hl_strdup(e.said);
  if (status != HL_OK)
    hl_error_set(error, status, "%s%s", inner.msg,
                 status == HL_TIMED_OUT ? "; --build-timeout allows more" : "");
  hl_command_release(&command);
  tree->built = status == HL_OK;
  return status;
}

static bool has_submodules(const hl_worktree *tree) {
  HL_CLEANUP(hl_free_pointer)
  char *file = tree->root ? hl_format("%s/.gitmodules", tree->root) : NULL;
  return file && access(file, F_OK) == 0;
}

/* HEAD while the working tree has changes that it lacks. */
static bool lacks_changes(const hl_worktrees *w, const hl_worktree *tree) {
  size_t length = tree->root ? strlen(tree->commit) : 0;
  return length && w->head && strncmp(w->head, tree->commit, length) == 0 && w->head[length];
}

char *hl_worktrees_remark(const hl_worktrees *w, size_t a, size_t b) {
  hl_text text = HL_TEXT_INIT;
  const hl_worktree *const pair[2] = {&w->items[a], &w->items[b]};
  if (hl_text_same(pair[0]->commit, pair[1]->commit))
    hl_text_append(&text, "both are the same commit");
  for (size_t i = 0; i < (a == b ? 1 : 2); i++) {
    if (lacks_changes(w, pair[i]))
      hl_text_format(&text, "%scommit %.12s lacks changes of the working tree, which is git:.",
                     text.length ? "; " : "", pair[i]->commit);
    if (has_submodules(pair[i]))
      hl_text_format(&text,
                     "%ssubmodules of %.12s are not checked out; --build 'git submodule update "
                     "--init && ...' can do it",
                     text.length ? "; " : "", pair[i]->commit);
  }
  return hl_text_take(&text);
}

void hl_worktrees_drop(hl_worktrees *w, size_t index) {
  hl_worktree *tree = &w->items[index];
  int all_fd = -1;
  if (tree->root) {
    lock_all(w->all, -1, &all_fd, NULL); /* without it, too, it has to go */
    remove_worktree(w->repository.git_directory, tree->root);
    if (all_fd >= 0) close(all_fd);
  }
  release_tree(tree);
  tree->gone = true;
}

hl_status hl_worktrees_close(hl_worktrees *w, hl_error *error) {
  hl_status status = HL_OK;
  if (!w->place) return HL_OK;
  int all_fd = -1;
  lock_all(w->all, -1, &all_fd, NULL); /* without it, too, they have to go */
  remove_place(w->repository.git_directory, w->place);
  if (access(w->place, F_OK) == 0)
    status = hl_error_set(error, HL_IO, "cannot remove '%.300s'", w->place);
  if (all_fd >= 0) close(all_fd);
  release(w);
  return status;
}
