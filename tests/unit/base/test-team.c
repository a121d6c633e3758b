#include "base/team.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int startable = 1000; /* threads that may still be started */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  if (startable <= 0) return 11; /* EAGAIN */
  startable--;
  return __real_pthread_create(thread, attributes, start, argument);
}

enum { COUNT = 1000 };

typedef struct job {
  int first[COUNT], second[COUNT], calls[HL_TEAM_MAX];
  bool early; /* a block of the second loop began before all of the first were done */
} job;

static void first(void *context, size_t i, int part) {
  (void)part;
  job *j = context;
  j->first[i]++;
}

static void second(void *context, size_t i, int part) {
  (void)part;
  job *j = context;
  if (j->first[COUNT - 1 - i] != 1) j->early = true;
  j->second[i]++;
}

static void work(void *context, hl_team *team, int part) {
  job *j = context;
  j->calls[part]++;
  hl_team_loop(team, 0, COUNT, first, j, part);
  hl_team_loop(team, 1, COUNT, second, j, part);
}

static void check_runs(int asked, int size) {
  hl_team *team = hl_team_new(asked);
  assert_non_null(team);
  assert_int_equal(hl_team_size(team), size);
  for (int run = 0; run < 200; run++) {
    job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    hl_team_run(team, work, j);
    assert_false(j->early);
    for (int i = 0; i < COUNT; i++) assert_true(j->first[i] == 1 && j->second[i] == 1);
    for (int i = 0; i < HL_TEAM_MAX; i++) assert_in_range(j->calls[i], i == 0, i < size);
    free(j);
  }
  hl_team_free(team);
}

static void test_each_block_once(void **state) {
  (void)state;
  check_runs(1, 1);
  check_runs(2, 2);
  check_runs(5, 5);
  check_runs(0, 1);
}

static void test_threads_that_cannot_be_started(void **state) {
  (void)state;
  startable = 0;
  check_runs(4, 1);
  startable = 2;
  check_runs(4, 3);
  startable = 1000;
}

static void test_none(void **state) {
  (void)state;
  assert_int_equal(hl_team_size(NULL), 1);
  hl_team_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_block_once),
                                     cmocka_unit_test(test_threads_that_cannot_be_started),
                                     cmocka_unit_test(test_none)};
  return cmocka_run_group_tests_name("base/team", tests, NULL, NULL);
}
