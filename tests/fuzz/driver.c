/*
 * driver - feeds a fuzz target with seeds and with mutations of them.
 *
 *   fuzz-npz [--seconds S] [--only N] [SEED-FILE...]
 *
 * Input number N is the same on every machine. Without --only, inputs 0, 1, 2, ... run until the
 * time (5 s) is over. When the target crashes, the number is printed; repeat it with --only N.
 */
#include "driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { capacity = 1 << 16, max_seeds = 64 };

typedef struct input {
  uint8_t *data;
  size_t size;
} input;

static input seeds[max_seeds];
static size_t seed_count;
static uint64_t current; /* the number of the running input */

/* Given by sanitizers only. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void say_current(void) {
  fprintf(stderr, "crashed on input %llu; repeat it with --only %llu\n",
          (unsigned long long)current, (unsigned long long)current);
}

static void add_seed(const uint8_t *data, size_t size) {
  if (seed_count == max_seeds) return;
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, data, size);
  seeds[seed_count++] = (input){copy, size};
}

static void add_file(const char *path) {
  static uint8_t buffer[capacity];
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(2);
  }
  add_seed(buffer, fread(buffer, 1, sizeof buffer, file));
  fclose(file);
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t limit) {
  return limit ? (size_t)(next(state) % limit) : 0;
}

/* Overwrites 1, 2, 4 or 8 bytes by a number that breaks sums. */
static void put_number(uint8_t *data, size_t size, uint64_t *state) {
  static const uint64_t numbers[] = {
      0,          1,          0x7f,       0x80,     0xff,       0x7fff,    0xffff,
      0x7fffffff, 0x80000000, 0xffffffff, 1u << 20, UINT64_MAX, INT64_MAX, (uint64_t)1 << 40};
  uint64_t number = numbers[below(state, sizeof numbers / sizeof *numbers)];
  size_t width = (size_t)1 << below(state, 4);
  if (width <= size) memcpy(data + below(state, size - width + 1), &number, width);
}

/* Copies a part of a seed over or into the input. */
static size_t splice(uint8_t *data, size_t size, uint64_t *state) {
  const input *seed = &seeds[below(state, seed_count)];
  size_t from = below(state, seed->size), length = below(state, seed->size - from) + 1;
  if (seed->size == 0) return size;
  size_t at = below(state, size + 1);
  bool insert = next(state) & 1;
  if (at + length + (insert ? size - at : 0) > capacity) return size;
  if (insert) memmove(data + at + length, data + at, size - at);
  memcpy(data + at, seed->data + from, length);
  size_t end = insert ? size + length : at + length;
  return end > size ? end : size;
}

static size_t mutate(uint8_t *data, size_t size, uint64_t *state) {
  size_t at = below(state, size), length = below(state, size - at) + 1;
  switch (size ? below(state, 7) : 6) {
  case 0:
    data[at] ^= (uint8_t)(1u << below(state, 8));
    return size;
  case 1:
    data[at] = (uint8_t)next(state);
    return size;
  case 2:
    put_number(data, size, state);
    return size;
  case 3:
    return at; /* cut short */
  case 4:      /* drop the middle */
    memmove(data + at, data + at + length, size - at - length);
    return size - length;
  case 5:
    memset(data + at, (int)(next(state) & 0xff), length < 32 ? length : 32);
    return size;
  default:
    return splice(data, size, state);
  }
}

/* Seeds first, then each seed with more and more mutations. The input has memory of exactly its
 * size, so that a read past its end is seen. */
static void run(uint64_t number) {
  static uint8_t buffer[capacity];
  const input *seed = &seeds[number % seed_count];
  uint64_t state = number * 0x2545f4914f6cdd1du;
  size_t size = seed->size < capacity ? seed->size : capacity;
  memcpy(buffer, seed->data, size);
  size_t steps = number < seed_count ? 0 : 1 + below(&state, 6);
  for (size_t i = 0; i < steps; i++) size = mutate(buffer, size, &state);
  uint8_t *exact = malloc(size ? size : 1);
  if (!exact) abort();
  memcpy(exact, buffer, size);
  current = number;
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  double seconds = 5;
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
      seconds = atof(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      add_file(argv[i]);
  }
  static uint8_t buffer[capacity];
  size_t size;
  for (size_t i = 0; hl_fuzz_seed && (size = hl_fuzz_seed(i, buffer, capacity)) > 0; i++)
    add_seed(buffer, size);
  if (seed_count == 0) add_seed(buffer, 0);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_current);
  uint64_t number = 0;
  if (only)
    run(strtoull(only, NULL, 10));
  else
    for (double end = now() + seconds; now() < end; number++) run(number);
  printf("%llu inputs from %zu seeds\n", (unsigned long long)number, seed_count);
  for (size_t i = 0; i < seed_count; i++) free(seeds[i].data);
  return 0;
}
