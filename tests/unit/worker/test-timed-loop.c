/* The timed loop on an engine that only keeps a diary: which images each step saw. */
#include "machine/clock-check.h"
#include "worker/timed-loop.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* -- the clock ------------------------------------------------------------------------------ */

/* The real clocks, moved; --wrap puts this in the place of clock_gettime. */
static struct {
  int64_t monotonic_ns, boot_ns; /* added */
  double speed;                  /* of the monotonic one; 0: as it is */
  uint64_t from_ns;              /* speed counts from here */
  bool still, no_others;
} warp;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t) {
  if (warp.no_others && id != CLOCK_MONOTONIC) return -1;
  if (__real_clock_gettime(id == CLOCK_BOOTTIME ? CLOCK_MONOTONIC : id, t) != 0) return -1;
  if (id == CLOCK_MONOTONIC_RAW) return __real_clock_gettime(CLOCK_MONOTONIC, t);
  int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
  if (id == CLOCK_MONOTONIC && warp.speed > 0)
    ns += (int64_t)((warp.speed - 1) * (double)(ns - (int64_t)warp.from_ns));
  if (id == CLOCK_MONOTONIC) ns += warp.monotonic_ns;
  if (id == CLOCK_MONOTONIC && warp.still) ns = (int64_t)warp.from_ns;
  if (id == CLOCK_BOOTTIME) ns += warp.boot_ns;
  t->tv_sec = ns / 1000000000;
  t->tv_nsec = ns % 1000000000;
  return 0;
}

/* -- the engine ----------------------------------------------------------------------------- */

enum { most_steps = 4096 };
struct hl_request {
  int64_t images; /* of its program */
};
static struct {
  int64_t first[most_steps], count[most_steps];
  size_t steps;
  size_t fail_at; /* step that fails; 0: none */
  long sleep_ns;
  size_t warp_at; /* step in which the clocks move by this */
  int64_t monotonic_ns, boot_ns;
} diary;
static const float *data_start;
static int64_t elements_per_image;
static const hl_tensor_view *bound;

static hl_status fake_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                           hl_error *error) {
  (void)request, (void)input, (void)error;
  bound = view;
  return HL_OK;
}

static hl_status fake_submit(hl_request *request, hl_error *error) {
  if (diary.fail_at && diary.steps + 1 == diary.fail_at)
    return hl_error_set(error, HL_IO, "step %zu fails", diary.fail_at);
  assert_int_equal(bound->dims[0], request->images);
  assert_int_equal(bound->bytes, (uint64_t)(request->images * elements_per_image) * sizeof(float));
  if (diary.steps < most_steps) {
    diary.first[diary.steps] = ((const float *)bound->data - data_start) / elements_per_image;
    diary.count[diary.steps] = request->images;
  }
  diary.steps++;
  if (diary.steps == diary.warp_at) {
    warp.monotonic_ns += diary.monotonic_ns;
    warp.boot_ns += diary.boot_ns;
  }
  if (diary.sleep_ns) nanosleep(&(struct timespec){.tv_nsec = diary.sleep_ns}, NULL);
  return HL_OK;
}

static hl_status fake_wait(hl_request *request, hl_error *error) {
  (void)request, (void)error;
  return HL_OK;
}

/* -- one inference -------------------------------------------------------------------------- */

typedef struct bench {
  hl_configuration configuration;
  hl_port port;
  hl_model_file file;
  hl_inference inference;
  hl_request full, partial;
} bench;

/* `images` in the data, the batch in the configuration. */
static void set_up(bench *b, int64_t images, int64_t batch) {
  *b = (bench){
      .configuration = {.model = "m",
                        .engine = "null",
                        .dtype = "float32",
                        .device = "cpu",
                        .batch_size = batch,
                        .threads = 1,
                        .n_images = images,
                        .seed = 42},
      .port = {.name = "x", .dtype = HL_FLOAT32, .rank = 2, .dims = {-1, 3}},
  };
  b->file = (hl_model_file){.memory_fd = -1, .inputs = &b->port, .input_count = 1};
  assert_int_equal(hl_inference_open(&b->configuration, &b->file, NULL, &b->inference, NULL),
                   HL_OK);
  hl_inference *in = &b->inference;
  in->ops.bind = fake_bind;
  in->ops.submit = fake_submit;
  in->ops.wait = fake_wait;
  b->full.images = in->full.images;
  b->partial.images = in->partial.images;
  in->full.request = &b->full;
  in->partial.request = &b->partial;
  data_start = in->dataset->inputs[0].data;
  elements_per_image = 3;
  memset(&diary, 0, sizeof diary);
}

static void tear_down(bench *b) {
  b->inference.full.request = b->inference.partial.request = NULL;
  hl_inference_release(&b->inference);
}

static hl_timed_result run(bench *b, uint64_t samples, uint32_t group, uint64_t *ns,
                           uint64_t *images) {
  const hl_timed_request request = {.max_samples = samples, .max_ns = UINT64_MAX, .group = group};
  hl_timed_result result;
  assert_int_equal(hl_timed_run(&b->inference, &request, ns, images, &result, NULL), HL_OK);
  return result;
}

/* -- tests ---------------------------------------------------------------------------------- */

static void steps_walk_through_the_data(void **state) {
  (void)state;
  static const struct {
    int64_t images, batch;
    bool full_only;
    int64_t first[8], count[8]; /* of the first eight steps */
  } cases[] = {
      {10, 4, false, {0, 4, 8, 0, 4, 8, 0, 4}, {4, 4, 2, 4, 4, 2, 4, 4}},
      {10, 4, true, {0, 4, 0, 4, 0, 4, 0, 4}, {4, 4, 4, 4, 4, 4, 4, 4}},
      {10, 5, false, {0, 5, 0, 5, 0, 5, 0, 5}, {5, 5, 5, 5, 5, 5, 5, 5}},
      {10, 10, false, {0, 0, 0, 0, 0, 0, 0, 0}, {10, 10, 10, 10, 10, 10, 10, 10}},
      {10, 9, false, {0, 9, 0, 9, 0, 9, 0, 9}, {9, 1, 9, 1, 9, 1, 9, 1}},
      {3, 1, false, {0, 1, 2, 0, 1, 2, 0, 1}, {1, 1, 1, 1, 1, 1, 1, 1}},
      {3, 8, false, {0, 0, 0, 0, 0, 0, 0, 0}, {8, 8, 8, 8, 8, 8, 8, 8}}, /* repeated */
      {1, 1, false, {0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    bench b;
    uint64_t ns[8], images[8];
    set_up(&b, cases[i].images, cases[i].batch);
    b.inference.full_only = cases[i].full_only;
    assert_int_equal(run(&b, 8, 1, ns, images).samples, 8);
    assert_int_equal(diary.steps, 8);
    for (size_t k = 0; k < 8; k++) {
      assert_int_equal(diary.first[k], cases[i].first[k]);
      assert_int_equal(diary.count[k], cases[i].count[k]);
      assert_int_equal(images[k], cases[i].count[k]);
    }
    tear_down(&b);
  }
}

static void data_that_is_too_short_is_repeated_image_by_image(void **state) {
  (void)state;
  bench b;
  set_up(&b, 3, 8);
  assert_true(b.inference.wraps);
  assert_int_equal(b.inference.data_images, 3);
  assert_int_equal(b.inference.dataset->count, 8);
  for (int64_t image = 3; image < 8; image++)
    assert_memory_equal(data_start + 3 * image, data_start + 3 * (image % 3), 3 * sizeof(float));
  tear_down(&b);
}

static void a_run_goes_on_where_the_last_ended(void **state) {
  (void)state;
  bench b;
  uint64_t ns[8], images[8];
  set_up(&b, 10, 4);
  run(&b, 2, 1, ns, images);
  run(&b, 2, 1, ns, images);
  static const int64_t first[] = {0, 4, 8, 0};
  for (size_t i = 0; i < 4; i++) assert_int_equal(diary.first[i], first[i]);
  b.inference.offset = 0; /* what "restart" does */
  run(&b, 1, 1, ns, images);
  assert_int_equal(diary.first[4], 0);
  tear_down(&b);
}

static void groups_are_sums(void **state) {
  (void)state;
  bench b;
  uint64_t ns[8], images[8];
  set_up(&b, 10, 4);
  b.inference.full_only = true;
  hl_timed_result result = run(&b, 5, 7, ns, images);
  assert_int_equal(result.samples, 5);
  assert_int_equal(diary.steps, 35);
  uint64_t sum = 0;
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(images[i], 28);
    sum += ns[i];
  }
  assert_int_equal(result.elapsed_ns, sum);
  tear_down(&b);
}

static void time_ends_after_the_step_that_passes_it(void **state) {
  (void)state;
  bench b;
  static uint64_t ns[1000], images[1000];
  set_up(&b, 4, 4);
  diary.sleep_ns = 2000000;
  const hl_timed_request request = {.max_samples = 1000, .max_ns = 11000000, .group = 1};
  hl_timed_result result;
  assert_int_equal(hl_timed_run(&b.inference, &request, ns, images, &result, NULL), HL_OK);
  assert_true(result.samples >= 1 && result.samples <= 6);
  assert_true(result.elapsed_ns >= 11000000);
  uint64_t before_last = result.elapsed_ns - ns[result.samples - 1];
  assert_true(before_last < 11000000);
  for (size_t i = 0; i < result.samples; i++) assert_true(ns[i] >= 2000000);
  tear_down(&b);
}

static void a_failure_keeps_the_samples_before_it(void **state) {
  (void)state;
  bench b;
  uint64_t ns[8], images[8];
  set_up(&b, 4, 4);
  diary.fail_at = 4;
  const hl_timed_request request = {.max_samples = 8, .max_ns = UINT64_MAX, .group = 1};
  hl_timed_result result;
  hl_error error = {0};
  assert_int_equal(hl_timed_run(&b.inference, &request, ns, images, &result, &error), HL_IO);
  assert_int_equal(result.samples, 3);
  assert_string_equal(error.msg, "step 4 fails");
  tear_down(&b);
}

static void a_simulated_clock_is_exact(void **state) {
  (void)state;
  bench b;
  uint64_t ns[1000], images[1000];
  set_up(&b, 10, 4);
  b.configuration.simulated = true;
  b.configuration.simulated_t0_ns = 1000000;
  b.configuration.simulated_t1_ns = 100000;
  hl_timed_result result = run(&b, 999, 1, ns, images);
  double sums[2] = {0, 0};
  for (size_t i = 0; i < 999; i++) {
    assert_int_equal(images[i], i % 3 == 2 ? 2 : 4);
    sums[i % 3 == 2] += (double)ns[i];
    double base = 1000000 + 100000 * (double)images[i];
    assert_true((double)ns[i] > base * 0.9979 && (double)ns[i] < base * 1.0021);
  }
  assert_float_equal(sums[0] / 666, 1400000, 1400);
  assert_float_equal(sums[1] / 333, 1200000, 1200);
  assert_int_equal(result.samples, 999);
  b.inference.full_only = true;
  result = run(&b, 3, 5, ns, images);
  assert_int_equal(images[0], 20);
  assert_true(ns[0] > 5 * 1396000 && ns[0] < 5 * 1404000);
  assert_int_equal(result.elapsed_ns, ns[0] + ns[1] + ns[2]);
  /* the budget counts simulated time */
  const hl_timed_request request = {.max_samples = 1000, .max_ns = 14000000, .group = 1};
  assert_int_equal(hl_timed_run(&b.inference, &request, ns, images, &result, NULL), HL_OK);
  assert_true(result.samples >= 10 && result.samples <= 11);
  tear_down(&b);
}

static void the_overhead_is_that_of_an_engine_that_does_nothing(void **state) {
  (void)state;
  bench b;
  set_up(&b, 10, 4);
  diary.sleep_ns = 1000000; /* of no account */
  double ns = -1;
  assert_int_equal(hl_timed_overhead(&b.inference, &ns, NULL), HL_OK);
  assert_true(ns > 0 && ns < 100000);
  assert_int_equal(diary.steps, 0);
  uint64_t sample[3], images[3];
  run(&b, 3, 1, sample, images); /* and the inference is as it was */
  assert_int_equal(diary.first[0], 0);
  assert_int_equal(diary.first[2], 8);
  tear_down(&b);
}

/* Twenty steps of 2 ms; what the check says of them. */
static hl_status run_checked(bench *b, uint64_t steps, hl_clock_course *ret_course,
                             hl_error *error) {
  static uint64_t ns[200], images[200];
  hl_clock_moment before, after;
  diary.sleep_ns = 2000000;
  hl_clock_moment_read(&before);
  hl_timed_result result = run(b, steps, 1, ns, images);
  hl_clock_moment_read(&after);
  return hl_clock_check(&before, &after, ns, (size_t)result.samples, ret_course, error);
}

static void a_sound_clock_is_found_sound(void **state) {
  (void)state;
  bench b;
  hl_clock_course course;
  set_up(&b, 10, 4);
  assert_int_equal(run_checked(&b, 20, &course, NULL), HL_OK);
  assert_true(course.suspended_s == 0);
  assert_true(fabs(course.adjusted_share) < 1e-3);
  tear_down(&b);
}

/* Each is seen, whether it lasts or is gone at the end of the slice. */
static void a_clock_that_jumps_is_found_out(void **state) {
  (void)state;
  static const int64_t ms = 1000000, hour = 3600000 * ms;
  static const struct {
    int64_t by_ns;
    const char *said;
  } cases[] = {{-hour, "ran backwards by"},
               {-5 * ms, "ran backwards by"},
               {-200 * ms, "ran backwards by"},
               {hour, "the clock jumped"},
               {400 * ms, "the clock jumped"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    bench b;
    hl_clock_course course;
    hl_error error = {0};
    set_up(&b, 10, 4);
    diary.warp_at = 10;
    diary.monotonic_ns = cases[i].by_ns;
    assert_int_equal(run_checked(&b, 20, &course, &error), HL_IO);
    if (!strstr(error.msg, cases[i].said)) fail_msg("%s", error.msg);
    memset(&warp, 0, sizeof warp);
    tear_down(&b);
  }
}

static void a_clock_that_stands_still_is_found_out(void **state) {
  (void)state;
  bench b;
  hl_clock_course course;
  hl_error error = {0};
  set_up(&b, 10, 4);
  warp.from_ns = 5000000000;
  warp.still = true;
  assert_int_equal(run_checked(&b, 120, &course, &error), HL_IO);
  assert_non_null(strstr(error.msg, "stood still while 120 samples"));
  assert_int_equal(run_checked(&b, 20, &course, &error), HL_IO); /* the others went on */
  assert_non_null(strstr(error.msg, "jumped"));
  memset(&warp, 0, sizeof warp);
  tear_down(&b);
}

static void sleep_and_steering_are_told(void **state) {
  (void)state;
  bench b;
  hl_clock_course course;
  struct timespec now;
  set_up(&b, 10, 4);
  diary.warp_at = 5;
  diary.boot_ns = 3600000000000;
  assert_int_equal(run_checked(&b, 20, &course, NULL), HL_OK);
  assert_true(fabs(course.suspended_s - 3600) < 0.1);
  memset(&warp, 0, sizeof warp);
  diary.warp_at = 0;
  __real_clock_gettime(CLOCK_MONOTONIC, &now);
  warp.from_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  warp.speed = 1.02;
  assert_int_equal(run_checked(&b, 20, &course, NULL), HL_OK);
  assert_true(course.adjusted_share > 0.01 && course.adjusted_share < 0.025);
  warp.speed = 0.98;
  assert_int_equal(run_checked(&b, 20, &course, NULL), HL_OK);
  assert_true(course.adjusted_share < -0.01 && course.adjusted_share > -0.025);
  memset(&warp, 0, sizeof warp);
  warp.no_others = true; /* unknown is no 0 */
  assert_int_equal(run_checked(&b, 20, &course, NULL), HL_OK);
  assert_true(isnan(course.suspended_s) && isnan(course.adjusted_share));
  memset(&warp, 0, sizeof warp);
  tear_down(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_walk_through_the_data),
      cmocka_unit_test(data_that_is_too_short_is_repeated_image_by_image),
      cmocka_unit_test(a_run_goes_on_where_the_last_ended),
      cmocka_unit_test(groups_are_sums),
      cmocka_unit_test(time_ends_after_the_step_that_passes_it),
      cmocka_unit_test(a_failure_keeps_the_samples_before_it),
      cmocka_unit_test(a_simulated_clock_is_exact),
      cmocka_unit_test(a_sound_clock_is_found_sound),
      cmocka_unit_test(a_clock_that_jumps_is_found_out),
      cmocka_unit_test(a_clock_that_stands_still_is_found_out),
      cmocka_unit_test(sleep_and_steering_are_told),
      cmocka_unit_test(the_overhead_is_that_of_an_engine_that_does_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
