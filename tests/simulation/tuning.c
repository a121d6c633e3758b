/*
 * simulate-tuning REPETITIONS LEAST MOST SURFACE.csv... - how often the search of method/tuning.h
 * ends within 10 % of the best of a recorded surface, and what it costs, in percent of measuring
 * all of it.
 *
 * A surface is what a sweep of this machine found: threads, batch, time to start a worker (load,
 * prepare, first call), median step, deviation of steps and memory of every row. Each step of a
 * simulated machine takes the median times noise: independent of that deviation, one in 30
 * disturbed by up to as much again, and a drift of the whole machine from turn to turn (AR(1),
 * 0.95, 1 % a turn). Between rows of the surface times lie on straight lines of the logarithms.
 *
 * Measuring all of it: every row is started, warmed up and given 20 turns of 50 ms and 5 steps at
 * least, 30 s at most. Exit status 1 if in any row of the result fewer than LEAST percent of the
 * searches are within 10 %, or the mean cost is above MOST percent.
 */
#include "method/tuning.h"
#include "numeric/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 256, FAMILIES_MOST = 16, STEPS_MOST = 512 };
static const double near = 0.10, row_most_ns = 30e9, turn_ns = 50e6, look_ns = 200e6,
                    warm_ns = 300e6;

typedef struct row {
  size_t family;
  int64_t batch;
  double start_ns, step_ns, deviation, memory_bytes;
} row;

typedef struct surface {
  row rows[ROWS_MOST];
  size_t count, families;
  long names[FAMILIES_MOST]; /* threads of each family */
} surface;

typedef struct machine {
  const surface *surface;
  hl_random random;
  double drift;
} machine;

static size_t family_of(surface *s, long threads) {
  for (size_t i = 0; i < s->families; i++)
    if (s->names[i] == threads) return i;
  if (s->families == FAMILIES_MOST) exit(2);
  s->names[s->families] = threads;
  return s->families++;
}

static void read_surface(const char *path, surface *s) {
  FILE *file = fopen(path, "r");
  char line[256];
  *s = (surface){0};
  if (!file) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    exit(2);
  }
  while (fgets(line, sizeof line, file) && s->count < ROWS_MOST) {
    long threads, batch;
    double start, step, deviation, memory;
    if (sscanf(line, "%ld,%ld,%lf,%lf,%lf,%lf", &threads, &batch, &start, &step, &deviation,
               &memory) != 6)
      continue; /* its heading */
    s->rows[s->count++] =
        (row){family_of(s, threads), batch, start * 1e6, step * 1e6, deviation, memory * 1e6};
  }
  fclose(file);
}

static double between(double low, double high, double share) {
  return exp(log(low) + share * (log(high) - log(low)));
}

/* A row of the surface, or what lies between two. */
static row at(const surface *s, size_t family, int64_t batch) {
  const row *low = NULL, *high = NULL;
  for (size_t i = 0; i < s->count; i++) {
    const row *r = &s->rows[i];
    if (r->family != family) continue;
    if (r->batch <= batch && (!low || r->batch > low->batch)) low = r;
    if (r->batch >= batch && (!high || r->batch < high->batch)) high = r;
  }
  if (!low || !high) exit(2);
  if (low == high) return *low;
  double share =
      log((double)batch / (double)low->batch) / log((double)high->batch / (double)low->batch);
  row r = *low;
  r.batch = batch;
  r.start_ns = between(low->start_ns, high->start_ns, share);
  r.step_ns = between(low->step_ns, high->step_ns, share);
  r.memory_bytes = between(low->memory_bytes, high->memory_bytes, share);
  return r;
}

static double step_of(machine *m, const row *r) {
  double factor = exp(m->drift + r->deviation * hl_random_normal(&m->random));
  if (hl_random_below(&m->random, 30) == 0) factor *= 1 + hl_random_uniform(&m->random);
  return r->step_ns * factor;
}

static void drift_on(machine *m) {
  m->drift = 0.95 * m->drift + 0.01 * hl_random_normal(&m->random);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* As the program's: warmed up shortly, then a look at a few steps. */
static hl_tuning_scout scout(machine *m, const row *r) {
  double steps[STEPS_MOST], total = r->start_ns + fmax(3 * r->step_ns, warm_ns);
  size_t n = (size_t)fmin(fmax(3, look_ns / r->step_ns), STEPS_MOST);
  drift_on(m);
  for (size_t i = 0; i < n; i++) total += steps[i] = step_of(m, r);
  qsort(steps, n, sizeof *steps, by_size);
  return (hl_tuning_scout){.ran = true,
                           .step_ns = steps[n / 2],
                           .tail = 1,
                           .memory_bytes = r->memory_bytes,
                           .watts = (double)NAN,
                           .elapsed_ns = (uint64_t)total};
}

static void take_turn(machine *m, hl_tuning *t, const hl_tuning_request *request) {
  uint64_t ns[STEPS_MOST];
  const hl_arm *a = &t->arms[request->arm];
  row r = at(m->surface, a->family, a->batch);
  size_t n = request->turn.steps < STEPS_MOST ? (size_t)request->turn.steps : STEPS_MOST;
  double elapsed = (double)request->turn.discard_steps * r.step_ns;
  drift_on(m);
  for (size_t i = 0; i < n; i++) {
    ns[i] = (uint64_t)step_of(m, &r);
    elapsed += (double)ns[i];
  }
  const hl_turn turn = {.samples_ns = ns,
                        .sample_count = n,
                        .steps_per_sample = 1,
                        .steps = n,
                        .elapsed_ns = (uint64_t)elapsed};
  if (hl_tuning_turn(t, request, &turn, 0, NULL) != HL_OK) exit(2);
}

static double exhaustive_ns(const surface *s) {
  double total = 0;
  for (size_t i = 0; i < s->count; i++) {
    const row *r = &s->rows[i];
    double turns = HL_PAIRS_LEAST * fmax(turn_ns, 5 * r->step_ns);
    total += r->start_ns + fmax(3 * r->step_ns, warm_ns) + fmin(turns, row_most_ns);
  }
  return total;
}

static double true_score(const hl_tuning *t, const row *r) {
  const hl_arm arm = {.family = r->family,
                      .batch = r->batch,
                      .state = HL_ARM_KNOWN,
                      .step_ns = r->step_ns,
                      .tail = 1,
                      .memory_bytes = r->memory_bytes};
  return hl_tuning_score(t, &arm);
}

static double best_of(const hl_tuning *t, const surface *s) {
  double best = (double)INFINITY;
  for (size_t i = 0; i < s->count; i++) best = fmin(best, true_score(t, &s->rows[i]));
  return best;
}

static void fill_ladder(const surface *s, hl_tuning_options *o) {
  int64_t most = 0;
  for (size_t i = 0; i < s->count; i++)
    if (s->rows[i].batch > most) most = s->rows[i].batch;
  for (int64_t b = 1; b <= most; b *= 2) o->ladder[o->rungs++] = b;
}

typedef struct result {
  double above; /* score of the answer above the best */
  double cost_ns;
  size_t arms, turns;
} result;

static result search(const surface *s, const hl_tuning_goal *goal, uint64_t seed) {
  static hl_tuning t;
  machine m = {.surface = s};
  hl_tuning_options o = {.families = s->families, .refine = true, .seed = seed};
  hl_tuning_request request;
  fill_ladder(s, &o);
  hl_random_init(&m.random, seed, 0);
  hl_tuning_init(&t, &o);
  hl_tuning_aim(&t, goal);
  while (hl_tuning_next(&t, &request, NULL) == HL_OK && request.kind) {
    const hl_arm *a = &t.arms[request.arm];
    const row r = at(s, a->family, a->batch);
    if (request.kind == HL_TUNING_TURN) {
      take_turn(&m, &t, &request);
      continue;
    }
    const hl_tuning_scout found = scout(&m, &r);
    hl_tuning_scouted(&t, request.arm, &found);
  }
  const hl_arm *best = hl_tuning_best(&t);
  result got = {.above = (double)INFINITY, .cost_ns = (double)t.spent_ns, .turns = t.turns};
  for (size_t i = 0; i < t.count; i++) got.arms += t.arms[i].elapsed_ns > 0;
  if (best) {
    const row r = at(s, best->family, best->batch);
    got.above = true_score(&t, &r) - best_of(&t, s);
  }
  hl_tuning_release(&t);
  return got;
}

/* One line of the result; false where it is not good enough. */
static bool show(const char *path, const surface *s, const char *name, const hl_tuning_goal *goal,
                 size_t repetitions, double least, double most) {
  double cost = 0, worst = 0, arms = 0, turns = 0, all = exhaustive_ns(s);
  size_t good = 0;
  for (size_t i = 0; i < repetitions; i++) {
    result r = search(s, goal, i + 1);
    good += r.above <= log(1 + near);
    worst = fmax(worst, r.above);
    cost += r.cost_ns / all / (double)repetitions;
    arms += (double)r.arms / (double)repetitions;
    turns += (double)r.turns / (double)repetitions;
  }
  const char *base = strrchr(path, '/');
  double share = 100 * (double)good / (double)repetitions;
  printf("%-26s %-11s %5.1f %% within 10 %%, worst %5.1f %% off; cost %4.1f %% of %5.0f s, %4.1f "
         "of %zu "
         "settings, %3.0f turns\n",
         base ? base + 1 : path, name, share, 100 * (exp(worst) - 1), 100 * cost, all / 1e9, arms,
         s->count, turns);
  return share >= least && 100 * cost <= most;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  double least = strtod(argv[2], NULL), most = strtod(argv[3], NULL);
  bool good = repetitions > 0;
  for (int i = 4; i < argc; i++) {
    static surface s;
    read_surface(argv[i], &s);
    uint64_t budget = (uint64_t)(0.25 * exhaustive_ns(&s));
    const hl_tuning_goal goals[] = {
        {.weights = {.throughput = 1}, .budget_ns = budget},
        {.weights = {.latency = 1}, .budget_ns = budget},
        {.weights = {.throughput = 0.5, .latency = 0.25, .memory = 0.25}, .budget_ns = budget},
    };
    static const char *const names[] = {"throughput", "latency", "balanced"};
    for (size_t k = 0; k < 3; k++)
      good = show(argv[i], &s, names[k], &goals[k], repetitions, least, most) && good;
  }
  return good ? 0 : 1;
}
