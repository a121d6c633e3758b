/* Buckets of gradients over a transport that is none: it plays the other ranks. */
#include "peers/gradients.h"
#include "peers/peers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { most_sums = 64, ranks = 4 };

/* All ranks have the same gradients: a sum is four times the values, once it is tested often. */
static struct {
  float *values[most_sums];
  size_t counts[most_sums], begun, pending;
  int tests_left;
  bool warned;
  int64_t failing; /* rank with a failure of its own; -1: none */
} other;

static hl_status join(int64_t *ret_rank, int64_t *ret_count, hl_error *error) {
  (void)error;
  *ret_rank = 1;
  *ret_count = ranks;
  return HL_OK;
}

static const char *version(void) {
  return "none";
}

static hl_status broadcast(void *bytes, size_t count, hl_error *error) {
  (void)bytes, (void)count, (void)error;
  return HL_OK;
}

static hl_status gather(const void *mine, size_t bytes, void *ret_all, hl_error *error) {
  (void)error;
  for (size_t r = 0; r < ranks; r++) memcpy((char *)ret_all + r * bytes, mine, bytes);
  if (other.failing >= 0 && bytes == sizeof(int64_t))
    ((int64_t *)ret_all)[other.failing] = HL_BAD_DATA;
  if (other.failing >= 0 && bytes == sizeof(hl_error)) {
    hl_error *all = ret_all;
    strcpy(all[other.failing].msg, "its own");
  }
  return HL_OK;
}

static hl_status sum_begin(float *values, size_t count, hl_error *error) {
  (void)error;
  assert_true(other.begun < most_sums);
  other.values[other.begun] = values;
  other.counts[other.begun++] = count;
  other.pending++;
  return HL_OK;
}

static hl_status sum_test(bool *ret_done, hl_error *error) {
  (void)error;
  *ret_done = other.pending == 0 || --other.tests_left <= 0;
  for (; *ret_done && other.pending; other.pending--) {
    size_t i = other.begun - other.pending;
    for (size_t k = 0; k < other.counts[i]; k++) other.values[i][k] *= ranks;
  }
  return HL_OK;
}

static hl_status warn(hl_error *error) {
  (void)error;
  return HL_OK;
}

static hl_status warned(bool *ret_warned, hl_error *error) {
  (void)error;
  *ret_warned = other.warned;
  return HL_OK;
}

static hl_status share(size_t bytes, void **ret_memory, hl_error *error) {
  (void)bytes, (void)ret_memory, (void)error;
  return HL_UNAVAILABLE;
}

static const hl_transport_ops ops = {HL_TRANSPORT_ABI, sizeof ops, join, version, broadcast, gather,
                                     sum_begin,        sum_test,   warn, warned,  share};

static int reset(void **state) {
  (void)state;
  memset(&other, 0, sizeof other);
  other.failing = -1;
  other.tests_left = 1000;
  return 0;
}

static hl_tensor_view view_of(float *values, size_t count) {
  for (size_t i = 0; i < count; i++) values[i] = (float)i + 0.5F;
  return (hl_tensor_view){.name = "w",
                          .dtype = HL_FLOAT32,
                          .rank = 1,
                          .dims = {(int64_t)count},
                          .data = values,
                          .bytes = count * sizeof *values};
}

/* The mean of equal gradients is the gradient; small ones share a bucket, large ones have none. */
static void buckets(void **state) {
  (void)state;
  float a[6], b[3], c[20], d[8], e[1];
  hl_peer_gradients *g;
  hl_peer_times times, again;
  assert_int_equal(hl_peer_gradients_new(&ops, ranks, 10 * sizeof(float), &g, NULL), HL_OK);
  for (int step = 0; step < 3; step++) {
    reset(NULL);
    struct {
      float *values;
      size_t count;
    } all[] = {{a, 6}, {b, 3}, {c, 20}, {d, 8}, {e, 1}};
    for (size_t i = 0; i < HL_COUNT(all); i++) {
      hl_tensor_view view = view_of(all[i].values, all[i].count);
      assert_int_equal(hl_peer_gradients_ready(g, &view, NULL), HL_OK);
    }
    assert_int_equal(other.begun, 2); /* c, and the bucket that d did not fit into */
    assert_ptr_equal(other.values[0], c);
    assert_int_equal(other.counts[1], 9);
    assert_int_equal(hl_peer_gradients_wait(g, NULL), HL_OK);
    assert_int_equal(other.begun, 3);
    assert_int_equal(other.counts[2], 9);
    for (size_t i = 0; i < HL_COUNT(all); i++)
      for (size_t k = 0; k < all[i].count; k++) assert_true(all[i].values[k] == (float)k + 0.5F);
    again = times;
    hl_peer_gradients_times(g, &times);
    assert_int_equal(times.sums, 3);
    assert_int_equal(times.bytes, 38 * sizeof(float));
    assert_true(times.exposed_ns > 0 && times.exposed_ns <= times.reduce_ns);
    if (step) assert_true(times.checksum == again.checksum && times.checksum != 0);
  }
  view_of(a, 6);
  hl_tensor_view view = view_of(a, 6);
  a[3] = nextafterf(a[3], 100);
  assert_int_equal(hl_peer_gradients_ready(g, &view, NULL), HL_OK);
  assert_int_equal(hl_peer_gradients_wait(g, NULL), HL_OK);
  hl_peer_gradients_times(g, &again);
  view = view_of(a, 6);
  assert_int_equal(hl_peer_gradients_ready(g, &view, NULL), HL_OK);
  assert_int_equal(hl_peer_gradients_wait(g, NULL), HL_OK);
  hl_peer_gradients_times(g, &times);
  assert_true(times.checksum != again.checksum); /* a single bit */
  hl_peer_gradients_free(g);
}

static void nobody_waits_for_a_rank_that_fails(void **state) {
  (void)state;
  float a[4];
  hl_error error = {0};
  hl_peer_gradients *g;
  assert_int_equal(hl_peer_gradients_new(&ops, ranks, 64, &g, NULL), HL_OK);
  hl_tensor_view view = view_of(a, 4);
  assert_int_equal(hl_peer_gradients_ready(g, &view, &error), HL_OK);
  other.warned = true;
  assert_int_equal(hl_peer_gradients_wait(g, &error), HL_INTERRUPTED);
  hl_peer_gradients_silence(g);
  size_t begun = other.begun;
  assert_int_equal(hl_peer_gradients_ready(g, &view, &error), HL_OK);
  assert_int_equal(hl_peer_gradients_wait(g, &error), HL_OK);
  assert_int_equal(other.begun, begun);
  view.dtype = HL_FLOAT64;
  hl_peer_gradients_free(g);
  assert_int_equal(hl_peer_gradients_new(&ops, ranks, 64, &g, NULL), HL_OK);
  assert_int_equal(hl_peer_gradients_ready(g, &view, &error), HL_UNIMPLEMENTED);
  hl_peer_gradients_free(g);
}

static void the_first_failure_of_its_own_is_everybodys(void **state) {
  (void)state;
  hl_peers *peers;
  hl_error error = {0};
  assert_int_equal(hl_peers_join_by(&ops, &peers, &error), HL_OK);
  assert_int_equal(hl_peers_rank(peers), 1);
  assert_int_equal(hl_peers_agree(peers, HL_OK, &error), HL_OK);
  hl_error_set(&error, HL_IO, "the same");
  assert_int_equal(hl_peers_agree(peers, HL_IO, &error), HL_IO);
  assert_string_equal(error.msg, "the same");
  other.failing = 2;
  hl_error_set(&error, HL_INTERRUPTED, "another rank has failed");
  assert_int_equal(hl_peers_agree(peers, HL_INTERRUPTED, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "rank 2 (process "));
  assert_non_null(strstr(error.msg, "): its own"));
  hl_peers_free(peers);
  hl_transport_ops older = ops;
  older.abi++;
  assert_int_equal(hl_peers_join_by(&older, &peers, &error), HL_UNAVAILABLE);
  assert_int_equal(hl_peers_join("/nonexistent.so", &peers, &error), HL_UNAVAILABLE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(buckets, reset),
      cmocka_unit_test_setup(nobody_waits_for_a_rank_that_fails, reset),
      cmocka_unit_test_setup(the_first_failure_of_its_own_is_everybodys, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
