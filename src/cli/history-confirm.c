#include "base/clock.h"
#include "cli/history.h"
#include "cli/interrupt.h"
#include "plan/configuration.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RERUNS = 5, ANSWER_BYTES = 1 << 20 };

/* A change that is to be measured again. */
typedef struct candidate {
  const hl_history_series *series;
  const hl_history_change *change;
} candidate;

typedef struct confirmation {
  const hl_options *options;
  const hl_report_history *report;
  hl_store *store;
  double alpha; /* of each rerun */
  int wake_fd;
} confirmation;

/* ---- which ---- */

static const char *time_of(const candidate *c) {
  const char *time = c->series->points[c->change->at].time;
  return time ? time : "";
}

static int newest_first(const void *a, const void *b) {
  return strcmp(time_of(b), time_of(a));
}

static bool is_wanted(const hl_report_history *r, const hl_history_series *s,
                      const hl_history_change *change) {
  bool open = change->state == HL_CHANGE_CANDIDATE || change->state == HL_CHANGE_INCONCLUSIVE;
  bool here = s->machine_id && strcmp(s->machine_id, r->machine_id) == 0;
  return open && here && change->worse && !change->obstacle;
}

/* The candidates, the newest first; free() them. */
static candidate *find_candidates(const hl_report_history *r, size_t *ret_count) {
  size_t all = 0, count = 0;
  for (size_t i = 0; i < r->history->count; i++) all += r->history->items[i].change_count;
  candidate *found = calloc(all + 1, sizeof *found);
  for (size_t i = 0; found && i < r->history->count; i++)
    for (size_t k = 0; k < r->history->items[i].change_count; k++) {
      const hl_history_series *s = &r->history->items[i];
      if (is_wanted(r, s, &s->changes[k])) found[count++] = (candidate){s, &s->changes[k]};
    }
  if (found) qsort(found, count, sizeof *found, newest_first);
  *ret_count = count;
  return found;
}

/* ---- the rerun ---- */

static hl_status start(char *const argv[], pid_t *ret_pid, int *ret_fd, hl_error *error) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return hl_error_errno(error, HL_IO, "no pipe for a rerun");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  int failed = posix_spawn(ret_pid, "/proc/self/exe", &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  *ret_fd = fds[0];
  if (!failed) return HL_OK;
  close(fds[0]);
  errno = failed;
  return hl_error_errno(error, HL_INTERNAL, "cannot start hotlap compare");
}

/* Its standard output up to its end. A signal goes on to it, since it has things to clean up. */
static hl_status read_answer(pid_t pid, int fd, int wake_fd, hl_text *answer, bool *ret_interrupted,
                             hl_error *error) {
  struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
  char part[4096];
  for (;;) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR)
      return hl_error_errno(error, HL_IO, "cannot wait for a rerun");
    if (fds[1].revents && !*ret_interrupted) {
      *ret_interrupted = true;
      fds[1].fd = -1; /* the byte stays: reruns that follow are not begun */
      kill(pid, SIGTERM);
    }
    if (!fds[0].revents) continue;
    ssize_t n = read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return HL_OK;
    if (answer->length < ANSWER_BYTES) hl_text_append_n(answer, part, (size_t)n);
  }
}

static hl_status run_child(char *const argv[], int wake_fd, hl_text *answer, hl_error *error) {
  pid_t pid = 0;
  int fd = -1, state = 0;
  bool interrupted = false;
  hl_status status = start(argv, &pid, &fd, error);
  if (status != HL_OK) return status;
  status = read_answer(pid, fd, wake_fd, answer, &interrupted, error);
  close(fd);
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (interrupted || (WIFEXITED(state) && WEXITSTATUS(state) == HL_EXIT_INTERRUPTED))
    return hl_error_set(error, HL_INTERRUPTED, "interrupted");
  if (status == HL_OK && !(WIFEXITED(state) && WEXITSTATUS(state) == HL_EXIT_OK))
    return hl_error_set(error, HL_UNAVAILABLE, "hotlap compare ended with status %d",
                        WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
  return status;
}

static double real_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Of the JSON that `hotlap compare` wrote. `root` has to outlive the check. */
static hl_status read_verdict(const json_t *root, hl_change_check *check, hl_error *error) {
  const json_t *ci = json_object_get(root, "ci"), *pairs = json_object_get(root, "pairs");
  check->verdict = json_string_value(json_object_get(root, "verdict"));
  if (!check->verdict)
    return hl_error_set(error, HL_UNAVAILABLE, "no pair of the rerun counts, so it has no verdict");
  check->ratio = real_of(root, "ratio");
  check->ci = (hl_pair){(double)NAN, (double)NAN};
  if (json_array_size(ci) == 2)
    check->ci = (hl_pair){json_number_value(json_array_get(ci, 0)),
                          json_number_value(json_array_get(ci, 1))};
  check->pairs = json_is_integer(pairs) ? json_integer_value(pairs) : HL_INT_NULL;
  return HL_OK;
}

static hl_status keep_verdict(const confirmation *c, const candidate *of, const hl_text *answer,
                              hl_error *error) {
  json_error_t at;
  json_t *root = json_loadb(answer->data, answer->length, 0, &at);
  if (!root)
    return hl_error_set(error, HL_BAD_DATA, "hotlap compare did not answer in JSON: %s", at.text);
  char now[32];
  hl_clock_utc(now, sizeof now);
  hl_text command = HL_TEXT_INIT;
  hl_report_history_command(c->report, of->series, of->change, &command);
  hl_text_format(&command, " --alpha %.4g", c->alpha);
  hl_change_check check = {.machine_id = of->series->machine_id,
                           .configuration = of->series->name,
                           .metric = c->report->history->metric->key,
                           .before = of->series->points[of->change->at - 1].commit,
                           .after = of->series->points[of->change->at].commit,
                           .checked = now,
                           .command = command.data};
  hl_status status = read_verdict(root, &check, error);
  if (status == HL_OK) status = hl_store_change_check_add(c->store, &check, error);
  hl_text_release(&command);
  json_decref(root);
  return status;
}

static const hl_option_id passed_on[] = {
    HL_OPTION_BUILD,     HL_OPTION_BUILD_TIMEOUT, HL_OPTION_COMMAND, HL_OPTION_PREPARE,
    HL_OPTION_PROCESSES, HL_OPTION_PAIRS,         HL_OPTION_MARGIN,  HL_OPTION_MAX_TIME,
    HL_OPTION_NO_CHECK,  HL_OPTION_FORCE,         HL_OPTION_VERBOSE, HL_OPTION_QUIET};

static bool is_switch(hl_option_id id) {
  return id == HL_OPTION_NO_CHECK || id == HL_OPTION_FORCE || id == HL_OPTION_VERBOSE ||
         id == HL_OPTION_QUIET;
}

char **hl__history_compare_words(const hl_options *options) {
  char **words = calloc(HL_COUNT(passed_on) + 1, sizeof *words);
  size_t count = 0;
  for (size_t i = 0; words && i < HL_COUNT(passed_on); i++) {
    hl_option_id id = passed_on[i];
    if (!hl_options_given(options, id)) continue;
    words[count] = is_switch(id) ? hl_format("--%s", hl_option_name(id))
                                 : hl_format("--%s=%s", hl_option_name(id), options->value[id]);
    if (words[count++]) continue;
    while (count > 0) free(words[--count]);
    free(words);
    return NULL;
  }
  return words;
}

char *hl__history_compare_arguments(const hl_options *options) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(passed_on); i++) {
    hl_option_id id = passed_on[i];
    if (!hl_options_given(options, id) || id == HL_OPTION_VERBOSE || id == HL_OPTION_QUIET)
      continue;
    hl_text_format(&text, "%s--%s", text.length ? " " : "", hl_option_name(id));
    if (is_switch(id)) continue;
    hl_text_char(&text, ' ');
    hl_shell_quote(&text, options->value[id]);
  }
  return hl_text_take(&text);
}

static hl_status rerun(const confirmation *c, const candidate *of, hl_error *error) {
  hl_text sides[2] = {HL_TEXT_INIT, HL_TEXT_INIT}, answer = HL_TEXT_INIT;
  char alpha[32];
  char **words = hl__history_compare_words(c->options);
  if (!words) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a rerun");
  snprintf(alpha, sizeof alpha, "--alpha=%.9g", c->alpha);
  for (size_t i = 0; i < 2; i++)
    hl_report_history_side(c->report, of->series, &of->series->points[of->change->at - 1 + i],
                           &sides[i]);
  const char *argv[6 + HL_COUNT(passed_on) + 1] = {"hotlap",      "compare", sides[0].data,
                                                   sides[1].data, alpha,     "--json"};
  for (size_t i = 0; words[i]; i++) argv[6 + i] = words[i];
  hl_status status = run_child((char *const *)(uintptr_t)argv, c->wake_fd, &answer, error);
  if (status == HL_OK && answer.failed)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an answer");
  if (status == HL_OK) status = keep_verdict(c, of, &answer, error);
  for (size_t i = 0; words[i]; i++) free(words[i]);
  free(words);
  for (size_t i = 0; i < 2; i++) hl_text_release(&sides[i]);
  hl_text_release(&answer);
  return status;
}

/* ---- all of them ---- */

static void announce(const confirmation *c, const candidate *of, size_t number, size_t count) {
  if (hl_options_on(c->options, HL_OPTION_QUIET)) return;
  hl_text command = HL_TEXT_INIT;
  hl_text_format(&command, "Rerun %zu of %zu: ", number, count);
  hl_report_history_command(c->report, of->series, of->change, &command);
  hl_text_char(&command, '\n');
  hl_cli_show(&command, stderr);
  hl_text_release(&command);
}

hl_status hl__history_confirm(const hl_options *options, const hl_report_history *report,
                              hl_store *store, size_t *ret_failed, hl_error *error) {
  size_t count = 0;
  candidate *candidates = find_candidates(report, &count);
  if (!candidates) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for candidates");
  size_t made = count < RERUNS ? count : RERUNS;
  confirmation c = {.options = options, .report = report, .store = store};
  hl_status status = hl_options_real(options, HL_OPTION_ALPHA, 1e-6, 0.5, 0.05, &c.alpha, error);
  if (made) {
    c.alpha /= (double)made; /* Bonferroni: what is confirmed trips gates */
    c.wake_fd = hl_interrupt_catch();
  }
  for (size_t i = 0; i < made && status == HL_OK; i++) {
    hl_error inner = {0};
    announce(&c, &candidates[i], i + 1, made);
    status = rerun(&c, &candidates[i], &inner);
    if (status == HL_UNAVAILABLE) { /* this one; others may go */
      hl_error_prefix(&inner, "no rerun");
      hl_cli_fail(&inner, 0);
      ++*ret_failed;
      status = HL_OK;
    } else if (status != HL_OK) {
      hl_error_set(error, status, "%s", inner.msg);
    }
  }
  if (status == HL_OK && count > made)
    fprintf(stderr, "hotlap: %zu older candidates are left; --confirm again goes on with them\n",
            count - made);
  free(candidates);
  return status;
}
