/*
 * simulate-tuner REPETITIONS - whether monitor/tuner.h settles, and stays within memory.
 *
 * A batch takes m0 + m1 b^g of the memory, g from 1 to 1.15, and one of 3 to 2100 takes all that
 * there is; others take a share that wanders by 2
 * %, and from the middle on 0 to 20 % more, come within ten steps. A repetition is 8000
 * adaptations. Told are how often memory ran out, the changes of batch in the second half of each
 * part (settled: nothing is to be adapted to), how often the batch is the one to be at (the
 * pressure is 0.5 or more, or twice the batch would be above 0.9), and the changes of the plain
 * rule without memory of what happened. Exit status 1 if memory runs out once, more than 1 in 1000
 * adaptations is a change, or the batch is not the one to be at in more than one of 20 repetitions.
 */
#include "monitor/tuner.h"
#include "numeric/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 8000 };

typedef struct world {
  double m0, m1, exponent, others, more;
} world;

static double job(const world *w, uint32_t batch) {
  return w->m0 + w->m1 * pow(batch, w->exponent);
}

static double others_at(const world *w, size_t step, double wander) {
  double come = fmin(fmax((double)step - STEPS / 2, 0) / 10, 1);
  return w->others + 0.02 * wander + w->more * come;
}

static uint32_t plain(uint32_t batch, double pressure) {
  if (pressure > 0.9) return batch > 1 ? batch / 2 : 1;
  return pressure < 0.5 && batch < 256 ? batch * 2 : batch;
}

typedef struct outcome {
  size_t over, changes, settled_steps, plain_changes;
  bool in_place;
} outcome;

static outcome run(uint64_t number) {
  hl_random random;
  hl_random_init(&random, 11, number);
  const double largest = 3 * exp(hl_random_uniform(&random) * log(700)); /* it would take all */
  world w = {.m0 = 0.2 * hl_random_uniform(&random),
             .exponent = 1 + 0.15 * hl_random_uniform(&random),
             .others = 0.2 * hl_random_uniform(&random),
             .more = 0.2 * hl_random_uniform(&random)};
  w.m1 = (1 - w.m0 - w.others) / pow(largest, w.exponent);
  outcome o = {0};
  hl_tuner_state tuner;
  const hl_tuner_config config = {.size = sizeof config, .initial = 1};
  if (hl_tuner_init(&tuner, &config, NULL) != HL_OK) exit(2);
  uint32_t batch = 1, simple = 1;
  double wander = hl_random_normal(&random);
  for (size_t i = 0; i < STEPS; i++) {
    wander = 0.95 * wander + sqrt(1 - 0.95 * 0.95) * hl_random_normal(&random);
    double taken = others_at(&w, i, wander), pressure = taken + job(&w, batch);
    o.over += pressure > 1 && batch > 1;
    uint32_t next = hl_tuner_step(&tuner, fmin(pressure, 1));
    uint32_t simple_next = plain(simple, taken + job(&w, simple));
    if (i % (STEPS / 2) >= STEPS / 4) {
      o.settled_steps++;
      o.changes += next != batch;
      o.plain_changes += simple_next != simple;
    }
    batch = next;
    simple = simple_next;
  }
  double still = others_at(&w, STEPS, 0), here = still + job(&w, batch);
  double there = still + job(&w, batch < 256 ? 2 * batch : batch);
  /* Within what the others wander. */
  o.in_place = (here <= 0.96 || batch == 1) && (here > 0.44 || there > 0.84 || batch == 256);
  return o;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  size_t over = 0, changes = 0, steps = 0, simple = 0, in_place = 0;
  for (size_t r = 0; r < repetitions; r++) {
    outcome o = run(r);
    over += o.over;
    changes += o.changes;
    steps += o.settled_steps;
    simple += o.plain_changes;
    in_place += o.in_place;
    if (o.over) printf("repetition %zu: out of memory %zu times\n", r, o.over);
  }
  printf("out of memory %zu times; settled: %.3f changes in 1000 adaptations, by the plain rule "
         "%.1f; in "
         "place %zu of %zu\n",
         over, 1e3 * (double)changes / (double)steps, 1e3 * (double)simple / (double)steps,
         in_place, repetitions);
  return over > 0 || 1000 * changes > steps || 20 * in_place < 19 * repetitions;
}
