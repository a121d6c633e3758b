#include "data/npz.h"

#include "base/file.h"
#include "base/text.h"
#include "data/array.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

/* 1980-01-01 00:00 in DOS form, so that the same arrays give the same bytes. */
enum { dos_time = 0, dos_date = (1 << 5) | 1 };

static hl_status failed(const char *path, const char *reason, hl_error *error) {
  return hl_error_set(error, HL_IO, "cannot write '%s': %s", path, reason);
}

static hl_status check_arrays(const hl_tensor_view *arrays, size_t count, hl_error *error) {
  for (size_t i = 0; i < count; i++) {
    const char *name = arrays[i].name;
    if (!name || !name[0] || strlen(name) > 200 || strchr(name, '/'))
      return hl_error_set(error, HL_INVALID_ARGUMENT, "array %zu has no usable name", i);
    for (size_t j = 0; j < i; j++)
      if (strcmp(arrays[j].name, name) == 0)
        return hl_error_set(error, HL_INVALID_ARGUMENT, "two arrays are named '%s'", name);
    if (!hl_dtype_bytes(arrays[i].dtype) || arrays[i].dtype == HL_BFLOAT16)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "array '%s': numpy has no type %s", name,
                          hl_dtype_name(arrays[i].dtype));
  }
  return HL_OK;
}

/* Adds one member from a header and the caller's elements, neither of them copied. */
static hl_status add_member(zip_t *zip, const hl_tensor_view *array, char *header, bool packed,
                            const char *path, hl_error *error) {
  zip_buffer_fragment_t parts[2] = {
      {.data = (zip_uint8_t *)header, .length = hl_npy_header_write(array, header)},
      {.data = array->data, .length = array->bytes}};
  zip_source_t *source = zip_source_buffer_fragment(zip, parts, array->bytes ? 2 : 1, 0);
  if (!source) return failed(path, zip_strerror(zip), error);
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s.npy", array->name);
  zip_int64_t index = name ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) {
    zip_source_free(source);
    return failed(path, zip_strerror(zip), error);
  }
  if (zip_set_file_compression(zip, (zip_uint64_t)index, packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                               1) != 0 ||
      zip_file_set_dostime(zip, (zip_uint64_t)index, dos_time, dos_date, 0) != 0)
    return failed(path, zip_strerror(zip), error);
  return HL_OK;
}

static hl_status write_zip(const char *path, const hl_tensor_view *arrays, size_t count,
                           bool packed, char *headers, const char *shown, hl_error *error) {
  int code = 0;
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!zip) {
    zip_error_t zip_error;
    zip_error_init_with_code(&zip_error, code);
    failed(shown, zip_error_strerror(&zip_error), error);
    zip_error_fini(&zip_error);
    return HL_IO;
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = add_member(zip, &arrays[i], headers + i * HL_NPY_WRITE_MAX, packed, shown, error);
  if (status == HL_OK && zip_close(zip) == 0) return HL_OK;
  if (status == HL_OK) status = failed(shown, zip_strerror(zip), error);
  zip_discard(zip);
  return status;
}

static hl_status follow(hl_new_file *file, hl_error *error) {
  int fd = open(file->temporary, O_RDWR | O_CLOEXEC);
  if (fd < 0) return hl_error_errno(error, HL_IO, "cannot write '%s'", file->path);
  close(file->fd);
  file->fd = fd;
  return HL_OK;
}

hl_status hl_npz_write(const char *path, const hl_tensor_view *arrays, size_t count, bool packed,
                       hl_error *error) {
  hl_status status = check_arrays(arrays, count, error);
  if (status == HL_OK) status = hl_file_can_replace(path, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *headers = calloc(count + 1, HL_NPY_WRITE_MAX);
  if (!headers) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  hl_new_file file;
  status = hl_file_begin_named(path, &file, error);
  if (status != HL_OK) return status;
  /* libzip replaces the temporary file by one of its own, which the descriptor must follow. */
  status = write_zip(file.temporary, arrays, count, packed, headers, path, error);
  if (status == HL_OK) status = follow(&file, error);
  return hl_file_end(&file, status, error);
}
