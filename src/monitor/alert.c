#include "monitor/alert.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct running {
  pid_t pid; /* 0: free */
  uint64_t deadline_ns;
  bool webhook, killed;
} running;

struct hl_alerts {
  char *words[HL_ALERTS_WORDS + 2]; /* and room for the message */
  size_t word_count;
  char *url;
  running all[HL_ALERTS_RUNNING];
};

static hl_status check_url(const char *url, hl_error *error) {
  if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "webhook '%.80s': expected an address with http:// or https://", url);
  if (strlen(url) > HL_ALERTS_URL)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the webhook's address is longer than %d bytes",
                        HL_ALERTS_URL);
  for (const char *c = url; *c; c++)
    if ((unsigned char)*c <= ' ' || *c == 0x7F)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "the webhook's address has a space or control character at %zu",
                          (size_t)(c - url));
  return HL_OK;
}

static hl_status copy(hl_alerts *a, const char *const *command, const char *webhook,
                      hl_error *error) {
  for (size_t i = 0; command && command[i]; i++) {
    if (i == HL_ALERTS_WORDS)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "the alert command has more than %d words",
                          HL_ALERTS_WORDS);
    if (!(a->words[i] = hl_strdup(command[i])))
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for alerts");
    a->word_count = i + 1;
  }
  if (a->word_count > 0 && !a->words[0][0])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the alert command is empty");
  if (!webhook) return HL_OK;
  hl_status status = check_url(webhook, error);
  if (status) return status;
  a->url = hl_strdup(webhook);
  return a->url ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for alerts");
}

hl_status hl_alerts_new(const char *const *command, const char *webhook, hl_alerts **ret_alerts,
                        hl_error *error) {
  hl_alerts *a = calloc(1, sizeof *a);
  if (!a) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for alerts");
  hl_status status = copy(a, command, webhook, error);
  if (status)
    hl_alerts_forget(a);
  else
    *ret_alerts = a;
  return status;
}

void hl_alerts_forget(hl_alerts *a) {
  if (!a) return;
  for (size_t i = 0; i < a->word_count; i++) free(a->words[i]);
  free(a->url);
  free(a);
}

/* A file in memory, so that no pipe can be full or closed. -1 with errno. */
static int file_of(const char *text) {
  int fd = memfd_create("hotlap-alert", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (hl_write_all(fd, text, strlen(text), "an alert", NULL) == HL_OK &&
      lseek(fd, 0, SEEK_SET) == 0)
    return fd;
  close(fd);
  return -1;
}

/* In a group of its own, with signals as a program expects them. 0 or an errno. */
static int spawn(char *const *words, int input, pid_t *ret_pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGTERM);
  sigaddset(&usual, SIGCHLD);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &usual);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  int failed = posix_spawnp(ret_pid, words[0], &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return failed;
}

static running *free_place(hl_alerts *a) {
  for (size_t i = 0; i < HL_ALERTS_RUNNING; i++)
    if (!a->all[i].pid) return &a->all[i];
  return NULL;
}

static void start(hl_alerts *a, char *const *words, const char *input, bool webhook,
                  hl_alert_failed failed, void *context) {
  char what[256];
  running *place = free_place(a);
  if (!place) {
    failed(context, "earlier alerts are still being sent");
    return;
  }
  int fd = file_of(input);
  int number = fd < 0 ? errno : spawn(words, fd, &place->pid);
  if (fd >= 0) close(fd);
  if (number) {
    char reason[96];
    place->pid = 0;
    snprintf(what, sizeof what, "%.100s cannot be run: %s", words[0],
             strerror_r(number, reason, sizeof reason));
    failed(context, what);
    return;
  }
  place->deadline_ns = hl_clock_ns() + HL_ALERTS_LIMIT_S * 1000000000ull;
  place->webhook = webhook;
  place->killed = false;
}

/* A value in the configuration of curl. */
static void quote(hl_text *out, const char *key, const char *value) {
  hl_text_format(out, "%s = \"", key);
  for (const char *c = value; *c; c++) {
    if (*c == '"' || *c == '\\') hl_text_char(out, '\\');
    hl_text_char(out, *c);
  }
  hl_text_append(out, "\"\n");
}

static void post(hl_alerts *a, const char *json, hl_alert_failed failed, void *context) {
  /* -q: what is in the user's ~/.curlrc may do anything. */
  static char program[] = "curl", q[] = "-q", config[] = "--config", input[] = "-";
  char *const words[] = {program, q, config, input, NULL};
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "silent\nfail\nmax-time = 20\nproto = \"=http,https\"\n"
                        "header = \"Content-Type: application/json\"\n");
  quote(&text, "url", a->url);
  quote(&text, "data-raw", json);
  if (text.failed)
    failed(context, "no memory for an alert");
  else
    start(a, words, text.data, true, failed, context);
}

void hl_alerts_send(hl_alerts *a, const char *json, const char *message, hl_alert_failed failed,
                    void *context) {
  if (a->word_count > 0) {
    char *last = hl_strdup(message);
    a->words[a->word_count] = last;
    if (last)
      start(a, a->words, json, false, failed, context);
    else
      failed(context, "no memory for an alert");
    a->words[a->word_count] = NULL;
    free(last);
  }
  if (a->url) post(a, json, failed, context);
}

static void report(const running *r, int wait_status, hl_alert_failed failed, void *context) {
  const char *name = r->webhook ? "the webhook (curl)" : "the alert command";
  char what[160];
  if (r->killed)
    snprintf(what, sizeof what, "%s took longer than %d s", name, HL_ALERTS_LIMIT_S);
  else if (WIFSIGNALED(wait_status))
    snprintf(what, sizeof what, "%s ended with signal %d", name, WTERMSIG(wait_status));
  else if (WEXITSTATUS(wait_status))
    snprintf(what, sizeof what, "%s ended with status %d", name, WEXITSTATUS(wait_status));
  else
    return;
  failed(context, what);
}

void hl_alerts_reap(hl_alerts *a, hl_alert_failed failed, void *context) {
  for (size_t i = 0; i < HL_ALERTS_RUNNING; i++) {
    running *r = &a->all[i];
    if (!r->pid) continue;
    int wait_status = 0;
    pid_t ended = waitpid(r->pid, &wait_status, WNOHANG);
    if (ended == 0 && !r->killed && hl_clock_ns() > r->deadline_ns) {
      r->killed = true;
      kill(-r->pid, SIGKILL);
      kill(r->pid, SIGKILL); /* it may have left its group */
      report(r, 0, failed, context);
      ended = waitpid(r->pid, &wait_status, WNOHANG);
    }
    if (ended == 0)
      continue; /* also one that may not be killed, as what sudo runs: not waited for */
    /* Below 0: the program has waited for all its children itself. */
    if (ended > 0 && !r->killed) report(r, wait_status, failed, context);
    r->pid = 0;
  }
}

static bool any_running(const hl_alerts *a) {
  for (size_t i = 0; i < HL_ALERTS_RUNNING; i++)
    if (a->all[i].pid) return true;
  return false;
}

static void nobody(void *context, const char *what) {
  (void)context;
  (void)what;
}

void hl_alerts_free(hl_alerts *a) {
  if (!a) return;
  const struct timespec pause = {.tv_nsec = 5000000};
  uint64_t until = hl_clock_ns() + HL_ALERTS_END_S * 1000000000ull;
  for (hl_alerts_reap(a, nobody, NULL); any_running(a) && hl_clock_ns() < until;
       hl_alerts_reap(a, nobody, NULL))
    nanosleep(&pause, NULL);
  hl_alerts_forget(a); /* what still runs goes on by itself */
}
