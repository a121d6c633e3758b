/* Tables of made-up profiles: nesting, groups, the gap, other threads; a log that is spoilt. */
#include "analyse/profile.h"
#include "base/clock.h"
#include "record/profile-log.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static hl_profile *made(void) {
  hl_profile *p;
  assert_int_equal(hl_profile_new(&p, NULL), HL_OK);
  return p;
}

static int32_t operator(hl_profile *p, const char *name, const char *kind, const char *layer,
                        double flops) {
  const hl_profile_operator o = {
      .name = name, .kind = kind, .layer = layer, .flops = flops, .bytes = 10, .memory_bytes = 5};
  return hl_profile_operator_add(p, &o);
}

static void event(hl_profile *p, int32_t id, int32_t thread, uint64_t start, uint64_t duration) {
  const hl_profile_event e = {
      .operator= id, .thread = thread, .start_ns = start, .duration_ns = duration};
  assert_int_equal(hl_profile_event_add(p, &e), HL_OK);
}

static const hl_profile_row *row(const hl_profile_table *t, const char *name) {
  for (size_t i = 0; i < t->count; i++)
    if (strcmp(t->rows[i].name, name) == 0) return &t->rows[i];
  return NULL;
}

/* stage [0, 100) holds conv [10, 40) with a copy [15, 20) in it, and conv [50, 70); the step is
 * [0, 120); a device is busy meanwhile. */
static hl_profile *nested(void) {
  hl_profile *p = made();
  int32_t conv = operator(p, "a", "Conv", "a", 600), copy = operator(p, "c", "Copy", "a", 0);
  int32_t stage = operator(p, "work", HL_PROFILE_SPAN, "", (double)NAN);
  event(p, conv, 0, 50, 20);
  event(p, copy, 0, 15, 5);
  event(p, conv, 0, 10, 30);
  event(p, conv, 7, 0, 90);
  event(p, stage, 0, 0, 100);
  assert_int_equal(hl_profile_step_add(p, 0, 120), HL_OK);
  p->peak_gflops = 20;
  p->bandwidth_gbs = 1;
  return p;
}

static void events_nest_and_add_up(void **state) {
  (void)state;
  hl_profile *p = nested();
  hl_profile_table t;
  assert_int_equal(hl_profile_tabulate(p, HL_PROFILE_BY_OPERATOR, &t, NULL), HL_OK);
  double sum = 0;
  for (size_t i = 0; i < t.count; i++) sum += t.rows[i].aside ? 0 : t.rows[i].self_ns;
  assert_float_equal(sum, 120, 1e-9);
  assert_float_equal(t.covered_ns, 100, 1e-9);
  const hl_profile_row *a = NULL;
  for (size_t i = 0; i < t.count; i++)
    if (strcmp(t.rows[i].name, "a") == 0 && !t.rows[i].aside) a = &t.rows[i];
  assert_non_null(a);
  assert_int_equal(a->calls, 2);
  assert_float_equal(a->self_ns, 45, 1e-9);
  assert_float_equal(a->total_ns, 50, 1e-9);
  assert_float_equal(a->flops, 1200, 1e-9);
  assert_float_equal(a->gflops, 24, 1e-9);
  assert_float_equal(a->intensity, 60, 1e-9);
  assert_float_equal(a->roofline, 24.0 / 20,
                     1e-9); /* by FLOPs: 60 FLOPs a byte at 1 GB/s is more */
  assert_string_equal(a->phase, "");
  assert_float_equal(row(&t, "work")->self_ns, 50, 1e-9);
  assert_true(t.rows[t.count - 1].is_gap);
  assert_float_equal(t.rows[t.count - 1].self_ns, 20, 1e-9);
  hl_profile_table_release(&t);
  hl_profile_free(p);
}

static void a_layer_has_its_operators(void **state) {
  (void)state;
  hl_profile *p = nested();
  hl_profile_table t;
  assert_int_equal(hl_profile_tabulate(p, HL_PROFILE_BY_LAYER, &t, NULL), HL_OK);
  for (size_t i = 0; i < t.count; i++)
    if (strcmp(t.rows[i].name, "a") == 0 && !t.rows[i].aside) {
      assert_float_equal(t.rows[i].self_ns, 50, 1e-9); /* each nanosecond once */
      assert_float_equal(t.rows[i].total_ns, 50, 1e-9);
      assert_int_equal(t.rows[i].calls, 3);
    }
  hl_profile_table_release(&t);
  assert_int_equal(hl_profile_tabulate(p, HL_PROFILE_BY_KIND, &t, NULL), HL_OK);
  assert_float_equal(row(&t, "Copy")->self_ns, 5, 1e-9);
  hl_profile_table_release(&t);
  hl_profile_free(p);
}

static void nothing_is_a_table_without_rows(void **state) {
  (void)state;
  hl_profile *p = made();
  for (int by = 0; by < HL_PROFILE_BYS; by++) {
    hl_profile_table t;
    assert_int_equal(hl_profile_tabulate(p, (hl_profile_by)by, &t, NULL), HL_OK);
    assert_int_equal(t.count, 0);
    hl_profile_table_release(&t);
  }
  hl_profile_free(p);
}

/* A log as another process writes it, in a file of `bytes`. */
static int written(size_t bytes, int events) {
  int fd;
  char path[64];
  hl_profile_log *log;
  assert_int_equal(hl_profile_log_create(bytes, &fd, NULL), HL_OK);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  assert_int_equal(hl_profile_log_open(path, &log, NULL), HL_OK);
  hl_profile_log *second;
  assert_int_equal(hl_profile_log_open(path, &second, NULL), HL_BAD_DATA); /* not fresh */
  const hl_profile_operator one = {.name = "one", .kind = "k", .flops = 1}, two = {.name = "two"};
  for (int i = 0; i < events; i++)
    hl_profile_log_event(log, i % 3 ? &one : &two, i, 0, hl_clock_ns(), 1);
  const float pixels[6] = {0, 1};
  const hl_profile_picture picture = {
      .name = "p", .step = 3, .height = 2, .width = 3, .pixels = pixels};
  hl_profile_log_scalar(log, "psnr", 4, 31.5);
  hl_profile_log_picture(log, &picture);
  hl_profile_log_free(log);
  return fd;
}

static void a_log_is_read_back(void **state) {
  (void)state;
  int fd = written(1 << 20, 30);
  hl_profile *p = made();
  assert_int_equal(hl_profile_log_read(fd, p, NULL), HL_OK);
  assert_int_equal(p->operator_count, 2);
  assert_int_equal(p->event_count, 30);
  assert_string_equal(p->operators[p->events[4].operator].name, "one");
  assert_string_equal(p->operators[p->events[3].operator].kind, "");
  assert_int_equal(p->events[29].step, 29);
  assert_true(p->events[29].start_ns >= p->events[28].start_ns && p->wall_start_us > 0);
  assert_true(p->events[29].start_ns < 10u * 1000000000u); /* since the log's beginning */
  assert_int_equal(p->scalar_count, 1);
  assert_float_equal(p->scalars[0].value, 31.5, 0);
  assert_int_equal(p->picture_count, 1);
  assert_string_equal(p->pictures[0].name, "p");
  assert_float_equal(p->pictures[0].pixels[1], 1, 0);
  hl_profile_free(p);
  close(fd);
}

/* Whatever bytes are turned over, reading ends, and says BAD_DATA or gives a profile. */
static void a_spoilt_log_is_survived(void **state) {
  (void)state;
  enum { bytes = 4096 };
  uint32_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    int fd = written(bytes, 3);
    unsigned char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < 4; i++) {
      seed = seed * 1664525u + 1013904223u;
      at[(seed >> 8) % 512] = (unsigned char)(seed >> 24);
    }
    munmap(at, bytes);
    hl_profile *p = made();
    hl_status status = hl_profile_log_read(fd, p, NULL);
    assert_true(status == HL_OK || status == HL_BAD_DATA || status == HL_OUT_OF_MEMORY);
    for (size_t i = 0; i < p->event_count; i++)
      assert_true((size_t)p->events[i].operator<p->operator_count);
    hl_profile_free(p);
    close(fd);
  }
}

static void a_full_log_counts_what_it_lacks(void **state) {
  (void)state;
  int fd = written(512, 50);
  hl_profile *p = made();
  hl_profile_log_read(fd, p, NULL);
  assert_true(p->dropped_events > 30);
  hl_profile_free(p);
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_nest_and_add_up),
                                     cmocka_unit_test(a_layer_has_its_operators),
                                     cmocka_unit_test(nothing_is_a_table_without_rows),
                                     cmocka_unit_test(a_log_is_read_back),
                                     cmocka_unit_test(a_spoilt_log_is_survived),
                                     cmocka_unit_test(a_full_log_counts_what_it_lacks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
