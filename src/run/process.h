/*
 * run/process.h - one worker process, seen from the runner.
 *
 *     hl_process process;
 *     hl_process_start(&launch, &process, error);
 *     hl_process_call(&process, "load", NULL, timeout_s, &reply, error);
 *     hl_process_end(&process, &death);
 *
 * The worker is a process group of its own, so that a signal for the runner's terminal does not
 * reach it, and so that all of it can be killed. Not thread-safe.
 */
#ifndef HL_RUN_PROCESS_H
#define HL_RUN_PROCESS_H

#include "machine/limit.h"
#include "plan/configuration.h"
#include "protocol/channel.h"
#include "run/alive.h"
#include "run/run.h"
#include <sys/types.h>

/* Several workers that are one to the runner: rank 0 speaks for all. */
typedef struct hl_ranks_launch {
  int64_t count;      /* 0: one worker, without mpirun */
  const char *mpirun; /* paths: of the program, and of our part for its library */
  const char *object;
} hl_ranks_launch;

typedef struct hl_launch {
  const char *program;         /* the hotlap program: run as `PROGRAM worker` */
  uint64_t memory_limit_bytes; /* 0: none */
  bool verbose;                /* let the worker's standard error through */
  int wake_fd;                 /* a byte on it interrupts waiting; -1: none */
  hl_ranks_launch ranks;
  const hl_launcher *launcher; /* what it is started through, or NULL */
  const char *search_path;     /* PATH, to find the launcher in */
  bool guards;                 /* the limit only keeps the machine from its last memory */
  double start_s;              /* longest until it says hello; 0: the usual */
} hl_launch;

typedef struct hl_process {
  pid_t pid;
  hl_channel channel;
  hl_memory_limit limit; /* kind HL_LIMIT_NONE without one */
  int said_fd;           /* what the worker wrote to standard error, or -1 */
  int wake_fd;
  int64_t next_id;
  const char *verb; /* of the last request, and its time */
  double timeout_s;
  double setup_s; /* what an interpreter may take to begin; 0: as the request that starts it */
  bool becoming;  /* the worker is about to be one */
  double clock_read_ns, clock_resolution_ns; /* as the worker measured them */
  bool paused;
  json_t *ranks;               /* who they are: pid and host of each; owned, NULL: one process */
  const hl_launcher *launcher; /* or NULL; borrowed */
  bool far;                    /* the launcher's, once it has said hello */
  double idle_s;         /* longest that the worker, if it is far, waits without a sign of life */
  hl_alive *alive;       /* which gives it; owned, NULL of a near one */
  char *cache_directory; /* of a far worker's own machine; owned, or NULL */
  bool by_mpirun; /* it is asked to end before it is killed: it has processes to end itself */
  char *whole; /* the message of the last failure, if it is longer than an error holds; or NULL */
} hl_process;

/* A limit that keeps a worker from the machine's last memory: 95 % of what is available now; 0 (no
 * limit) where that is unknown. */
uint64_t hl_process_memory_guard(void);

/* Starts `PROGRAM worker` and says hello. Wakes and failures as hl_process_call. */
hl_status hl_process_start(const hl_launch *launch, hl_process *ret_process, hl_error *error);

/* What all workers of a configuration have in common: program, launcher, and whether there is
 * anything at the other end of it. UNAVAILABLE where it is known that there is not. */
hl_status hl_launch_init(const hl_run_environment *environment,
                         const hl_configuration *configuration, hl_launch *ret_launch,
                         hl_error *error);

/* The same for a question about a model, with the memory guard as its limit. */
hl_status hl_process_start_guarded(const hl_run_environment *environment,
                                   const hl_configuration *configuration, hl_process *ret_process,
                                   hl_error *error);

/* Sends a request and waits for its reply. `members` (may be NULL) is taken. The worker is told to
 * end itself after `timeout_s`; the runner waits 2 s longer. Failures: what the worker says;
 * TIMED_OUT; INTERRUPTED; CRASHED (ended or its pipe broke) or BAD_DATA (not our protocol): after
 * any of these four call hl_process_end. */
hl_status hl_process_call(hl_process *process, const char *verb, json_t *members, double timeout_s,
                          hl_message *ret_reply, hl_error *error);

/* After INTERRUPTED, in place of hl_process_end: waits on for the reply, as long again. No wake
 * interrupts this process's calls any more. */
hl_status hl_process_call_on(hl_process *process, hl_message *ret_reply, hl_error *error);

/* Takes the whole text of the failure in `error` out of the process: free() it; NULL where the
 * error holds all. */
char *hl_process_take_whole(hl_process *process, const hl_error *error);

/* The request `configure`, with the cache of the worker's own side; also OUT_OF_MEMORY if there is
 * none for the message. */
hl_status hl_process_configure(hl_process *process, const hl_configuration *configuration,
                               const char *cache_directory, double timeout_s, hl_message *ret_reply,
                               hl_error *error);

/* Stops the worker's process group, so that threads which spin take no time from another, and lets
 * it go on. Only between requests: a deadline runs on. */
void hl_process_pause(hl_process *process);
void hl_process_resume(hl_process *process);

/* Kills the worker's group if it still runs, waits for it, and releases everything. After a
 * failure of hl_process_call with status `cause`, `error` (may be NULL) is rewritten to say how the
 * process died, and the status to record is returned: OUT_OF_MEMORY if the kernel killed it for
 * its memory, CRASHED with the signal or exit status and the last line it said, TIMED_OUT, or
 * `cause`. */
hl_status hl_process_end(hl_process *process, hl_status cause, hl_error *error);

#endif
