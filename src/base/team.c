#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { looks = 2000, apart = 64 /* bytes: what one thread writes has its cache line alone */ };

typedef struct loop_state {
  _Alignas(apart) atomic_size_t next;
  _Alignas(apart) atomic_size_t done;
} loop_state;

typedef struct member {
  hl_team *team;
  pthread_t thread;
  int part;
} member;

/* The gate: a run's number above, then whether it may be entered, then how many are within. */
#define GATE_RUN (UINT64_C(1) << 32)
#define GATE_OPEN (UINT64_C(1) << 16)
#define GATE_WITHIN (GATE_OPEN - 1)

struct hl_team {
  _Alignas(apart) atomic_uint_fast64_t gate;
  loop_state loops[HL_TEAM_LOOPS];
  int size;
  void (*work)(void *context, hl_team *team, int part);
  void *context;
  bool ends;
  int sleepers;
  int avoided;           /* the caller's processor, which the others leave alone; -1 none */
  pthread_mutex_t mutex; /* of the two above, and for those who sleep */
  pthread_cond_t begun;
  member members[HL_TEAM_MAX];
};

static void pause_a_little(int look) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  if (look >= looks) (void)sched_yield();
}

/* The number of a run that is not `seen`. */
static uint64_t await_run(hl_team *t, uint64_t seen) {
  for (int i = 0; i < looks; i++) {
    uint64_t run = atomic_load_explicit(&t->gate, memory_order_acquire) / GATE_RUN;
    if (run != seen) return run;
    pause_a_little(0);
  }
  uint64_t run;
  pthread_mutex_lock(&t->mutex);
  t->sleepers++;
  while ((run = atomic_load_explicit(&t->gate, memory_order_acquire) / GATE_RUN) == seen)
    pthread_cond_wait(&t->begun, &t->mutex);
  t->sleepers--;
  pthread_mutex_unlock(&t->mutex);
  return run;
}

/* False if the run is over; then the next one may have begun. */
static bool enter(hl_team *t, uint64_t run) {
  uint_fast64_t gate = atomic_load_explicit(&t->gate, memory_order_acquire);
  while (gate / GATE_RUN == run && (gate & GATE_OPEN))
    if (atomic_compare_exchange_weak_explicit(&t->gate, &gate, gate + 1, memory_order_acq_rel,
                                              memory_order_acquire))
      return true;
  return false;
}

static void *live(void *argument) {
  member *m = argument;
  hl_team *t = m->team;
  for (uint64_t seen = 0;;) {
    seen = await_run(t, seen);
    if (!enter(t, seen)) continue;
    if (t->ends) return NULL;
    t->work(t->context, t, m->part);
    atomic_fetch_sub_explicit(&t->gate, 1, memory_order_release);
  }
}

hl_team *hl_team_new(int threads) {
  hl_team *t = aligned_alloc(apart, sizeof *t);
  if (!t) return NULL;
  *t = (hl_team){.size = 1, .avoided = -1};
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

/* A thread that wakes up is often put where the caller runs, and waits there until that is done. */
static void leave_alone(hl_team *t, int cpu) {
  cpu_set_t allowed;
  if (cpu < 0 || cpu == t->avoided || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  t->avoided = cpu;
  if (cpu >= CPU_SETSIZE || CPU_COUNT(&allowed) < 2) return;
  CPU_CLR((size_t)cpu, &allowed);
  for (int i = 1; i < t->size; i++)
    (void)pthread_setaffinity_np(t->members[i].thread, sizeof allowed, &allowed);
}

static void open_gate(hl_team *t) {
  uint64_t run = atomic_load_explicit(&t->gate, memory_order_relaxed) / GATE_RUN + 1;
  pthread_mutex_lock(&t->mutex);
  atomic_store_explicit(&t->gate, run * GATE_RUN + GATE_OPEN, memory_order_release);
  bool wakes = t->sleepers > 0;
  pthread_mutex_unlock(&t->mutex);
  if (wakes) pthread_cond_broadcast(&t->begun);
}

void hl_team_free(hl_team *team) {
  if (!team) return;
  team->ends = true;
  open_gate(team);
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
  if (hl_team_size(t) == 1) {
    work(context, t, 0);
    return;
  }
  for (int i = 0; i < HL_TEAM_LOOPS; i++) {
    atomic_store_explicit(&t->loops[i].next, 0, memory_order_relaxed);
    atomic_store_explicit(&t->loops[i].done, 0, memory_order_relaxed);
  }
  t->work = work;
  t->context = context;
  leave_alone(t, sched_getcpu());
  open_gate(t);
  work(context, t, 0);
  atomic_fetch_and_explicit(&t->gate, ~(uint_fast64_t)GATE_OPEN, memory_order_acq_rel);
  for (int i = 0; atomic_load_explicit(&t->gate, memory_order_acquire) & GATE_WITHIN;
       i += i < looks)
    pause_a_little(i);
}

void hl_team_loop(hl_team *team, int loop, size_t count,
                  void (*block)(void *context, size_t i, int part), void *context, int part) {
  if (hl_team_size(team) == 1) {
    for (size_t i = 0; i < count; i++) block(context, i, part);
    return;
  }
  loop_state *state = &team->loops[loop];
  size_t mine = 0;
  for (size_t i; (i = atomic_fetch_add_explicit(&state->next, 1, memory_order_relaxed)) < count;
       mine++)
    block(context, i, part);
  atomic_fetch_add_explicit(&state->done, mine, memory_order_acq_rel);
  for (int i = 0; atomic_load_explicit(&state->done, memory_order_acquire) < count; i += i < looks)
    pause_a_little(i);
}
