/* The loader: the same batches however many threads make them, and what it does at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/hash.h"
#include "data/loader.h"
#include "data/sample-order.h"
#include "numeric/random.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { samples = 37 };

/* -- a source whose samples differ in size and take time, and of which some are bad ---------- */

static const hl_source_port raw_ports[] = {{{"x", HL_FLOAT32, 1, {-1}}, false, false},
                                           {{"table", HL_UINT8, 1, {5}}, false, true},
                                           {{"label", HL_INT64, 0, {0}}, true, false}};
static const hl_source_port made_ports[] = {{{"x", HL_FLOAT32, 2, {2, 3}}, false, false},
                                            {{"table", HL_UINT8, 1, {5}}, false, true},
                                            {{"label", HL_INT64, 0, {0}}, true, false}};

static hl_status shape(void *context, int64_t index, hl_tensor_view *values, hl_error *error) {
  (void)context;
  (void)error;
  values[0].dims[0] = 4 + index % 7;
  values[0].bytes = (uint64_t)(4 + index % 7) * sizeof(float);
  return HL_OK;
}

static hl_status read_sample(void *context, int64_t index, hl_tensor_view *values,
                             hl_error *error) {
  const int64_t *bad = context;
  if (index % 5 == 0) usleep(300);
  if (bad && (index == bad[0] || index == bad[1]))
    return hl_error_set(error, HL_BAD_DATA, "sample %" PRId64 " is broken", index);
  for (int64_t i = 0; i < values[0].dims[0]; i++)
    ((float *)values[0].data)[i] = (float)(index * 100 + i);
  if (values[1].data) memcpy(values[1].data, "\1\2\3\4\5", 5);
  memcpy(values[2].data, &index, sizeof index);
  return HL_OK;
}

static hl_status crop(void *context, uint64_t seed, const hl_tensor_view *sample,
                      const hl_tensor_view *values, hl_error *error) {
  (void)context;
  (void)error;
  assert_true(!sample[1].data && !values[1].data);
  hl_random random;
  hl_random_init(&random, seed, 0);
  float *to = values[0].data;
  for (int i = 0; i < 6; i++)
    to[i] = ((float *)sample[0].data)[hl_random_below(&random, (uint64_t)sample[0].dims[0])] + 0.5f;
  memcpy(values[2].data, sample[2].data, sizeof(int64_t));
  return HL_OK;
}

static const hl_source varied = {
    .count = samples, .port_count = 3, .ports = raw_ports, .shape = shape, .read = read_sample};

static hl_loader_spec spec_of(const hl_source *source, int threads, int depth) {
  return (hl_loader_spec){.source = source,
                          .batch_size = 8,
                          .threads = threads,
                          .depth = depth,
                          .seed = 42,
                          .is_shuffled = true,
                          .epochs = 3,
                          .transform = crop,
                          .ports = made_ports};
}

static hl_loader *new_loader(const hl_loader_spec *spec) {
  hl_loader *loader = NULL;
  hl_error error = {0};
  if (hl_loader_new(spec, &loader, &error) != HL_OK) fail_msg("%s", error.msg);
  return loader;
}

/* A hash of all that the batch says and holds, but for times. */
static uint64_t hash_batch(const hl_batch *batch) {
  int64_t facts[] = {batch->epoch, batch->number, batch->count};
  uint64_t hash = hl_hash_bytes(HL_HASH_START, facts, sizeof facts);
  hash = hl_hash_bytes(hash, batch->indices, (size_t)batch->count * sizeof(int64_t));
  for (size_t i = 0; i < batch->value_count; i++) {
    assert_int_equal((uintptr_t)batch->values[i].data % 64, 0);
    hash = hl_hash_bytes(hash, batch->values[i].data, (size_t)batch->values[i].bytes);
  }
  return hash;
}

static uint64_t take(hl_loader *loader) {
  const hl_batch *batch = NULL;
  hl_error error = {0};
  if (hl_loader_next(loader, &batch, &error) != HL_OK) fail_msg("%s", error.msg);
  if (!batch) return 0;
  uint64_t hash = hash_batch(batch);
  hl_loader_return(loader, batch);
  return hash;
}

static void test_same_for_all_threads(void **state) {
  (void)state;
  uint64_t expected[16] = {0};
  size_t count = 0;
  static const int cases[][2] = {{0, 0}, {1, 1}, {2, 3}, {3, 1}, {8, 5}, {32, 2}};
  for (size_t c = 0; c < HL_COUNT(cases); c++) {
    hl_loader_spec spec = spec_of(&varied, cases[c][0], cases[c][1]);
    hl_loader *loader = new_loader(&spec);
    for (size_t i = 0; i < 16; i++) {
      uint64_t hash = take(loader);
      if (c == 0) {
        expected[i] = hash;
        count += hash != 0;
      }
      assert_true(hash == expected[i]);
    }
    hl_loader_free(loader);
  }
  assert_int_equal(count, 15); /* 3 epochs of 5, and the end */
  for (size_t i = 0; i < 15; i++)
    for (size_t j = 0; j < i; j++) assert_true(expected[i] != expected[j]);
}

static void test_epochs(void **state) {
  (void)state;
  hl_loader_spec spec = spec_of(&varied, 2, 2);
  hl_loader *loader = new_loader(&spec);
  int64_t orders[3][samples];
  for (int epoch = 0; epoch < 3; epoch++) {
    bool seen[samples] = {false};
    for (int64_t number = 0, at = 0; number < 5; number++) {
      const hl_batch *batch = NULL;
      assert_int_equal(hl_loader_next(loader, &batch, NULL), HL_OK);
      assert_int_equal(batch->epoch, epoch);
      assert_int_equal(batch->number, number);
      assert_int_equal(batch->count, number < 4 ? 8 : 5);
      assert_int_equal(batch->values[0].rank, 3);
      assert_int_equal(batch->values[0].dims[0], batch->count);
      assert_int_equal(batch->values[0].bytes, batch->count * 24);
      assert_int_equal(batch->values[1].rank, 1);
      assert_memory_equal(batch->values[1].data, "\1\2\3\4\5", 5);
      assert_int_equal(batch->values[2].rank, 1);
      for (int64_t i = 0; i < batch->count; i++) {
        int64_t index = ((int64_t *)batch->values[2].data)[i];
        float x = ((float *)batch->values[0].data)[i * 6];
        assert_int_equal(index, batch->indices[i]);
        assert_int_equal((int64_t)x / 100, index);
        assert_false(seen[index]);
        seen[index] = true;
        orders[epoch][at++] = index;
      }
      hl_loader_return(loader, batch);
    }
  }
  assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
  assert_memory_not_equal(orders[1], orders[2], sizeof orders[0]);
  hl_loader_statistics s;
  hl_loader_get_statistics(loader, &s);
  assert_int_equal(s.batches, 15);
  assert_int_equal(s.samples, 3 * samples);
  assert_int_equal(s.threads, 2);
  assert_int_equal(s.buffer_bytes, 3 * (8 * 24 + 5 + 8 * 8));
  assert_true(s.load_ns >= 3 * 8 * 300000); /* of the samples that take 0.3 ms */
  assert_true(s.first_load_ns > 0 && s.first_wait_ns <= s.wait_ns);
  assert_true(s.mean_ready >= 0 && s.mean_ready <= 3);
  hl_loader_free(loader);
}

static void test_whole_in_order(void **state) {
  (void)state;
  hl_loader_spec spec = spec_of(&varied, 2, 1);
  spec.is_shuffled = false;
  spec.is_whole = true;
  hl_loader *loader = new_loader(&spec);
  for (int64_t i = 0; i < 12; i++) {
    const hl_batch *batch = NULL;
    assert_int_equal(hl_loader_next(loader, &batch, NULL), HL_OK);
    assert_int_equal(batch->count, 8);
    for (int64_t k = 0; k < 8; k++) assert_int_equal(batch->indices[k], i % 4 * 8 + k);
    hl_loader_return(loader, batch);
  }
  const hl_batch *batch = NULL;
  assert_int_equal(hl_loader_next(loader, &batch, NULL), HL_OK);
  assert_null(batch);
  hl_loader_free(loader);
}

static void test_seek(void **state) {
  (void)state;
  hl_loader_spec spec = spec_of(&varied, 0, 0);
  hl_loader *loader = new_loader(&spec);
  uint64_t expected[15];
  for (int i = 0; i < 15; i++) expected[i] = take(loader);
  hl_loader_free(loader);
  for (int threads = 0; threads < 4; threads += 3) {
    spec = spec_of(&varied, threads, 4);
    spec.held = 2;
    loader = new_loader(&spec);
    const hl_batch *held = NULL;
    assert_int_equal(hl_loader_next(loader, &held, NULL), HL_OK);
    for (int i = 14; i >= 0; i -= 3) { /* back and forth, a batch held */
      assert_int_equal(hl_loader_seek(loader, i / 5, i % 5, NULL), HL_OK);
      assert_true(take(loader) == expected[i]);
      assert_true(take(loader) == (i < 14 ? expected[i + 1] : 0));
    }
    assert_true(hash_batch(held) == expected[0]);
    hl_error error = {0};
    assert_int_equal(hl_loader_seek(loader, 3, 0, &error), HL_INVALID_ARGUMENT);
    assert_int_equal(hl_loader_seek(loader, 0, 5, &error), HL_INVALID_ARGUMENT);
    assert_int_equal(hl_loader_seek(loader, -1, 0, &error), HL_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "5 batches in an epoch"));
    hl_loader_return(loader, held);
    hl_loader_free(loader);
  }
}

/* Of two bad samples in a batch the first is named, whichever thread is faster. */
static void test_errors(void **state) {
  (void)state;
  int64_t bad[] = {11, 10}; /* both in batch 1, and 10 takes longer */
  hl_source source = varied;
  source.context = bad;
  for (int threads = 0; threads < 9; threads += 4) {
    hl_loader_spec spec = spec_of(&source, threads, 2);
    spec.is_shuffled = false;
    hl_loader *loader = new_loader(&spec);
    assert_true(take(loader) != 0);
    for (int i = 0; i < 2; i++) {
      const hl_batch *batch = NULL;
      hl_error error = {0};
      assert_int_equal(hl_loader_next(loader, &batch, &error), HL_BAD_DATA);
      assert_string_equal(error.msg, "sample 10 is broken");
    }
    assert_int_equal(hl_loader_seek(loader, 0, 2, NULL), HL_OK);
    assert_true(take(loader) != 0);
    hl_loader_free(loader);
  }
}

static void test_too_many_held(void **state) {
  (void)state;
  for (int threads = 0; threads < 3; threads += 2) {
    hl_loader_spec spec = spec_of(&varied, threads, 1);
    hl_loader *loader = new_loader(&spec);
    const hl_batch *batches[2] = {NULL}, *none = NULL;
    for (int i = 0; i < 2; i++) assert_int_equal(hl_loader_next(loader, &batches[i], NULL), HL_OK);
    hl_error error = {0};
    assert_int_equal(hl_loader_next(loader, &none, &error), HL_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "return one first"));
    hl_loader_return(loader, batches[0]); /* in another order than they came */
    assert_int_equal(hl_loader_next(loader, &none, NULL), HL_OK);
    assert_int_equal(none->number, 2);
    hl_loader_free(loader);
  }
}

static void test_refused(void **state) {
  (void)state;
  hl_source_port huge[3];
  memcpy(huge, made_ports, sizeof huge);
  huge[0].port.dims[0] = INT64_MAX / 32;
  static const struct {
    int threads, depth;
    int64_t batch;
    bool is_whole, raw, huge;
    hl_status status;
  } cases[] = {{-1, 1, 8, false, false, false, HL_INVALID_ARGUMENT},
               {100000, 1, 8, false, false, false, HL_INVALID_ARGUMENT},
               {1, -1, 8, false, false, false, HL_INVALID_ARGUMENT},
               {1, 1, 0, false, false, false, HL_INVALID_ARGUMENT},
               {1, 1, 38, true, false, false, HL_INVALID_ARGUMENT},
               {1, 1, 8, false, true, false, HL_INVALID_ARGUMENT}, /* sizes differ */
               {1, 1, 8, false, false, true, HL_LIMIT}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_loader_spec spec = spec_of(&varied, cases[i].threads, cases[i].depth);
    spec.batch_size = cases[i].batch;
    spec.is_whole = cases[i].is_whole;
    if (cases[i].huge) spec.ports = huge;
    if (cases[i].raw) {
      spec.ports = NULL;
      spec.transform = NULL;
    }
    hl_loader *loader = NULL;
    hl_error error = {0};
    assert_int_equal(hl_loader_new(&spec, &loader, &error), cases[i].status);
    assert_true(error.msg[0] && !loader);
  }
}

/* -- a data set in memory --------------------------------------------------------------------- */

static void test_dataset(void **state) {
  (void)state;
  static const hl_port ports[] = {{"x", HL_FLOAT32, 3, {-1, 4, 5}},
                                  {"scale", HL_FLOAT32, 1, {6}},
                                  {"label", HL_INT64, 1, {-1}}};
  static const hl_data_rule rules[] = {{0, 0}, {-1, 0}, {0, 10}};
  hl_dataset *d = NULL;
  hl_source *source = NULL;
  assert_int_equal(hl_dataset_synthetic(ports, rules, 3, 11, 7, &d, NULL), HL_OK);
  assert_int_equal(hl_source_of_dataset(d, rules, 1, &source, NULL), HL_OK);
  assert_int_equal(source->count, 11);
  assert_false(source->ports[0].is_target);
  assert_true(source->ports[2].is_target && source->ports[1].is_constant);
  assert_int_equal(source->ports[0].port.rank, 2);
  for (int threads = 0; threads < 3; threads++) {
    hl_loader_spec spec = {.source = source, .batch_size = 3, .threads = threads, .epochs = 1};
    hl_loader *loader = new_loader(&spec);
    for (int64_t at = 0; at < 11; at += 3) {
      const hl_batch *batch = NULL;
      assert_int_equal(hl_loader_next(loader, &batch, NULL), HL_OK);
      const float *x = (const float *)d->inputs[0].data + at * 20;
      assert_int_equal(batch->count, at < 9 ? 3 : 2);
      assert_memory_equal(batch->values[0].data, x, (size_t)batch->count * 20 * sizeof *x);
      assert_memory_equal(batch->values[1].data, d->inputs[1].data, 6 * sizeof *x);
      assert_memory_equal(batch->values[2].data, (const int64_t *)d->inputs[2].data + at,
                          (size_t)batch->count * sizeof(int64_t));
      hl_loader_return(loader, batch);
    }
    hl_loader_free(loader);
  }
  hl_source_free(source);
  hl_dataset_free(d);
}

/* Each of the 24 orders of 4 samples is as frequent: chi-square, 23 degrees of freedom, p = 1e-6.
 */
static void test_shuffle_is_uniform(void **state) {
  (void)state;
  enum { trials = 24000 };
  int counts[256] = {0};
  hl_sample_order order;
  assert_int_equal(hl_sample_order_init(4, 4, 9, true, false, &order, NULL), HL_OK);
  for (int64_t epoch = 0; epoch < trials; epoch++) {
    int64_t i[4];
    assert_int_equal(hl_sample_order_batch(&order, epoch, 0, i), 4);
    counts[i[0] | i[1] << 2 | i[2] << 4 | i[3] << 6]++;
  }
  hl_sample_order_release(&order);
  double chi = 0;
  int kinds = 0;
  for (int i = 0; i < 256; i++) {
    kinds += counts[i] > 0;
    if (counts[i]) chi += pow(counts[i] - 1000, 2) / 1000;
  }
  assert_int_equal(kinds, 24);
  assert_true(chi < 73.6);
}

static void test_threads_needed(void **state) {
  (void)state;
  assert_int_equal(hl_loader_threads_needed(0, 5), 0);
  assert_int_equal(hl_loader_threads_needed(5, 5), 1);
  assert_int_equal(hl_loader_threads_needed(5.1, 5), 2);
  assert_int_equal(hl_loader_threads_needed(1, 100), 1);
  assert_true(hl_loader_threads_needed(1, 0) == INT64_MAX);
}

/* -- a loader that is slow, and one that is not ------------------------------------------------ */

static hl_status read_slowly(void *context, int64_t index, hl_tensor_view *values,
                             hl_error *error) {
  (void)error;
  usleep(*(const useconds_t *)context);
  memcpy(values[0].data, &index, sizeof index);
  return HL_OK;
}

/* The share of the time that steps wait, and how many threads are said to be needed. Nothing here
 * needs a core: samples and steps sleep. */
static double share_of_waiting(useconds_t sample_us, int64_t batch_size, int threads,
                               useconds_t step_us, int64_t *ret_needed) {
  enum { steps = 40 };
  static const hl_source_port port = {{"x", HL_INT64, 0, {0}}, false, false};
  const hl_source source = {
      .context = &sample_us, .count = 256, .port_count = 1, .ports = &port, .read = read_slowly};
  const hl_loader_spec spec = {.source = &source, .batch_size = batch_size, .threads = threads};
  hl_loader *loader;
  const hl_batch *batch;
  uint64_t load = 0, wait = 0, busy = 0;
  assert_int_equal(hl_loader_new(&spec, &loader, NULL), HL_OK);
  for (int i = 0; i < steps; i++) {
    assert_int_equal(hl_loader_next(loader, &batch, NULL), HL_OK);
    uint64_t start = hl_clock_ns();
    usleep(step_us);
    if (i > 2) {
      load += batch->load_ns;
      wait += batch->wait_ns;
      busy += hl_clock_ns() - start;
    }
    hl_loader_return(loader, batch);
  }
  hl_loader_free(loader);
  *ret_needed = hl_loader_threads_needed((double)load, (double)busy);
  return (double)wait / (double)(wait + busy);
}

/* Whether as many threads as are said to be needed end the waiting, and one is said to be enough
 * where it is. */
static bool enough_are_named(int64_t batch_size) {
  int64_t needed = 0, ignored = 0;
  useconds_t sample_us = (useconds_t)(10000 / batch_size);
  double alone = share_of_waiting(sample_us, batch_size, 1, 3000, &needed);
  if (alone <= 0.4 || needed <= 1 || needed > 6) return false; /* 10 / 3, less if sleep is late */
  if (share_of_waiting(sample_us, batch_size, (int)needed, 3000, &ignored) >= alone / 3)
    return false;
  /* Half as much work as a step's time. */
  return share_of_waiting(sample_us / 4, batch_size, 1, 5000, &needed) < alone / 3 && needed == 1;
}

static void test_as_many_threads_as_it_says_end_the_waiting(void **state) {
  (void)state;
  static const int64_t batches[] = {4, 1}; /* one batch of many samples, many of one */
  for (size_t i = 0; i < 2; i++) {
    bool named = false; /* again where the machine is so busy that sleeps end late */
    for (int again = 0; again < 10 && !named; again++) named = enough_are_named(batches[i]);
    assert_true(named);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_for_all_threads),
      cmocka_unit_test(test_epochs),
      cmocka_unit_test(test_whole_in_order),
      cmocka_unit_test(test_seek),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_too_many_held),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_dataset),
      cmocka_unit_test(test_shuffle_is_uniform),
      cmocka_unit_test(test_threads_needed),
      cmocka_unit_test(test_as_many_threads_as_it_says_end_the_waiting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
