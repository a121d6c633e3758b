#include "run/process.h"

#include "base/clock.h"
#include "machine/memory.h"
#include "protocol/messages.h"
#include "run/child.h"
#include "run/launch.h"
#include "run/ranks.h"
#include "run/said.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Under an emulator a worker needs a second of a processor before it says hello, and under mpirun
 * the ranks find each other first: on a busy machine that takes many times as long as on an idle
 * one. */
enum { hello_s = 60, ranks_hello_s = 120, grace_s = 2, last_s = 1 };
/* A far worker without a sign of life ends itself after so long; it gets one so many times. */
enum { least_idle_s = 3, most_idle_s = 60, alive_share = 6 };

/* The streams of a worker: index 0 its standard input, 1 its standard output. */
typedef struct pipes {
  int parent[2], child[2];
} pipes;

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void close_pipes(pipes *p) {
  for (int i = 0; i < 2; i++) {
    close_fd(&p->parent[i]);
    close_fd(&p->child[i]);
  }
}

static hl_status open_pipes(pipes *p, hl_error *error) {
  *p = (pipes){{-1, -1}, {-1, -1}};
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0)
    return hl_error_errno(error, HL_INTERNAL, "cannot create a pipe for a worker");
  p->child[0] = in[0];
  p->parent[0] = in[1];
  if (pipe2(out, O_CLOEXEC) != 0)
    return hl_error_errno(error, HL_INTERNAL, "cannot create a pipe for a worker");
  p->parent[1] = out[0];
  p->child[1] = out[1];
  return HL_OK;
}

/* Between fork and exec: async-signal-safe calls only. */
static void run_child(char **words, char **environment, const hl_process *process, const pipes *p,
                      pid_t parent) {
  const hl_memory_limit *limit = &process->limit;
  hl_child_begin(parent);
  /* mpirun ends its ranks and removes their files before it goes. */
  if (process->by_mpirun) prctl(PR_SET_PDEATHSIG, SIGTERM);
  bool here = !process->launcher || !process->launcher->far;
  if (here && limit->kind != HL_LIMIT_NONE && hl_memory_limit_enter(limit) != 0) _exit(126);
  if (dup2(p->child[0], STDIN_FILENO) < 0 || dup2(p->child[1], STDOUT_FILENO) < 0) _exit(127);
  if (process->said_fd >= 0) dup2(process->said_fd, STDERR_FILENO);
  execve(words[0], words, environment);
  _exit(127);
}

/* Alone, behind a launcher, or as ranks of an mpirun. `alone` is used for the first. */
static hl_status make_command(const hl_launch *launch, char **alone, hl_ranks_command *command,
                              hl_error *error) {
  *command = (hl_ranks_command){.words = alone, .environment = environ};
  if (launch->ranks.count > 0) return hl_ranks_command_make(launch, command, error);
  return launch->launcher ? hl_launch_words(launch, &command->words, error) : HL_OK;
}

static void release_command(const hl_launch *launch, hl_ranks_command *command) {
  if (launch->ranks.count > 0)
    hl_ranks_command_release(command);
  else if (launch->launcher)
    hl_launch_words_free(command->words);
}

static hl_status start(const hl_launch *launch, hl_process *process, pipes *p, hl_error *error) {
  hl_status status = open_pipes(p, error);
  bool far = launch->launcher && launch->launcher->far;
  if (status != HL_OK) return status;
  if (launch->memory_limit_bytes && far) /* the worker's own: see hl_launch_hello */
    status = hl_memory_limit_prepare_data(launch->memory_limit_bytes, &process->limit, error);
  else if (launch->memory_limit_bytes)
    status = hl_memory_limit_prepare(launch->memory_limit_bytes, &process->limit, error);
  if (status != HL_OK) return status;
  if (!launch->verbose) process->said_fd = memfd_create("hotlap-worker-said", MFD_CLOEXEC);
  if (process->said_fd >= 0) fcntl(process->said_fd, F_SETFL, O_APPEND);
  char *alone[] = {(char *)(uintptr_t)launch->program, "worker", NULL};
  hl_ranks_command command;
  process->by_mpirun = launch->ranks.count > 0;
  status = make_command(launch, alone, &command, error);
  if (status != HL_OK) return status;
  pid_t parent = getpid();
  process->pid = fork();
  if (process->pid == 0) run_child(command.words, command.environment, process, p, parent);
  if (process->pid < 0) status = hl_error_errno(error, HL_INTERNAL, "cannot start a worker");
  release_command(launch, &command);
  if (status != HL_OK) return status;
  setpgid(process->pid, process->pid); /* in both, so that neither is too late */
  hl_channel_init(&process->channel, p->parent[1], p->parent[0]);
  process->channel.skips_chatter = launch->launcher != NULL;
  /* Where it cannot be had, only the end of the pipe tells. */
  process->channel.peer = (int)syscall(SYS_pidfd_open, process->pid, 0);
  p->parent[0] = p->parent[1] = -1;
  return HL_OK;
}

static double hello_of(const hl_launch *launch) {
  int64_t ranks = launch->ranks.count;
  if (launch->launcher && launch->start_s > hello_s) return launch->start_s; /* srun has a queue */
  return ranks > 0 ? ranks_hello_s + (double)ranks : hello_s;
}

/* What is no Open MPI may print, before or in place of a rank. */
static hl_status distrust_mpirun(const hl_launch *launch, hl_error *error) {
  char what[sizeof(hl_error){0}.msg];
  snprintf(what, sizeof what, "%s", error ? error->msg : "");
  return hl_error_set(
      error, HL_UNAVAILABLE,
      "--trainer ddp: what %.160s gives is no answer of rank 0 (%.100s): it has to be Open MPI's, "
      "and print nothing of its own",
      launch->ranks.mpirun, what);
}

/* A far worker is waited for by nobody else: it is to end where this side is gone. */
static hl_status begin_far(hl_process *process, const json_t *reply, hl_error *error) {
  const char *cache = hl_json_get_text(reply, "cache_directory", NULL);
  process->far = true;
  process->cache_directory = hl_strdup(cache);
  if (cache && !process->cache_directory)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  hl_status status =
      hl_alive_start(process->channel.out, process->idle_s / alive_share, &process->alive, error);
  if (status == HL_OK) hl_alive_speak(process->alive);
  return status;
}

static hl_status say_hello(hl_process *process, const hl_launch *launch, hl_error *error) {
  hl_message reply = {0};
  json_t *members = json_pack("{s:i}", "protocol", HL_PROTOCOL_VERSION);
  if (members) hl_launch_hello(launch, process->idle_s, members);
  hl_status status = hl_process_call(process, "hello", members, hello_of(launch), &reply, error);
  if (status != HL_OK) return status;
  process->clock_read_ns = hl_json_get_real(reply.object, "clock_read_ns", (double)NAN);
  process->clock_resolution_ns = hl_json_get_real(reply.object, "clock_resolution_ns", (double)NAN);
  if (status == HL_OK && launch->launcher && launch->launcher->far)
    status = begin_far(process, reply.object, error);
  hl_message_release(&reply);
  return status;
}

uint64_t hl_process_memory_guard(void) {
  uint64_t available = hl_memory_available(NULL);
  return available == UINT64_MAX ? 0 : available / 100 * 95;
}

hl_status hl_process_start(const hl_launch *launch, hl_process *ret_process, hl_error *error) {
  hl_process process = {
      .pid = -1, .said_fd = -1, .wake_fd = launch->wake_fd, .launcher = launch->launcher};
  process.idle_s = fmin(fmax(launch->start_s, least_idle_s), most_idle_s);
  hl_channel_init(&process.channel, -1, -1);
  pipes p;
  hl_status status = start(launch, &process, &p, error);
  close_pipes(&p);
  if (status == HL_OK) status = say_hello(&process, launch, error);
  if (status == HL_BAD_DATA && process.by_mpirun) status = distrust_mpirun(launch, error);
  if (status != HL_OK) return hl_process_end(&process, status, error);
  *ret_process = process;
  return HL_OK;
}

/* What to raise where it is no hang; of reading and evaluating, nothing. */
static const char *remedy_of(const char *verb) {
  static const char *const setup[] = {"load", "plan", "prepare"};
  static const char *const steps[] = {"run", "output", "device_time"};
  for (size_t i = 0; i < HL_COUNT(setup); i++)
    if (strcmp(verb, setup[i]) == 0)
      return "; if the engine may take so long, raise --setup-timeout";
  for (size_t i = 0; i < HL_COUNT(steps); i++)
    if (strcmp(verb, steps[i]) == 0) return "; if a step may take so long, raise --max-time";
  return "";
}

static hl_status too_late(const hl_process *process, hl_error *error) {
  if (process->becoming)
    return hl_error_set(error, HL_TIMED_OUT,
                        "the engine's Python interpreter did not begin within %g s; if importing "
                        "may take so long, raise --setup-timeout",
                        process->setup_s);
  if (process->launcher && strcmp(process->verb, "hello") == 0)
    return hl_error_set(error, HL_TIMED_OUT,
                        "'%.120s' did not start a worker within %g s; a launcher must not ask for "
                        "a password (ssh -o BatchMode=yes says what it would ask), and what waits "
                        "in a queue wants a longer --setup-timeout",
                        process->launcher->text, process->timeout_s);
  HL_CLEANUP(hl_free_pointer)
  char *who = process->by_mpirun ? hl_ranks_late(process->said_fd, process->ranks) : NULL;
  if (process->by_mpirun && strcmp(process->verb, "hello") == 0)
    return hl_error_set(error, HL_TIMED_OUT, "mpirun did not start all ranks within %g s",
                        process->timeout_s);
  return hl_error_set(error, HL_TIMED_OUT, "'%s' did not end within %g s%s%s%s", process->verb,
                      process->timeout_s, who ? ": " : "", who ? who : "",
                      remedy_of(process->verb));
}

static void keep_whole(hl_process *process, const json_t *reply) {
  const char *message = hl_json_get_text(reply, "message", "");
  free(process->whole);
  process->whole = strlen(message) >= sizeof(hl_error){0}.msg ? hl_strdup(message) : NULL;
}

hl_status hl_launch_init(const hl_run_environment *environment,
                         const hl_configuration *configuration, hl_launch *ret_launch,
                         hl_error *error) {
  *ret_launch = (hl_launch){.program = environment->program,
                            .verbose = environment->verbose,
                            .wake_fd = environment->wake_fd,
                            .launcher = configuration->launcher,
                            .search_path = environment->search_path,
                            .start_s = environment->launch_s};
  if (!configuration->launcher || !environment->unreachable) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE, "%s", environment->unreachable);
}

hl_status hl_process_start_guarded(const hl_run_environment *environment,
                                   const hl_configuration *configuration, hl_process *ret_process,
                                   hl_error *error) {
  hl_launch launch;
  hl_status status = hl_launch_init(environment, configuration, &launch, error);
  launch.memory_limit_bytes = hl_process_memory_guard();
  launch.guards = true;
  return status == HL_OK ? hl_process_start(&launch, ret_process, error) : status;
}

/* A message before the reply: the worker becomes an interpreter, or goes on as one. */
static bool take_state(hl_process *process, hl_message *message) {
  const char *state = hl_json_get_text(message->object, "state", NULL);
  if (!state) return false;
  process->becoming = strcmp(state, "becoming") == 0 && process->setup_s > 0;
  hl_message_release(message);
  return true;
}

/* What comes back is the request itself. */
static hl_status refuse_echo(const hl_process *process, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA,
                      "'%.120s' gives the worker a terminal, which sends back what it gets: leave "
                      "out the option for one (ssh -t, docker run -t, srun --pty)",
                      process->launcher ? process->launcher->text : "hotlap worker");
}

/* Of the last request. */
static hl_status wait_for_reply(hl_process *process, hl_message *ret_reply, hl_error *error) {
  const uint64_t start = hl_clock_ns();
  hl_message reply;
  hl_status status;
  do {
    double most_s = process->timeout_s + grace_s;
    if (process->becoming && process->setup_s < most_s) most_s = process->setup_s;
    status = hl_channel_receive(&process->channel, start + (uint64_t)(most_s * 1e9),
                                process->wake_fd, &reply, error);
    if (status == HL_TIMED_OUT) return too_late(process, error);
    if (status != HL_OK) return status;
  } while (take_state(process, &reply));
  if (json_object_get(reply.object, "verb"))
    status = refuse_echo(process, error);
  else if (hl_json_get_int(reply.object, "id", -1) != process->next_id)
    status = hl_error_set(error, HL_BAD_DATA, "the worker answered another request");
  else
    status = hl_message_status(reply.object, error);
  hl_alive_speak(process->alive);
  if (status != HL_OK) {
    keep_whole(process, reply.object);
    hl_message_release(&reply);
    return process->far ? hl_launch_name_place(process->launcher, status, error) : status;
  }
  *ret_reply = reply;
  return HL_OK;
}

/* A worker that ended before it was asked may have said why where a reply is waited for. Its words
 * are there already; only a process of its own that keeps the stream open is waited for so long. */
static void hear_the_last(hl_process *process) {
  hl_message ignored;
  hl_error error;
  const uint64_t until = hl_clock_ns() + last_s * 1000000000ull;
  if (hl_channel_receive(&process->channel, until, -1, &ignored, &error) == HL_OK)
    hl_message_release(&ignored);
}

hl_status hl_process_call(hl_process *process, const char *verb, json_t *members, double timeout_s,
                          hl_message *ret_reply, hl_error *error) {
  json_t *request = members ? members : json_object();
  if (!request) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  int64_t id = ++process->next_id;
  process->verb = verb;
  process->timeout_s = timeout_s;
  process->becoming = false;
  json_object_set_new(request, "id", json_integer(id));
  json_object_set_new(request, "verb", json_string(verb));
  json_object_set_new(request, "deadline_ns", json_integer((json_int_t)(timeout_s * 1e9)));
  if (process->far) /* again, for an interpreter that takes the worker's place */
    hl_json_set_int(request, "idle_ns", (uint64_t)(process->idle_s * 1e9));
  hl_alive_hush(process->alive);
  hl_status status = hl_channel_send(&process->channel, request, NULL, 0, error);
  json_decref(request);
  if (status != HL_OK) {
    hear_the_last(process);
    return hl_error_set(error, HL_CRASHED, "the worker is gone");
  }
  return wait_for_reply(process, ret_reply, error);
}

hl_status hl_process_call_on(hl_process *process, hl_message *ret_reply, hl_error *error) {
  process->wake_fd = -1;
  return wait_for_reply(process, ret_reply, error);
}

char *hl_process_take_whole(hl_process *process, const hl_error *error) {
  char *whole = process->whole;
  process->whole = NULL;
  if (whole && error->msg[0] && strncmp(whole, error->msg, strlen(error->msg)) == 0) return whole;
  free(whole);
  return NULL;
}

hl_status hl_process_configure(hl_process *process, const hl_configuration *configuration,
                               const char *cache_directory, double timeout_s, hl_message *ret_reply,
                               hl_error *error) {
  if (process->far) cache_directory = process->cache_directory;
  json_t *members = hl_message_from_configuration(configuration, cache_directory);
  if (!members) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  hl_status status = hl_process_call(process, "configure", members, timeout_s, ret_reply, error);
  if (status != HL_OK) return status;
  json_decref(process->ranks);
  process->ranks = json_incref(json_object_get(ret_reply->object, "ranks"));
  return HL_OK;
}

static bool is_far(const hl_process *process) {
  return process->launcher && process->launcher->far;
}

static bool has_ended(pid_t pid) {
  siginfo_t ended = {0};
  return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid;
}

static void wait_for_end(const hl_process *process, int most_ms) {
  for (int i = 0; i < most_ms && !has_ended(process->pid); i++) usleep(1000);
}

static int reap(const hl_process *process) {
  /* A worker that has closed its pipe is about to end by itself; let its own status be seen. mpirun
   * also has ranks to end, and files of theirs to remove. */
  wait_for_end(process, process->by_mpirun ? 3000 : 100);
  /* What is asked to end tells its worker: srun and docker pass signals on, a killed one does not.
   */
  if (is_far(process)) wait_for_end(process, 1900);
  if (is_far(process) && !has_ended(process->pid)) {
    kill(-process->pid, SIGTERM);
    wait_for_end(process, 1000);
  }
  /* What it left behind, too; before its id is given back and may be another's. */
  kill(-process->pid, SIGKILL);
  int wait_status = 0;
  while (waitpid(process->pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return wait_status;
}

static hl_status explain_death(const hl_process *process, int wait_status, const char *chatter,
                               hl_error *error) {
  char said[300];
  hl_said_words(process->said_fd, said, sizeof said);
  if (!said[0] && chatter) {
    snprintf(said, sizeof said, "%s", chatter);
    hl_text_blank(said, "");
  }
  uint64_t kills = process->limit.kind == HL_LIMIT_NONE
                       ? UINT64_MAX
                       : hl_memory_limit_oom_kills(&process->limit);
  if (kills != UINT64_MAX && kills > 0)
    return hl_error_set(error, HL_OUT_OF_MEMORY,
                        "the kernel killed the worker at its memory limit (%s)",
                        hl_memory_limit_name(&process->limit));
  const char *who = process->by_mpirun ? "mpirun" : "the worker", *separator = said[0] ? ": " : "";
  if (WIFSIGNALED(wait_status))
    return hl_error_set(error, HL_CRASHED, "%s was killed by signal %d (%s)%s%s", who,
                        WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)), separator, said);
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == HL_WORKER_EXIT_DEADLINE)
    return too_late(process, error);
  if (process->by_mpirun && hl_ranks_death(process->said_fd, process->ranks, error))
    return HL_CRASHED;
  int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  if (is_far(process)) return hl_launch_explain(process->launcher, code, said, error);
  if (code == 127 && !said[0])
    return hl_error_set(error, HL_CRASHED, "%s cannot be run (exit status 127)", who);
  return hl_error_set(error, HL_CRASHED, "%s ended with exit status %d%s%s", who, code, separator,
                      said);
}

/* Until the kernel says that it stands: SIGSTOP reaches the threads one by one. A far worker sleeps
 * between requests, and signals do not reach it. */
void hl_process_pause(hl_process *process) {
  if (process->pid <= 0 || process->paused || is_far(process)) return;
  if (kill(-process->pid, SIGSTOP) != 0) return;
  process->paused = true;
  for (int i = 0; i < 100; i++) {
    siginfo_t stopped = {0};
    if (waitid(P_PID, (id_t)process->pid, &stopped, WSTOPPED | WNOHANG) != 0 || stopped.si_pid)
      return;
    usleep(200);
  }
}

void hl_process_resume(hl_process *process) {
  if (!process->paused) return;
  process->paused = false;
  kill(-process->pid, SIGCONT);
}

hl_status hl_process_end(hl_process *process, hl_status cause, hl_error *error) {
  hl_status status = cause;
  bool must_kill = cause == HL_TIMED_OUT || cause == HL_INTERRUPTED || cause == HL_BAD_DATA;
  hl_process_resume(process); /* to see the end of file */
  hl_alive_stop(process->alive);
  process->alive = NULL;
  char *chatter = is_far(process) ? hl_text_take(&process->channel.chatter) : NULL;
  hl_channel_release(&process->channel); /* end of file ends the worker */
  if (process->pid > 0) {
    if (must_kill && !is_far(process)) kill(-process->pid, process->by_mpirun ? SIGTERM : SIGKILL);
    int wait_status = reap(process);
    if (cause == HL_CRASHED) status = explain_death(process, wait_status, chatter, error);
  }
  free(chatter);
  free(process->cache_directory);
  process->cache_directory = NULL;
  if (process->limit.kind != HL_LIMIT_NONE) hl_memory_limit_release(&process->limit);
  close_fd(&process->said_fd);
  free(process->whole);
  process->whole = NULL;
  json_decref(process->ranks);
  process->ranks = NULL;
  process->pid = -1;
  return status;
}
