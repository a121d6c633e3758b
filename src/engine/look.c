#include "engine/look.h"

#include "base/clock.h"
#include "base/file.h"
#include "engine/python.h"
#include "engine/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_bytes = 1 << 20 };

/* The answer of the child: its length, then for each fact a letter, a name and a text, each of the
 * two ended by a zero. Letters beside those of hl_engine_fact_kind: N name, P place, V version, R
 * reason, U usable, T it has a table of options. */
static void tell(hl_text *out, char letter, const char *name, const char *text) {
  hl_text_char(out, letter);
  hl_text_append_n(out, name, strlen(name) + 1);
  hl_text_append_n(out, text, strlen(text) + 1);
}

static void visit(void *context, const char *name, const char *text) {
  tell(context, HL_FACT_PLAIN, name, text);
}

/* In the child, where a hook gives its whole text. */
static hl_text explained = HL_TEXT_INIT;

static void explain(const char *text) {
  hl_text_clear(&explained);
  hl_text_append(&explained, text);
}

static void tell_tables(const hl_engine_ops *ops, hl_text *out) {
  if (ops->option_table) tell(out, 'T', "", "");
  for (const hl_option_info *o = ops->option_table; o && o->key; o++)
    tell(out, HL_FACT_OPTION, o->key, o->values ? o->values : "");
  for (const char *const *name = ops->providers; name && *name; name++)
    tell(out, HL_FACT_PROVIDER, *name, "");
}

static void ask(const hl_engine_question *q, hl_text *out) {
  const hl_host host = {.abi = HL_ENGINE_ABI,
                        .size = sizeof host,
                        .explain = explain,
                        .library = q->library,
                        .prefixes = hl_engine_prefixes()};
  hl_error error = {0};
  hl_engine_ops ops;
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_status status = q->name
                         ? hl_engine_find(q->name, q->plugins, q->plugin_count, &ops, &path, &error)
                         : hl_engine_open(NULL, q->plugins[0], &ops, &path, &error);
  if (status == HL_OK) {
    tell(out, 'N', ops.name, "");
    tell(out, 'P', path && path[0] ? path : "built in", "");
    tell_tables(&ops, out);
    if (q->tables_only) return;
    status = ops.probe(&host, &error);
    if (status == HL_OK) tell(out, 'V', ops.version(), "");
  }
  if (status == HL_OK && ops.inspect) status = ops.inspect(&host, visit, out, &error);
  if (status == HL_OK) {
    tell(out, 'U', "", "");
  } else {
    bool whole = strncmp(explained.data, error.msg, strlen(error.msg)) == 0 && error.msg[0];
    tell(out, 'R', whole && explained.length ? explained.data : error.msg, "");
  }
}

/* Becomes the interpreter that has the engine, which then answers; returns if it cannot. */
static void ask_python(const hl_engine_question *q, const char *code, int fd, hl_text *out) {
  char number[16];
  const char *const arguments[] = {"look", number, q->tables_only ? "tables" : "all", NULL};
  hl_error error = {0};
  snprintf(number, sizeof number, "%d", fd);
  fcntl(fd, F_SETFD, 0);
  hl_python_become(code, q->python, arguments, &error);
  tell(out, 'R', error.msg, "");
}

static void run_child(const hl_engine_question *q, int fd) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO); /* what a library prints is no part of an answer */
  hl_engine_look_answer(q, fd);
}

void hl_engine_look_answer(const hl_engine_question *q, int fd) {
  hl_text answer = HL_TEXT_INIT;
  const char *code = hl_python_needed(q->name, q->plugins, q->plugin_count);
  if (code)
    ask_python(q, code, fd, &answer);
  else
    ask(q, &answer);
  const uint64_t length = answer.length;
  bool written = !answer.failed &&
                 hl_write_all(fd, &length, sizeof length, "the answer", NULL) == HL_OK &&
                 hl_write_all(fd, answer.data, answer.length, "the answer", NULL) == HL_OK;
  _exit(written ? 0 : 1);
}

typedef enum answer { ANSWERED, ENDED, LATE, INTERRUPTED } answer;

/* Fills `bytes` bytes by `deadline`. `pid_fd`, -1 where the kernel has none, tells the end of a
 * child whose pipe is still held by what it left behind. */
static answer read_whole(int fd, int pid_fd, void *to, size_t bytes, uint64_t deadline) {
  for (size_t got = 0; got < bytes;) {
    uint64_t now = hl_clock_ns();
    if (now >= deadline) return LATE;
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = pid_fd, .events = POLLIN}};
    int ready = poll(p, 2, (int)((deadline - now) / 1000000) + 1);
    if (ready < 0) return errno == EINTR ? INTERRUPTED : ENDED;
    if (ready == 0) continue;
    if (!p[0].revents) return ENDED;
    ssize_t n = read(fd, (char *)to + got, bytes - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ENDED;
    got += (size_t)n;
  }
  return ANSWERED;
}

/* Not to the end of the file: whoever else holds the pipe need not close it. */
static answer read_answer(int fd, int pid_fd, double limit_s, char **ret_words,
                          size_t *ret_length) {
  uint64_t deadline = hl_clock_ns() + (uint64_t)(limit_s * 1e9), length = 0;
  answer got = read_whole(fd, pid_fd, &length, sizeof length, deadline);
  if (got != ANSWERED) return got;
  char *words = length <= most_bytes ? malloc((size_t)length + 1) : NULL;
  if (!words) return ENDED;
  got = read_whole(fd, pid_fd, words, (size_t)length, deadline);
  if (got != ANSWERED) {
    free(words);
    return got;
  }
  *ret_words = words;
  *ret_length = (size_t)length;
  return ANSWERED;
}

/* Takes a zero-ended word at `*at`; NULL if there is none before `end`. */
static const char *take_word(const char **at, const char *end) {
  const char *word = *at, *zero = memchr(word, '\0', (size_t)(end - word));
  if (!zero) return NULL;
  *at = zero + 1;
  return word;
}

static void take_fact(hl_engine_finding *f, char letter, const char *name, const char *text) {
  switch (letter) {
  case 'N':
    f->name = name;
    f->opened = true;
    return;
  case 'P':
    f->place = name;
    return;
  case 'V':
    f->version = name;
    return;
  case 'R':
    f->reason = name;
    return;
  case 'U':
    f->usable = true;
    return;
  case 'T':
    f->tells_options = true;
    return;
  default:
    f->facts[f->fact_count++] =
        (hl_engine_fact){.kind = (hl_engine_fact_kind)letter, .name = name, .text = text};
  }
}

/* False if it is not a whole answer. */
static bool take_answer(hl_engine_finding *f, size_t length) {
  const char *at = f->words, *end = at + length;
  f->facts = calloc(length / 3 + 1, sizeof *f->facts); /* each takes 3 bytes at least */
  if (!f->facts) return false;
  while (at < end) {
    char letter = *at++;
    const char *name = take_word(&at, end), *value = name ? take_word(&at, end) : NULL;
    if (!value) return false;
    take_fact(f, letter, name, value);
  }
  return true;
}

static const char *why_ended(int wait_status, char *ret_text, size_t capacity) {
  if (WIFSIGNALED(wait_status))
    snprintf(ret_text, capacity, "opening it killed the process (%s)",
             strsignal(WTERMSIG(wait_status)));
  else
    snprintf(ret_text, capacity, "opening it ended the process (exit status %d)",
             WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1);
  return ret_text;
}

/* A finding that has nothing but a reason. */
static void set_failure(const hl_engine_question *q, const char *reason, hl_engine_finding *f) {
  const char *name = q->name ? q->name : q->plugins[0];
  hl_engine_finding_release(f);
  size_t head = strlen(name) + 1, tail = strlen(reason) + 1;
  f->words = malloc(head + tail);
  if (!f->words) return;
  memcpy(f->words, name, head);
  memcpy(f->words + head, reason, tail);
  f->name = f->words;
  f->reason = f->words + head;
}

static bool has_ended(pid_t pid) {
  siginfo_t ended = {0};
  return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid;
}

/* The child's status. One that has said all, or hangs, is killed; one that closed its end of the
 * pipe is about to die its own death, for which it gets two seconds. What it left behind goes with
 * it, before its id is given back and may be another's. */
static int reap(pid_t pid, bool dying) {
  int wait_status = 0;
  for (int i = 0; dying && i < 2000 && !has_ended(pid); i++) usleep(1000);
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return wait_status;
}

void hl_engine_look(const hl_engine_question *question, hl_engine_finding *ret_finding) {
  hl_engine_finding *f = ret_finding;
  *f = (hl_engine_finding){.name = "", .version = "", .place = "", .reason = ""};
  int fds[2], wait_status = 0;
  size_t length = 0;
  char why[160];
  if (pipe2(fds, O_CLOEXEC) != 0) return set_failure(question, "no pipe to ask it through", f);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(fds[0]);
    run_child(question, fds[1]);
  }
  close(fds[1]);
  answer got = ENDED;
  if (pid > 0) {
    setpgid(pid, pid); /* in both, so that neither is too late */
    int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    got = read_answer(fds[0], pid_fd, question->limit_s, &f->words, &length);
    if (pid_fd >= 0) close(pid_fd);
  }
  close(fds[0]);
  if (pid > 0) wait_status = reap(pid, got == ENDED);
  if (got == ANSWERED && take_answer(f, length)) {
    if (f->name[0] == '\0') f->name = question->name ? question->name : question->plugins[0];
    return;
  }
  if (pid < 0)
    set_failure(question, "no process to ask it in", f);
  else if (got == INTERRUPTED)
    set_failure(question, "interrupted", f);
  else if (got == LATE) {
    snprintf(why, sizeof why, "opening it did not end within %g s", question->limit_s);
    set_failure(question, why, f);
  } else
    set_failure(question, why_ended(wait_status, why, sizeof why), f);
}

void hl_engine_finding_release(hl_engine_finding *finding) {
  free(finding->facts);
  free(finding->words);
  *finding = (hl_engine_finding){.name = "", .version = "", .place = "", .reason = ""};
}

bool hl_engine_finding_has_option(const hl_engine_finding *finding, const char *key) {
  for (size_t i = 0; i < finding->fact_count; i++)
    if (finding->facts[i].kind == HL_FACT_OPTION && strcmp(finding->facts[i].name, key) == 0)
      return true;
  return false;
}
