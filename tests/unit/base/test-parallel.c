/* Loops in parts: each part once, however many are asked for, also where no thread can start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parallel.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static bool refuse;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*enter)(void *), void *argument) {
  return refuse ? EAGAIN : __real_pthread_create(thread, attributes, enter, argument);
}

typedef struct counts {
  int times[HL_PARALLEL_MAX]; /* one thread writes each */
  int parts[HL_PARALLEL_MAX];
} counts;

static void count(void *context, int part, int parts) {
  counts *c = context;
  c->times[part]++;
  c->parts[part] = parts;
}

static void check(int asked, int expected) {
  counts c = {0};
  hl_parallel(asked, count, &c);
  for (int i = 0; i < HL_PARALLEL_MAX; i++) {
    assert_int_equal(c.times[i], i < expected);
    assert_int_equal(c.parts[i], i < expected ? expected : 0);
  }
}

static void test_parts(void **state) {
  (void)state;
  for (int refused = 0; refused < 2; refused++) {
    refuse = refused;
    check(-3, 1);
    check(0, 1);
    check(1, 1);
    check(2, 2);
    check(7, 7);
    check(HL_PARALLEL_MAX + 1, HL_PARALLEL_MAX);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
