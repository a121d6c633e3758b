/* .npy headers: what is read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/array.h"
#include "data/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole header around the dictionary; in exactly sized memory, so that reading past it shows. */
static char *make(const char *dict, int version, size_t *ret_bytes) {
  size_t length = strlen(dict), start = version > 1 ? 12 : 10;
  char *header = calloc(1, start + length);
  assert_non_null(header);
  memcpy(header, "\x93NUMPY", 6);
  header[6] = (char)version;
  header[8] = (char)(length & 0xff);
  header[9] = (char)(length >> 8);
  memcpy(header + start, dict, length);
  *ret_bytes = start + length;
  return header;
}

static hl_status parse(const char *dict, int version, hl_npy_header *ret, hl_error *error) {
  size_t bytes = 0;
  char *header = make(dict, version, &bytes);
  hl_status status = hl_npy_header_parse(header, bytes, "x.npy", ret, error);
  free(header);
  return status;
}

static void test_good(void **state) {
  (void)state;
  static const struct {
    const char *dict;
    hl_dtype dtype;
    int32_t rank;
    int64_t count;
    bool swapped, fortran;
  } cases[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", HL_FLOAT32, 2, 12, 0, 0},
      {"{'descr': '>f8', 'fortran_order': True, 'shape': (3,), }\n", HL_FLOAT64, 1, 3, 1, 1},
      {"{\"shape\":(),\"descr\":\"|b1\",\"fortran_order\":False}", HL_BOOL, 0, 1, 0, 0},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 5L)}", HL_UINT8, 2, 10, 0, 0},
      {"{'descr': '>i1', 'fortran_order': False, 'shape': (0, 7)}", HL_INT8, 2, 0, 0, 0},
      {"{'descr': '=c16', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2)}", HL_COMPLEX128, 8, 2,
       0, 0},
      {"  {'descr' : '<f2' , 'fortran_order':\tFalse,'shape':( 6 , ) }  \n", HL_FLOAT16, 1, 6, 0,
       0},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (6,)}", HL_DTYPE_NONE, 1, 6, 0, 0},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", HL_DTYPE_NONE, 1, 6, 0, 0},
      {"{'descr': [('a]', '<i4'), ('b', '<f8', (2,))], 'fortran_order': False, 'shape': (6,)}",
       HL_DTYPE_NONE, 1, 6, 0, 0},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    for (int version = 1; version <= 3; version++) {
      hl_npy_header h = {0};
      hl_error error = {0};
      print_message("%s\n", cases[i].dict);
      assert_int_equal(parse(cases[i].dict, version, &h, &error), HL_OK);
      assert_int_equal(h.dtype, cases[i].dtype);
      assert_int_equal(h.rank, cases[i].rank);
      assert_int_equal(h.count, cases[i].count);
      assert_int_equal(h.swapped, cases[i].swapped);
      assert_int_equal(h.fortran, cases[i].fortran);
      assert_int_equal(h.data_bytes, (size_t)h.count * hl_dtype_bytes(h.dtype));
    }
}

static void test_bad(void **state) {
  (void)state;
#define REST "'fortran_order': False, 'shape': (3, 4)}"
  static const struct {
    const char *dict;
    hl_status status;
  } cases[] = {
      {"", HL_BAD_DATA},
      {"{", HL_BAD_DATA},
      {"{}", HL_BAD_DATA},
      {"{'descr'", HL_BAD_DATA},
      {"{'descr':", HL_BAD_DATA},
      {"{'descr': '", HL_BAD_DATA},
      {"{'descr': [", HL_BAD_DATA},
      {"{'descr': ['", HL_BAD_DATA},
      {"{'descr': '\\x3cf4', " REST, HL_BAD_DATA},
      {"{'descr': f4, " REST, HL_BAD_DATA},
      {"{'descr': '<f4', " REST "}", HL_BAD_DATA},
      {"{'descr': '<f4', 'descr': '<f4', " REST, HL_BAD_DATA},
      {"{'descr': '<f4', 'extra': 1, " REST, HL_BAD_DATA},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}", HL_BAD_DATA},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", HL_BAD_DATA},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,", HL_BAD_DATA},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", HL_BAD_DATA},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", HL_LIMIT},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}", HL_LIMIT},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", HL_LIMIT},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", HL_LIMIT},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_npy_header h = {.rank = 77};
    hl_error error = {0};
    print_message("%s\n", cases[i].dict);
    assert_int_equal(parse(cases[i].dict, 1, &h, &error), cases[i].status);
    assert_int_equal(error.status, cases[i].status);
    assert_non_null(strstr(error.msg, "x.npy"));
    assert_int_equal(h.rank, 77); /* untouched on failure */
  }
}

/* Every beginning of a good header is refused, and none reads past its end. */
static void test_truncated(void **state) {
  (void)state;
  size_t bytes = 0;
  char *whole = make("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", 2, &bytes);
  for (size_t cut = 0; cut < bytes; cut++) {
    char *part = malloc(cut ? cut : 1);
    assert_non_null(part);
    memcpy(part, whole, cut);
    hl_npy_header h;
    hl_error error = {0};
    assert_int_equal(hl_npy_header_parse(part, cut, "x.npy", &h, &error), HL_BAD_DATA);
    free(part);
  }
  free(whole);
}

static void test_types_refused(void **state) {
  (void)state;
  static const struct {
    const char *type, *word;
  } cases[] = {{"|O", "pickle"},          {"<U5", "text"},          {"<M8[s]", "dates"},
               {"<f16", "does not read"}, {"|V8", "does not read"}, {"[...]", "structured"},
               {"", "does not read"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_npy_header h = {0};
    hl_error error = {0};
    snprintf(h.type, sizeof h.type, "%s", cases[i].type);
    assert_int_equal(hl_npy_check_type(&h, "x", &error), HL_UNIMPLEMENTED);
    assert_non_null(strstr(error.msg, cases[i].word));
  }
}

static void test_to_native(void **state) {
  (void)state;
  uint16_t data[6] = {0x0100, 0x0200, 0x0300, 0x0400, 0x0500, 0x0600};
  hl_npy_header h = {.dtype = HL_UINT16,
                     .swapped = true,
                     .fortran = true,
                     .rank = 2,
                     .dims = {2, 3},
                     .count = 6,
                     .data_bytes = 12};
  assert_int_equal(hl_npy_to_native(&h, data, NULL), HL_OK);
  const uint16_t want[6] = {1, 3, 5, 2, 4, 6};
  assert_memory_equal(data, want, sizeof want);
}

static void test_written_header_reads(void **state) {
  (void)state;
  char text[HL_NPY_WRITE_MAX];
  hl_tensor_view view = {.dtype = HL_COMPLEX64, .rank = HL_MAX_RANK};
  for (int32_t rank = 0; rank <= HL_MAX_RANK; rank++) {
    view.rank = rank;
    for (int32_t i = 0; i < rank; i++) view.dims[i] = i == 7 ? 1000000007 : i + 1;
    size_t bytes = hl_npy_header_write(&view, text);
    assert_int_equal(bytes % 64, 0);
    hl_npy_header h;
    assert_int_equal(hl_npy_header_parse(text, bytes, "x", &h, NULL), HL_OK);
    assert_int_equal(h.header_bytes, bytes);
    assert_int_equal(h.rank, rank);
    assert_int_equal(h.dtype, HL_COMPLEX64);
    assert_memory_equal(h.dims, view.dims, (size_t)rank * sizeof *h.dims);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),      cmocka_unit_test(test_bad),
      cmocka_unit_test(test_truncated), cmocka_unit_test(test_types_refused),
      cmocka_unit_test(test_to_native), cmocka_unit_test(test_written_header_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
