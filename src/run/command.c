#include "run/command.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "run/child.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by the child where both see it. */
typedef struct child_note {
  uint64_t start_ns;            /* just before exec */
  int no_directory, no_program; /* errno of what failed, or 0 */
} child_note;

/* The end of a stream that is read as it comes. */
typedef struct tail {
  int fd; /* -1: closed */
  char *text;
  size_t length;
} tail;

typedef struct child {
  const hl_command_place *place;
  pid_t pid;
  int pid_fd;
  int error_pipe[2], output_pipe[2]; /* [1] is the child's */
  int output_fd;                     /* of the output_file; -1: none */
  child_note *note;
} child;

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Appends and keeps the last HL_COMMAND_SAID - 1 bytes. */
static void tail_add(tail *t, const char *data, size_t bytes) {
  const size_t most = HL_COMMAND_SAID - 1;
  if (bytes > most) {
    data += bytes - most;
    bytes = most;
  }
  if (t->length + bytes > most) {
    size_t drop = t->length + bytes - most;
    memmove(t->text, t->text + drop, t->length - drop);
    t->length -= drop;
  }
  memcpy(t->text + t->length, data, bytes);
  t->length += bytes;
  t->text[t->length] = '\0';
}

/* What is there to read, at most 1 MiB so that a process that never stops writing is no reason to
 * stay; closed at its end. */
static void tail_read(tail *t) {
  char part[16384];
  ssize_t n = 1;
  for (int i = 0; i < 64 && t->fd >= 0; i++) {
    n = read(t->fd, part, sizeof part);
    if (n <= 0) break;
    tail_add(t, part, (size_t)n);
  }
  if (n == 0) close_fd(&t->fd);
}

/* GIT_DIR and its like; `git rev-parse --local-env-vars` lists them. */
static bool names_repository(const char *variable) {
  static const char *const names[] = {
      "GIT_DIR=",       "GIT_WORK_TREE=", "GIT_INDEX_FILE=",       "GIT_COMMON_DIR=",
      "GIT_NAMESPACE=", "GIT_PREFIX=",    "GIT_OBJECT_DIRECTORY=", "GIT_CONFIG_PARAMETERS="};
  for (size_t i = 0; i < HL_COUNT(names); i++)
    if (strncmp(variable, names[i], strlen(names[i])) == 0) return true;
  return false;
}

/* Whether the place has its own value of the variable. */
static bool is_replaced(const hl_command_place *place, const char *variable) {
  size_t length = strcspn(variable, "=") + 1;
  for (size_t i = 0; place->environment && place->environment[i]; i++)
    if (strncmp(place->environment[i], variable, length) == 0) return true;
  return false;
}

/* The environment of the child; free() the list. NULL without memory. */
static char **environment_for(const hl_command_place *place) {
  size_t count = 0, kept = 0, added = 0;
  while (environ[count]) count++;
  while (place->environment && place->environment[added]) added++;
  char **list = calloc(count + added + 1, sizeof *list);
  for (size_t i = 0; list && i < count; i++)
    if ((!place->without_git || !names_repository(environ[i])) && !is_replaced(place, environ[i]))
      list[kept++] = environ[i];
  for (size_t i = 0; list && i < added; i++)
    list[kept++] = (char *)(uintptr_t)place->environment[i];
  return list;
}

static void connect_streams(const child *c) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  if (c->place->verbose)
    dup2(STDERR_FILENO, STDOUT_FILENO);
  else
    dup2(c->error_pipe[1], STDERR_FILENO);
  if (c->place->output == HL_OUTPUT_KEEP)
    dup2(c->output_pipe[1], STDOUT_FILENO);
  else if (c->place->output == HL_OUTPUT_FILE)
    dup2(c->output_fd, STDOUT_FILENO);
  else if (c->place->output == HL_OUTPUT_SAID)
    dup2(STDERR_FILENO, STDOUT_FILENO);
  else if (!c->place->verbose)
    dup2(null, STDOUT_FILENO);
}

/* Between fork and exec: nothing that takes a lock. */
static void run_child(const child *c, char *const *argv, char *const *environment, pid_t parent) {
  hl_child_begin(parent);
  signal(SIGPIPE, SIG_DFL);
  connect_streams(c);
  if (c->place->directory && chdir(c->place->directory) != 0) {
    c->note->no_directory = errno;
    _exit(127);
  }
  c->note->start_ns = hl_clock_ns();
  execvpe(argv[0], argv, environment);
  c->note->no_program = errno;
  _exit(127);
}

static hl_status open_child(child *c, hl_error *error) {
  c->note = mmap(NULL, sizeof *c->note, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (c->note == MAP_FAILED) {
    c->note = NULL;
    return hl_error_errno(error, HL_OUT_OF_MEMORY, "no memory for a command");
  }
  if (pipe2(c->error_pipe, O_CLOEXEC) != 0 || pipe2(c->output_pipe, O_CLOEXEC) != 0)
    return hl_error_errno(error, HL_INTERNAL, "cannot create a pipe for a command");
  fcntl(c->error_pipe[0], F_SETFL, O_NONBLOCK);
  fcntl(c->output_pipe[0], F_SETFL, O_NONBLOCK);
  if (c->place->output != HL_OUTPUT_FILE) return HL_OK;
  c->output_fd = open(c->place->output_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (c->output_fd >= 0) return HL_OK;
  return hl_error_errno(error, HL_IO, "cannot write '%.300s'", c->place->output_file);
}

static hl_status start_child(child *c, char *const *argv, hl_error *error) {
  hl_status status = open_child(c, error);
  if (status != HL_OK) return status;
  char **environment = environment_for(c->place);
  if (!environment) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t parent = getpid();
  c->pid = fork();
  if (c->pid == 0) run_child(c, argv, environment, parent);
  free(environment);
  if (c->pid < 0) return hl_error_errno(error, HL_INTERNAL, "cannot start '%.200s'", argv[0]);
  setpgid(c->pid, c->pid); /* in both, so that neither is too late */
  close_fd(&c->error_pipe[1]);
  close_fd(&c->output_pipe[1]);
  c->pid_fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
  if (c->pid_fd >= 0) return HL_OK;
  return hl_error_errno(error, HL_UNAVAILABLE,
                        "commands cannot be timed here: pidfd_open, of Linux 5.3, fails");
}

static int milliseconds_left(uint64_t deadline_ns) {
  uint64_t now = hl_clock_ns();
  if (deadline_ns == UINT64_MAX) return -1;
  if (now >= deadline_ns) return 0;
  uint64_t ms = (deadline_ns - now + 999999) / 1000000;
  return ms > 3600000 ? 3600000 : (int)ms;
}

/* Until the process has ended; reads what it says meanwhile. */
static hl_status watch(child *c, tail *said, tail *output, uint64_t *ret_end_ns, hl_error *error) {
  uint64_t deadline =
      c->place->timeout_s > 0 ? hl_clock_ns() + (uint64_t)(c->place->timeout_s * 1e9) : UINT64_MAX;
  for (;;) {
    struct pollfd fds[4] = {{.fd = c->pid_fd, .events = POLLIN},
                            {.fd = c->place->wake_fd, .events = POLLIN},
                            {.fd = said->fd, .events = POLLIN},
                            {.fd = output->fd, .events = POLLIN}};
    int ready = poll(fds, HL_COUNT(fds), milliseconds_left(deadline));
    uint64_t now = hl_clock_ns();
    *ret_end_ns = now;
    if (ready < 0 && errno != EINTR)
      return hl_error_errno(error, HL_INTERNAL, "cannot wait for a command");
    if (ready > 0 && fds[0].revents) return HL_OK;
    if (ready > 0 && fds[1].revents) return hl_error_set(error, HL_INTERRUPTED, "interrupted");
    if (now >= deadline)
      return hl_error_set(error, HL_TIMED_OUT, "did not end within %g s", c->place->timeout_s);
    if (ready > 0 && fds[2].revents) tail_read(said);
    if (ready > 0 && fds[3].revents) tail_read(output);
  }
}

/* Kills the children that this process has, as the kernel lists them. */
static void kill_children(void) {
  HL_CLEANUP(hl_free_pointer) char *list = NULL;
  size_t bytes;
  if (hl_file_read("/proc/thread-self/children", 1 << 20, &list, &bytes, NULL) != HL_OK) return;
  for (char *at = list, *end = list; *at; at = end) {
    long pid = strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 1) kill((pid_t)pid, SIGKILL);
    end += strspn(end, " \n");
  }
}

/* Orphans become children of this process, and so do theirs when they are killed. True if any had
 * to be killed, here or with the group. */
static bool reap_orphans(void) {
  bool found = false;
  for (int i = 0; i < 2000; i++) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0) break; /* no child is left */
    if (info.si_pid) {                                          /* one that has ended */
      found = found || (info.si_code == CLD_KILLED && info.si_status == SIGKILL);
      continue;
    }
    found = true;
    kill_children();
    usleep(1000);
  }
  return found;
}

static uint64_t ns_of(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void reap(child *c, bool kill_first, hl_execution *e) {
  struct rusage usage = {0};
  int wait_status = 0;
  /* By its own id, too: it may have joined another group. */
  if (kill_first) {
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL);
  }
  /* Its group while its id is surely its own: it has ended, or is about to, but is not reaped. */
  else if (!c->place->keep_orphans) {
    siginfo_t ended;
    waitid(P_PID, (id_t)c->pid, &ended, WEXITED | WNOWAIT);
    kill(-c->pid, SIGKILL);
  }
  while (wait4(c->pid, &wait_status, 0, &usage) < 0 && errno == EINTR) {
  }
  e->user_ns = ns_of(usage.ru_utime);
  e->system_ns = ns_of(usage.ru_stime);
  e->peak_bytes = (uint64_t)usage.ru_maxrss * 1024u;
  e->exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  e->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  if (kill_first || !c->place->keep_orphans) e->orphans = reap_orphans();
}

static void close_child(child *c) {
  for (int i = 0; i < 2; i++) {
    close_fd(&c->error_pipe[i]);
    close_fd(&c->output_pipe[i]);
  }
  close_fd(&c->output_fd);
  close_fd(&c->pid_fd);
  if (c->note) munmap(c->note, sizeof *c->note);
}

static hl_status explain_start(const child *c, const char *program, hl_error *error) {
  if (c->note->no_directory)
    return hl_error_set(error, HL_IO, "cannot enter directory '%.300s': %s", c->place->directory,
                        strerror(c->note->no_directory));
  if (c->note->no_program)
    return hl_error_set(error, HL_NOT_FOUND, "cannot run '%.300s': %s", program,
                        strerror(c->note->no_program));
  return HL_OK;
}

hl_status hl_command_execute_words(char *const *argv, const hl_command_place *place,
                                   hl_execution *ret_execution, hl_error *error) {
  child c = {.place = place,
             .pid = -1,
             .pid_fd = -1,
             .error_pipe = {-1, -1},
             .output_pipe = {-1, -1},
             .output_fd = -1};
  hl_execution *e = ret_execution;
  *e = (hl_execution){.exit_status = -1};
  hl_status status = start_child(&c, argv, error);
  if (c.pid <= 0) {
    close_child(&c);
    return status;
  }
  tail said = {c.error_pipe[0], e->said, 0}, output = {c.output_pipe[0], e->output, 0};
  c.error_pipe[0] = c.output_pipe[0] = -1;
  uint64_t end_ns = 0;
  if (status == HL_OK) status = watch(&c, &said, &output, &end_ns, error);
  reap(&c, status != HL_OK, e);
  if (said.fd >= 0) tail_read(&said);
  if (output.fd >= 0) tail_read(&output);
  close_fd(&said.fd);
  close_fd(&output.fd);
  if (status == HL_OK) status = explain_start(&c, argv[0], error);
  if (c.note->start_ns && end_ns > c.note->start_ns) e->wall_ns = end_ns - c.note->start_ns;
  close_child(&c);
  return status;
}

hl_status hl_command_execute(hl_command *command, const hl_command_place *place,
                             hl_execution *ret_execution, hl_error *error) {
  hl_error failure = {0};
  hl_status status = hl_command_execute_words(command->argv, place, ret_execution, &failure);
  /* Not a program of that name: the shell may have it built in, and else knows how to say so. */
  if (status == HL_NOT_FOUND && !command->by_shell && !strchr(command->argv[0], '/')) {
    hl__command_by_shell(command);
    status = hl_command_execute_words(command->argv, place, ret_execution, &failure);
  }
  if (status == HL_OK) return HL_OK;
  if (status == HL_TIMED_OUT)
    return hl_error_set(error, status, "'%.300s' %s", command->text, failure.msg);
  return hl_error_set(error, status, "%s", failure.msg);
}

hl_status hl_execution_check(const hl_command *command, const hl_execution *execution,
                             hl_error *error) {
  if (execution->signal)
    return hl_error_set(error, HL_UNAVAILABLE, "'%.300s' was killed by signal %d (%s)",
                        command->text, execution->signal, strsignal(execution->signal));
  if (execution->exit_status != 0)
    return hl_error_set(error, HL_UNAVAILABLE, "'%.300s' ended with exit status %d", command->text,
                        execution->exit_status);
  return HL_OK;
}
