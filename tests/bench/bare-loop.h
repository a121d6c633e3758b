/*
 * bare-loop.h - what the bare loops of the benches share: seeded input, and steps on request.
 *
 *     int main(int argc, char **argv) { ...; return bare_loop(step); }
 *
 * Nothing of hotlap's. After `ready` each line N on standard input runs N steps and prints the
 * median of their times in milliseconds.
 */
#ifndef HOTLAP_BENCH_BARE_LOOP_H
#define HOTLAP_BENCH_BARE_LOOP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BARE_MAX_STEPS = 100000, BARE_MAX_RANK = 8 };

static int bare_by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double bare_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Float input of these dimensions, 64-byte aligned. */
static float *bare_input(const int64_t *dims, size_t rank, size_t *ret_elements) {
  size_t elements = 1;
  for (size_t i = 0; i < rank; i++) elements *= (size_t)dims[i];
  float *data = aligned_alloc(64, (elements * sizeof *data + 63) / 64 * 64);
  if (!data) exit(1);
  for (size_t i = 0; i < elements; i++) data[i] = (float)(i * 7919 % 2001) / 1000.0f - 1.0f;
  *ret_elements = elements;
  return data;
}

static int bare_loop(void (*step)(void)) {
  static double times[BARE_MAX_STEPS];
  printf("ready\n");
  fflush(stdout);
  for (int steps; scanf("%d", &steps) == 1 && steps > 0 && steps <= BARE_MAX_STEPS;) {
    double start = bare_now_ms();
    for (int i = 0; i < steps; i++) {
      step();
      double end = bare_now_ms();
      times[i] = end - start;
      start = end;
    }
    qsort(times, (size_t)steps, sizeof *times, bare_by_value);
    printf("%.6f\n", times[steps / 2]);
    fflush(stdout);
  }
  return 0;
}

#endif
