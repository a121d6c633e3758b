#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { looks = 2000, apart = 64 /* bytes: a counter has its cache line alone */ };

typedef struct padded {
  _Alignas(apart) atomic_size_t next;
} padded;

typedef struct member {
  hl_team *team;
  pthread_t thread;
  int part;
} member;

struct hl_team {
  _Alignas(apart) atomic_uint run;      /* runs begun */
  _Alignas(apart) atomic_int left;      /* members that still work */
  _Alignas(apart) atomic_int arrived;   /* at the barrier */
  _Alignas(apart) atomic_uint barriers; /* that were passed */
  padded counters[HL_TEAM_COUNTERS];
  int size;
  bool ends;
  void (*work)(void *context, hl_team *team, int part);
  void *context;
  pthread_mutex_t mutex; /* for those who sleep */
  pthread_cond_t begun;
  member members[HL_TEAM_MAX];
};

static void pause_a_little(int look) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  if (look >= looks) sched_yield();
}

static unsigned await_run(hl_team *t, unsigned seen) {
  for (int i = 0; i < looks; i++) {
    unsigned run = atomic_load_explicit(&t->run, memory_order_acquire);
    if (run != seen) return run;
    pause_a_little(0);
  }
  pthread_mutex_lock(&t->mutex);
  unsigned run;
  while ((run = atomic_load_explicit(&t->run, memory_order_acquire)) == seen)
    pthread_cond_wait(&t->begun, &t->mutex);
  pthread_mutex_unlock(&t->mutex);
  return run;
}

static void *live(void *argument) {
  member *m = argument;
  hl_team *t = m->team;
  for (unsigned seen = 0;;) {
    seen = await_run(t, seen);
    if (t->ends) return NULL;
    t->work(t->context, t, m->part);
    atomic_fetch_sub_explicit(&t->left, 1, memory_order_release);
  }
}

hl_team *hl_team_new(int threads) {
  hl_team *t = aligned_alloc(apart, sizeof *t);
  if (!t) return NULL;
  *t = (hl_team){.size = 1};
  pthread_mutex_init(&t->mutex, NULL);
  pthread_cond_init(&t->begun, NULL);
  if (threads > HL_TEAM_MAX) threads = HL_TEAM_MAX;
  for (; t->size < threads; t->size++) {
    member *m = &t->members[t->size];
    *m = (member){.team = t, .part = t->size};
    if (pthread_create(&m->thread, NULL, live, m) != 0) break;
  }
  return t;
}

static void begin(hl_team *t) {
  pthread_mutex_lock(&t->mutex);
  atomic_fetch_add_explicit(&t->run, 1, memory_order_release);
  pthread_cond_broadcast(&t->begun);
  pthread_mutex_unlock(&t->mutex);
}

void hl_team_free(hl_team *team) {
  if (!team) return;
  team->ends = true;
  begin(team);
  for (int i = 1; i < team->size; i++) pthread_join(team->members[i].thread, NULL);
  pthread_cond_destroy(&team->begun);
  pthread_mutex_destroy(&team->mutex);
  free(team);
}

int hl_team_size(const hl_team *team) {
  return team ? team->size : 1;
}

void hl_team_run(hl_team *team, void (*work)(void *context, hl_team *team, int part),
                 void *context) {
  hl_team *t = team;
  if (!t) {
    work(context, t, 0);
    return;
  }
  for (int i = 0; i < HL_TEAM_COUNTERS; i++)
    atomic_store_explicit(&t->counters[i].next, 0, memory_order_relaxed);
  if (t->size == 1) {
    work(context, t, 0);
    return;
  }
  t->work = work;
  t->context = context;
  atomic_store_explicit(&t->left, t->size - 1, memory_order_relaxed);
  begin(t);
  work(context, t, 0);
  for (int i = 0; atomic_load_explicit(&t->left, memory_order_acquire) > 0; i += i < looks)
    pause_a_little(i);
}

size_t hl_team_next(hl_team *team, int counter) {
  return atomic_fetch_add_explicit(&team->counters[counter].next, 1, memory_order_relaxed);
}

void hl_team_barrier(hl_team *team) {
  if (!team || team->size == 1) return;
  unsigned before = atomic_load_explicit(&team->barriers, memory_order_acquire);
  if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == team->size) {
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&team->barriers, 1, memory_order_release);
    return;
  }
  for (int i = 0; atomic_load_explicit(&team->barriers, memory_order_acquire) == before;
       i += i < looks)
    pause_a_little(i);
}
