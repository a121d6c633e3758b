/* Whatever the bytes of a data file: an error or arrays, within bounds. */
#include "driver.h"

#include "data/array.h"
#include "data/npz.h"
#include "data/ptychography.h"
#include <bzlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

static const hl_npz_limits limits = {.file_bytes = 1 << 20,
                                     .unpacked_bytes = 1 << 20,
                                     .array_bytes = 1 << 20,
                                     .entries = 64,
                                     .ratio = 200};

/* A failure must come with a message, success with memory of the promised size. */
static void read_arrays(hl_npz *npz) {
  for (size_t i = 0; i < hl_npz_count(npz); i++) {
    hl_tensor_view array;
    hl_error error = {0};
    hl_status status = hl_npz_read(npz, hl_npz_at(npz, i)->name, &array, &error);
    if (status != HL_OK) {
      if (error.status != status || !error.msg[0]) abort();
      continue;
    }
    volatile unsigned char sum = 0;
    for (uint64_t b = 0; b < array.bytes; b++)
      sum = (unsigned char)(sum + ((unsigned char *)array.data)[b]);
    hl_array_check_finite(&array, "x", &error);
    hl_array_release(&array);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_npz *npz = NULL;
  hl_error error = {0};
  hl_status status = hl_npz_open_memory(data, size, "input", &limits, &npz, &error);
  if (status != HL_OK) {
    if (error.status != status || !error.msg[0]) abort();
    return 0;
  }
  read_arrays(npz);
  hl_scan *scan = NULL;
  if (hl_scan_from_npz(npz, size & 1 ? 2 : 0, &scan, &error) == HL_OK) hl_scan_free(scan);
  hl_npz_free(npz);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------- */

static size_t put_npy(uint8_t *to, const char *type, const char *order, const char *shape,
                      size_t bytes) {
  int length = snprintf((char *)to + 10, 200, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n",
                        type, order, shape);
  memcpy(to, "\x93NUMPY\x01", 8);
  to[8] = (uint8_t)length;
  to[9] = 0;
  for (size_t i = 0; i < bytes; i++) to[10 + (size_t)length + i] = (uint8_t)(i % 4 == 3 ? 0x3f : i);
  return 10 + (size_t)length + bytes;
}

static size_t put_zip(uint8_t *to, size_t capacity, bool packed) {
  static uint8_t members[3][600];
  static const char *const names[] = {"diff3d.npy", "xcoords.npy", "ycoords.npy"};
  size_t sizes[] = {put_npy(members[0], "'<f4'", "False", "(5, 4, 4)", 320),
                    put_npy(members[1], "'<f4'", "False", "(5,)", 20),
                    put_npy(members[2], "'>f8'", "True", "(5, 1)", 40)};
  zip_error_t error;
  zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
  zip_t *zip = target ? zip_open_from_source(target, ZIP_TRUNCATE, &error) : NULL;
  if (!zip) abort();
  zip_source_keep(target);
  for (int i = 0; i < 3; i++) {
    zip_source_t *source = zip_source_buffer(zip, members[i], sizes[i], 0);
    zip_int64_t index = zip_file_add(zip, names[i], source, 0);
    if (index < 0) abort();
    zip_set_file_compression(zip, (zip_uint64_t)index, packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 33, 0);
  }
  if (zip_close(zip) != 0 || zip_source_open(target) != 0) abort();
  zip_int64_t size = zip_source_read(target, to, capacity);
  zip_source_close(target);
  zip_source_free(target);
  if (size <= 0) abort();
  return (size_t)size;
}

static size_t put_bzip2(uint8_t *to, size_t capacity) {
  static uint8_t plain[4096];
  unsigned size = (unsigned)capacity;
  size_t length = put_zip(plain, sizeof plain, false);
  if (BZ2_bzBuffToBuffCompress((char *)to, &size, (char *)plain, (unsigned)length, 1, 0, 0))
    abort();
  return size;
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  switch (index) {
  case 0:
    return put_zip(ret_data, capacity, false);
  case 1:
    return put_zip(ret_data, capacity, true);
  case 2:
    return put_bzip2(ret_data, capacity);
  case 3:
    return put_npy(ret_data, "'>c16'", "True", "(2, 3, 2)", 192);
  case 4:
    return put_npy(ret_data, "'<u2'", "False", "(3, 4, 4)", 96);
  case 5:
    return put_npy(ret_data, "'|O'", "False", "(1,)", 8);
  case 6:
    return put_npy(ret_data, "[('a', '<i4')]", "False", "(1,)", 4);
  default:
    return 0;
  }
}
