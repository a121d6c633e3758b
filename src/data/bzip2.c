#include "data/bzip2.h"

#include <bzlib.h>
#include <stdlib.h>
#include <string.h>

enum { first_bytes = 1 << 20, input_bytes = 1 << 30 };

typedef struct output {
  char *data;
  size_t used, capacity;
} output;

bool hl_bzip2_is(const void *data, size_t bytes) {
  const char *d = data;
  return bytes >= 4 && memcmp(d, "BZh", 3) == 0 && d[3] >= '1' && d[3] <= '9';
}

/* Room for at least one more byte, doubling up to the limit. */
static hl_status grow(output *out, size_t max_bytes, const char *name, hl_error *error) {
  if (out->used < out->capacity) return HL_OK;
  if (out->capacity >= max_bytes)
    return hl_error_set(
        error, HL_LIMIT,
        "%s unpacks to more than the limit of %zu bytes. Unpack it with bunzip2 and "
        "look at it first",
        name, max_bytes);
  size_t capacity = out->capacity ? out->capacity * 2 : first_bytes;
  if (capacity > max_bytes || capacity < out->capacity) capacity = max_bytes;
  char *data = realloc(out->data, capacity);
  if (!data)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu bytes to unpack %s", capacity,
                        name);
  out->data = data;
  out->capacity = capacity;
  return HL_OK;
}

/* Unpacks one stream from *at on. */
static hl_status unpack_stream(const char *data, size_t bytes, size_t *at, const char *name,
                               size_t max_bytes, double max_ratio, output *out, hl_error *error) {
  bz_stream stream = {0};
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to unpack %s", name);
  hl_status status = HL_OK;
  int code = BZ_OK;
  while (code == BZ_OK && (status = grow(out, max_bytes, name, error)) == HL_OK) {
    size_t in = bytes - *at, room = out->capacity - out->used;
    stream.next_in = (char *)(uintptr_t)data + *at;
    stream.avail_in = in < input_bytes ? (unsigned)in : input_bytes;
    stream.next_out = out->data + out->used;
    stream.avail_out = room < input_bytes ? (unsigned)room : input_bytes;
    unsigned in_before = stream.avail_in, out_before = stream.avail_out;
    code = BZ2_bzDecompress(&stream);
    *at += in_before - stream.avail_in;
    out->used += out_before - stream.avail_out;
    if (code == BZ_OK && in_before == stream.avail_in && out_before == stream.avail_out)
      code = BZ_UNEXPECTED_EOF;
    if (out->used > HL_BZIP2_FREE_BYTES && (double)out->used > max_ratio * (double)*at) {
      status = hl_error_set(error, HL_LIMIT,
                            "%s is more than %.0f times larger unpacked; it looks like a "
                            "decompression bomb. If it is not, unpack it with bunzip2 first",
                            name, max_ratio);
      break;
    }
  }
  BZ2_bzDecompressEnd(&stream);
  if (status == HL_OK && code == BZ_MEM_ERROR)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to unpack %s", name);
  else if (status == HL_OK && code != BZ_STREAM_END)
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s is not whole bzip2 data (%s at byte %zu). Fetch it again", name,
                          code == BZ_UNEXPECTED_EOF ? "it ends too early" : "damaged", *at);
  return status;
}

hl_status hl_bzip2_unpack(const void *data, size_t bytes, const char *name, size_t max_bytes,
                          double max_ratio, void **ret_data, size_t *ret_bytes, hl_error *error) {
  output out = {0};
  size_t at = 0;
  hl_status status;
  do status = unpack_stream(data, bytes, &at, name, max_bytes, max_ratio, &out, error);
  while (status == HL_OK && hl_bzip2_is((const char *)data + at, bytes - at));
  if (status != HL_OK) {
    free(out.data);
    return status;
  }
  *ret_data = out.data;
  *ret_bytes = out.used;
  return HL_OK;
}
