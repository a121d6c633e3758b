/* Containers: written and read back, cut at every byte, damaged, beyond limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "data/array.h"
#include "data/npz.h"
#include "numeric/random.h"
#include <bzlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "hotlap-npz-XXXXXX";
static char *path;

static float values[24];
static int64_t ids[3] = {7, -8, INT64_MAX};
static const hl_tensor_view arrays[] = {
    {"values", HL_FLOAT32, 3, {2, 3, 4}, values, sizeof values},
    {"ids", HL_INT64, 1, {3}, ids, sizeof ids},
    {"nothing", HL_FLOAT64, 2, {0, 5}, values, 0},
    {"single", HL_FLOAT32, 0, {0}, values + 5, sizeof *values},
};

static int set_up(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(values); i++) values[i] = (float)i / 7;
  if (!mkdtemp(directory)) return -1;
  path = hl_format("%s/a.npz", directory);
  return path ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  unlink(path);
  free(path);
  return rmdir(directory);
}

/* The bytes of the written arrays; free() them. */
static char *bytes_of(bool packed, size_t *ret_bytes) {
  char *data = NULL;
  assert_int_equal(hl_npz_write(path, arrays, HL_COUNT(arrays), packed, NULL), HL_OK);
  assert_int_equal(hl_file_read(path, 1 << 20, &data, ret_bytes, NULL), HL_OK);
  return data;
}

static void check_same(hl_npz *npz) {
  assert_int_equal(hl_npz_count(npz), HL_COUNT(arrays));
  for (size_t i = 0; i < HL_COUNT(arrays); i++) {
    hl_tensor_view got;
    assert_string_equal(hl_npz_at(npz, i)->name, arrays[i].name);
    assert_int_equal(hl_npz_read(npz, arrays[i].name, &got, NULL), HL_OK);
    assert_string_equal(got.name, arrays[i].name);
    assert_int_equal(got.dtype, arrays[i].dtype);
    assert_int_equal(got.rank, arrays[i].rank);
    assert_memory_equal(got.dims, arrays[i].dims, sizeof got.dims);
    assert_int_equal(got.bytes, arrays[i].bytes);
    if (got.bytes) assert_memory_equal(got.data, arrays[i].data, got.bytes);
    hl_array_release(&got);
  }
}

static void test_round_trip(void **state) {
  (void)state;
  for (int packed = 0; packed < 2; packed++) {
    hl_npz *npz = NULL;
    assert_int_equal(hl_npz_write(path, arrays, HL_COUNT(arrays), packed, NULL), HL_OK);
    assert_int_equal(hl_npz_open(path, NULL, &npz, NULL), HL_OK);
    assert_string_equal(hl_npz_container(npz), "npz");
    assert_string_equal(hl_npz_name(npz), "a.npz");
    check_same(npz);
    assert_null(hl_npz_at(npz, HL_COUNT(arrays)));
    hl_error error = {0};
    hl_tensor_view got;
    assert_int_equal(hl_npz_read(npz, "absent", &got, &error), HL_NOT_FOUND);
    assert_non_null(strstr(error.msg, "values, ids, nothing, single"));
    hl_npz_free(npz);
  }
}

static void test_same_bytes(void **state) {
  (void)state;
  size_t n = 0, m = 0;
  char *a = bytes_of(true, &n), *b = bytes_of(true, &m);
  assert_int_equal(n, m);
  assert_memory_equal(a, b, n);
  free(a);
  free(b);
}

/* Opens bytes in exactly sized memory and reads all; true if everything could be read. */
static bool read_all(const char *data, size_t bytes, const hl_npz_limits *limits) {
  char *copy = malloc(bytes ? bytes : 1);
  assert_non_null(copy);
  memcpy(copy, data, bytes);
  hl_npz *npz = NULL;
  hl_error error = {0};
  hl_status status = hl_npz_open_memory(copy, bytes, "a.npz", limits, &npz, &error);
  bool all = status == HL_OK;
  if (!all) {
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.msg, "a.npz"));
  }
  for (size_t i = 0; npz && i < hl_npz_count(npz); i++) {
    hl_tensor_view got;
    if (hl_npz_read(npz, hl_npz_at(npz, i)->name, &got, &error) == HL_OK)
      hl_array_release(&got);
    else
      all = false;
  }
  hl_npz_free(npz);
  free(copy);
  return all;
}

static char *compress(const char *data, size_t bytes, size_t *ret_bytes) {
  unsigned size = (unsigned)bytes + 1000;
  char *packed = malloc(size);
  assert_non_null(packed);
  assert_int_equal(
      BZ2_bzBuffToBuffCompress(packed, &size, (char *)(uintptr_t)data, (unsigned)bytes, 9, 0, 0),
      BZ_OK);
  *ret_bytes = size;
  return packed;
}

static void test_truncated(void **state) {
  (void)state;
  size_t bytes = 0, packed_bytes = 0;
  char *data = bytes_of(true, &bytes), *packed = compress(data, bytes, &packed_bytes);
  assert_true(read_all(data, bytes, NULL));
  assert_true(read_all(packed, packed_bytes, NULL));
  for (size_t cut = 0; cut < bytes; cut++) assert_false(read_all(data, cut, NULL));
  for (size_t cut = 0; cut < packed_bytes; cut++) assert_false(read_all(packed, cut, NULL));
  free(data);
  free(packed);
}

/* Damaged files may be read or refused, but never read past their end. */
static void test_damaged(void **state) {
  (void)state;
  size_t bytes = 0;
  char *data = bytes_of(false, &bytes);
  const hl_npz_limits limits = {1 << 20, 1 << 20, 1 << 20, 100, 200};
  hl_random random;
  hl_random_init(&random, 1, 1);
  for (int i = 0; i < 3000; i++) {
    size_t at = (size_t)hl_random_below(&random, bytes);
    char old = data[at];
    data[at] = (char)hl_random_u32(&random);
    read_all(data, bytes, &limits);
    data[at] = old;
  }
  free(data);
}

static void test_limits(void **state) {
  (void)state;
  size_t bytes = 0, packed_bytes = 0;
  char *data = bytes_of(false, &bytes), *packed = compress(data, bytes, &packed_bytes);
  const hl_npz_limits base = hl_npz_default_limits;
  hl_npz_limits array = base, entries = base, unpacked = base, file = base;
  array.array_bytes = 95;
  entries.entries = 3;
  unpacked.unpacked_bytes = bytes - 1;
  file.file_bytes = bytes - 1;
  hl_npz *npz = NULL;
  hl_tensor_view got;
  hl_error error = {0};
  assert_int_equal(hl_npz_open_memory(data, bytes, "a", &entries, &npz, &error), HL_LIMIT);
  assert_int_equal(hl_npz_open_memory(packed, packed_bytes, "a", &unpacked, &npz, &error),
                   HL_LIMIT);
  assert_int_equal(hl_npz_open(path, &file, &npz, &error), HL_LIMIT);
  assert_int_equal(hl_npz_open_memory(data, bytes, "a", &array, &npz, &error), HL_OK);
  assert_int_equal(hl_npz_find(npz, "values")->problem_status, HL_LIMIT);
  assert_int_equal(hl_npz_read(npz, "values", &got, &error), HL_LIMIT);
  assert_non_null(strstr(error.msg, "96 bytes; the limit is 95"));
  assert_int_equal(hl_npz_read(npz, "ids", &got, &error), HL_OK); /* the others stand */
  hl_array_release(&got);
  hl_npz_free(npz);
  free(data);
  free(packed);
}

static void test_write_refuses(void **state) {
  (void)state;
  const hl_tensor_view bad[][2] = {
      {{"a", HL_FLOAT32, 1, {1}, values, 4}, {"a", HL_FLOAT32, 1, {1}, values, 4}},
      {{"a/../b", HL_FLOAT32, 1, {1}, values, 4}, {"b", HL_FLOAT32, 1, {1}, values, 4}},
      {{"", HL_FLOAT32, 1, {1}, values, 4}, {"b", HL_FLOAT32, 1, {1}, values, 4}},
      {{NULL, HL_FLOAT32, 1, {1}, values, 4}, {"b", HL_FLOAT32, 1, {1}, values, 4}},
      {{"a", HL_BFLOAT16, 1, {1}, values, 2}, {"b", HL_FLOAT32, 1, {1}, values, 4}},
  };
  hl_error error = {0};
  for (size_t i = 0; i < HL_COUNT(bad); i++)
    assert_int_equal(hl_npz_write(path, bad[i], 2, false, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_npz_write("/nonexistent/a.npz", arrays, 1, false, &error), HL_IO);
  assert_non_null(strstr(error.msg, "/nonexistent/a.npz"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip), cmocka_unit_test(test_same_bytes),
      cmocka_unit_test(test_truncated),  cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_limits),     cmocka_unit_test(test_write_refuses),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
