#include "run/alive.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct hl_alive {
  int fd;
  double period_s;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool speaks, stop;
};

/* A pipe that is full is one that the launcher does not read: what would wait is left out. */
static void tell(int fd) {
  static const char line[] = "{\"alive\":true}\n";
  struct pollfd room = {.fd = fd, .events = POLLOUT};
  if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return;
  ssize_t ignored = write(fd, line, sizeof line - 1); /* less than PIPE_BUF: whole or not at all */
  (void)ignored;
}

static struct timespec after(double seconds) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += (time_t)seconds;
  at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (at.tv_nsec >= 1000000000) {
    at.tv_nsec -= 1000000000;
    at.tv_sec++;
  }
  return at;
}

static void *run(void *argument) {
  hl_alive *a = argument;
  pthread_mutex_lock(&a->lock);
  while (!a->stop) {
    const struct timespec next = after(a->period_s);
    int woken = 0;
    while (woken == 0 && !a->stop) woken = pthread_cond_timedwait(&a->changed, &a->lock, &next);
    if (!a->stop && a->speaks) tell(a->fd);
  }
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

hl_status hl_alive_start(int fd, double period_s, hl_alive **ret_alive, hl_error *error) {
  hl_alive *a = calloc(1, sizeof *a);
  if (!a) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a worker elsewhere");
  a->fd = fd;
  a->period_s = period_s;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&a->lock, NULL);
  pthread_cond_init(&a->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  sigset_t all, old; /* signals are for the thread that measures */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  errno = pthread_create(&a->thread, NULL, run, a);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (errno != 0) {
    free(a);
    return hl_error_errno(error, HL_INTERNAL, "cannot start a thread");
  }
  *ret_alive = a;
  return HL_OK;
}

static void set(hl_alive *a, bool speaks) {
  if (!a) return;
  pthread_mutex_lock(&a->lock);
  a->speaks = speaks;
  pthread_mutex_unlock(&a->lock);
}

void hl_alive_hush(hl_alive *alive) {
  set(alive, false);
}

void hl_alive_speak(hl_alive *alive) {
  set(alive, true);
}

void hl_alive_stop(hl_alive *alive) {
  if (!alive) return;
  pthread_mutex_lock(&alive->lock);
  alive->stop = true;
  pthread_cond_signal(&alive->changed);
  pthread_mutex_unlock(&alive->lock);
  pthread_join(alive->thread, NULL);
  pthread_mutex_destroy(&alive->lock);
  pthread_cond_destroy(&alive->changed);
  free(alive);
}
