#include "worker/control.h"

#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static uint64_t current_deadline(hl_control *control) {
  pthread_mutex_lock(&control->lock);
  uint64_t deadline_ns = control->deadline_ns;
  pthread_mutex_unlock(&control->lock);
  return deadline_ns;
}

/* One request is outstanding: until it is answered nobody may send another. */
static void hand_over(hl_control *control, const hl_message *message) {
  pthread_mutex_lock(&control->lock);
  if (control->outstanding) {
    fputs("hotlap worker: a request came before the last was answered\n", stderr);
    _exit(2);
  }
  control->deadline_ns = UINT64_MAX;
  control->message = *message;
  control->has_message = control->outstanding = true;
  pthread_cond_broadcast(&control->changed);
  pthread_mutex_unlock(&control->lock);
}

static bool is_sign_of_life(const hl_message *message) {
  return json_is_true(json_object_get(message->object, "alive"));
}

/* Between requests only: one that is served has a deadline of its own. */
static void go_on_waiting(hl_control *control) {
  pthread_mutex_lock(&control->lock);
  if (!control->outstanding && control->idle_ns)
    control->deadline_ns = hl_clock_ns() + control->idle_ns;
  pthread_mutex_unlock(&control->lock);
}

static void drain(int fd) {
  char bytes[64];
  while (read(fd, bytes, sizeof bytes) > 0) {
  }
}

static void *listen_thread(void *argument) {
  hl_control *control = argument;
  for (;;) {
    hl_message message;
    hl_error error = {0};
    hl_status status = hl_channel_receive(control->channel, current_deadline(control),
                                          control->wake[0], &message, &error);
    switch (status) {
    case HL_OK:
      if (!is_sign_of_life(&message)) {
        hand_over(control, &message);
        break;
      }
      hl_message_release(&message);
      go_on_waiting(control);
      break;
    case HL_INTERRUPTED:
      drain(control->wake[0]);
      break;
    case HL_TIMED_OUT: /* unless the deadline was moved meanwhile */
      if (hl_clock_ns() < current_deadline(control)) break;
      if (control->late) control->late(control->late_context);
      _exit(HL_WORKER_EXIT_DEADLINE);
    case HL_CRASHED:
      _exit(0); /* the runner is gone */
    default:    /* not our protocol */
      fprintf(stderr, "hotlap worker: %s\n", error.msg);
      _exit(2);
    }
  }
  return NULL;
}

hl_status hl_control_start(hl_control *control, hl_channel *channel, void (*late)(void *context),
                           void *late_context, hl_error *error) {
  *control = (hl_control){
      .channel = channel, .deadline_ns = UINT64_MAX, .late = late, .late_context = late_context};
  pthread_mutex_init(&control->lock, NULL);
  pthread_cond_init(&control->changed, NULL);
  if (pipe2(control->wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return hl_error_errno(error, HL_INTERNAL, "cannot create a pipe");
  /* Signals are the main thread's. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  errno = pthread_create(&control->thread, NULL, listen_thread, control);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return errno ? hl_error_errno(error, HL_INTERNAL, "cannot start a thread") : HL_OK;
}

void hl_control_next(hl_control *control, hl_message *ret_message) {
  pthread_mutex_lock(&control->lock);
  while (!control->has_message) pthread_cond_wait(&control->changed, &control->lock);
  *ret_message = control->message;
  control->has_message = false;
  pthread_mutex_unlock(&control->lock);
}

/* The listener may be waiting for an earlier deadline, or for none. */
static void wake(hl_control *control) {
  ssize_t ignored = write(control->wake[1], "", 1); /* a full pipe wakes as well */
  (void)ignored;
}

void hl_control_deadline(hl_control *control, uint64_t deadline_ns) {
  pthread_mutex_lock(&control->lock);
  control->deadline_ns = deadline_ns;
  pthread_mutex_unlock(&control->lock);
  wake(control);
}

void hl_control_begin(hl_control *control, const json_t *request) {
  int64_t allowed_ns = hl_json_get_int(request, "deadline_ns", 0);
  int64_t idle_ns = hl_json_get_int(request, "idle_ns", 0);
  pthread_mutex_lock(&control->lock);
  if (idle_ns > 0) control->idle_ns = (uint64_t)idle_ns;
  control->deadline_ns = allowed_ns > 0 ? hl_clock_ns() + (uint64_t)allowed_ns : UINT64_MAX;
  pthread_mutex_unlock(&control->lock);
  wake(control);
}

void hl_control_answer(hl_control *control) {
  pthread_mutex_lock(&control->lock);
  control->outstanding = false;
  control->deadline_ns = control->idle_ns ? hl_clock_ns() + control->idle_ns : UINT64_MAX;
  pthread_mutex_unlock(&control->lock);
  wake(control);
}

hl_status hl_worker_move_streams(hl_channel *channel, hl_error *error) {
  int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || out < 0 || null < 0)
    return hl_error_errno(error, HL_IO, "cannot move the streams of a worker");
  dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  close(null);
  hl_channel_init(channel, in, out);
  return HL_OK;
}
