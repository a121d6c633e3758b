#include "data/npy.h"

#include "data/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

static const char magic[6] = "\x93NUMPY";

/* numpy's letter and size for each type that hotlap reads. */
static const struct {
  char kind;
  char size[4];
  hl_dtype dtype;
} types[] = {
    {'b', "1", HL_BOOL},      {'i', "1", HL_INT8},        {'i', "2", HL_INT16},
    {'i', "4", HL_INT32},     {'i', "8", HL_INT64},       {'u', "1", HL_UINT8},
    {'u', "2", HL_UINT16},    {'u', "4", HL_UINT32},      {'u', "8", HL_UINT64},
    {'f', "2", HL_FLOAT16},   {'f', "4", HL_FLOAT32},     {'f', "8", HL_FLOAT64},
    {'c', "8", HL_COMPLEX64}, {'c', "16", HL_COMPLEX128},
};

typedef struct reader {
  const char *at, *end, *what;
  hl_error *error;
} reader;

static hl_status malformed(const reader *r, const char *reason) {
  return hl_error_set(r->error, HL_BAD_DATA, "%s: malformed .npy header: %s", r->what, reason);
}

static void skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
    r->at++;
}

static bool accept(reader *r, char c) {
  skip_space(r);
  if (r->at >= r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static hl_status read_string(reader *r, char *ret, size_t size) {
  skip_space(r);
  if (r->at >= r->end || (*r->at != '\'' && *r->at != '"'))
    return malformed(r, "expected a string");
  char quote = *r->at++;
  size_t length = 0;
  for (; r->at < r->end && *r->at != quote; r->at++) {
    if (*r->at == '\\' || (unsigned char)*r->at < ' ') return malformed(r, "odd character");
    if (length + 1 < size) ret[length++] = *r->at;
  }
  if (r->at >= r->end) return malformed(r, "unterminated string");
  r->at++;
  ret[length] = '\0';
  return HL_OK;
}

/* A structured type is a list of tuples: skipped by counting brackets outside strings. */
static hl_status skip_list(reader *r) {
  int depth = 0;
  char ignored[4];
  for (skip_space(r); r->at < r->end;) {
    char c = *r->at;
    if (c == '\'' || c == '"') {
      hl_status status = read_string(r, ignored, sizeof ignored);
      if (status != HL_OK) return status;
      continue;
    }
    r->at++;
    if (c == '[' || c == '(') depth++;
    if ((c == ']' || c == ')') && --depth == 0) return HL_OK;
  }
  return malformed(r, "unterminated type description");
}

static void set_type(hl_npy_header *header) {
  const char *type = header->type;
  if (!type[0] || !strchr("<>|=", type[0])) return;
  for (size_t i = 0; i < HL_COUNT(types); i++)
    if (type[1] == types[i].kind && strcmp(type + 2, types[i].size) == 0)
      header->dtype = types[i].dtype;
  header->swapped = type[0] == '>' && hl_dtype_bytes(header->dtype) > 1;
}

static hl_status read_type(reader *r, hl_npy_header *header) {
  skip_space(r);
  if (r->at < r->end && *r->at == '[') {
    snprintf(header->type, sizeof header->type, "[...]");
    return skip_list(r);
  }
  hl_status status = read_string(r, header->type, sizeof header->type);
  if (status == HL_OK) set_type(header);
  return status;
}

static hl_status read_bool(reader *r, bool *ret) {
  skip_space(r);
  size_t left = (size_t)(r->end - r->at);
  if (left >= 4 && memcmp(r->at, "True", 4) == 0) {
    *ret = true;
    r->at += 4;
  } else if (left >= 5 && memcmp(r->at, "False", 5) == 0) {
    *ret = false;
    r->at += 5;
  } else {
    return malformed(r, "'fortran_order' is neither True nor False");
  }
  return HL_OK;
}

static hl_status read_shape(reader *r, hl_npy_header *header) {
  if (!accept(r, '(')) return malformed(r, "'shape' is no tuple");
  while (!accept(r, ')')) {
    skip_space(r);
    int64_t dim = 0;
    const char *start = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
      if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, *r->at - '0', &dim))
        return hl_error_set(r->error, HL_LIMIT, "%s: a dimension exceeds 2^63", r->what);
    if (r->at == start) return malformed(r, "a dimension is not a whole number >= 0");
    if (r->at < r->end && *r->at == 'L') r->at++; /* as Python 2 wrote them */
    if (header->rank == HL_MAX_RANK)
      return hl_error_set(r->error, HL_LIMIT, "%s has more than %d dimensions. Reshape it first",
                          r->what, HL_MAX_RANK);
    header->dims[header->rank++] = dim;
    if (accept(r, ',')) continue;
    if (!accept(r, ')')) return malformed(r, "'shape' is no tuple");
    break;
  }
  return HL_OK;
}

static hl_status read_dict(reader *r, hl_npy_header *header) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  bool seen[HL_COUNT(keys)] = {false};
  if (!accept(r, '{')) return malformed(r, "no dictionary");
  while (!accept(r, '}')) {
    char key[16];
    hl_status status = read_string(r, key, sizeof key);
    if (status != HL_OK) return status;
    size_t k = 0;
    while (k < HL_COUNT(keys) && strcmp(keys[k], key) != 0) k++;
    if (k == HL_COUNT(keys) || seen[k]) return malformed(r, "unknown or repeated key");
    seen[k] = true;
    if (!accept(r, ':')) return malformed(r, "a key without a value");
    status = k == 0   ? read_type(r, header)
             : k == 1 ? read_bool(r, &header->fortran)
                      : read_shape(r, header);
    if (status != HL_OK) return status;
    if (accept(r, ',')) continue;
    if (!accept(r, '}')) return malformed(r, "no end of the dictionary");
    break;
  }
  skip_space(r);
  if (r->at != r->end) return malformed(r, "something after the dictionary");
  for (size_t k = 0; k < HL_COUNT(keys); k++)
    if (!seen[k]) return malformed(r, "descr, fortran_order or shape is missing");
  return HL_OK;
}

static hl_status set_sizes(hl_npy_header *header, const char *what, hl_error *error) {
  int64_t bytes = 0, item = (int64_t)hl_dtype_bytes(header->dtype);
  if (!hl_array_count(header->rank, header->dims, &header->count) ||
      __builtin_mul_overflow(header->count, item, &bytes))
    return hl_error_set(error, HL_LIMIT, "%s: its shape exceeds 2^63 bytes", what);
  header->data_bytes = (uint64_t)bytes;
  return HL_OK;
}

hl_status hl_npy_header_size(const void *data, size_t bytes, const char *what, size_t *ret_bytes,
                             hl_error *error) {
  const unsigned char *d = data;
  if (bytes < 10 || memcmp(d, magic, sizeof magic) != 0)
    return hl_error_set(error, HL_BAD_DATA, "%s is not in numpy's .npy format%s", what,
                        bytes < 10 ? " (too short)" : "");
  size_t length = (size_t)d[8] | (size_t)d[9] << 8, start = 10;
  if (d[6] < 1 || d[6] > 3)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s has .npy version %d; 1 to 3 are known", what,
                        d[6]);
  if (d[6] > 1) {
    if (bytes < 12) return hl_error_set(error, HL_BAD_DATA, "%s is too short", what);
    length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    start = 12;
  }
  if (length > HL_NPY_HEADER_MAX - 12)
    return hl_error_set(error, HL_LIMIT, "%s has a header of %zu bytes; the limit is %zu", what,
                        length, HL_NPY_HEADER_MAX - 12);
  *ret_bytes = start + length;
  return HL_OK;
}

hl_status hl_npy_header_parse(const void *data, size_t bytes, const char *what,
                              hl_npy_header *ret_header, hl_error *error) {
  size_t size = 0;
  hl_status status = hl_npy_header_size(data, bytes, what, &size, error);
  if (status != HL_OK) return status;
  if (bytes < size)
    return hl_error_set(error, HL_BAD_DATA, "%s ends within its header; is the file truncated?",
                        what);
  const char *text = data;
  hl_npy_header header = {.header_bytes = size};
  reader r = {
      .at = text + (text[6] > 1 ? 12 : 10), .end = text + size, .what = what, .error = error};
  status = read_dict(&r, &header);
  if (status == HL_OK) status = set_sizes(&header, what, error);
  if (status == HL_OK) *ret_header = header;
  return status;
}

hl_status hl_npy_check_type(const hl_npy_header *header, const char *what, hl_error *error) {
  if (header->dtype != HL_DTYPE_NONE) return HL_OK;
  const char *type = header->type;
  char kind = type[0] ? type[1] : '\0';
  if (kind == 'O')
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s holds Python objects (a pickle), which can run code and is never read. "
                        "Save a plain numeric array: numpy.savez(file, name=array.astype('f4'))",
                        what);
  const char *reason = type[0] == '['               ? "a structured type"
                       : kind == 'U' || kind == 'S' ? "text"
                       : kind == 'M' || kind == 'm' ? "dates or times"
                                                    : "a type that hotlap does not read";
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "%s holds %s ('%s'). Convert it to float32 or an integer type of at most 64 "
                      "bits",
                      what, reason, type);
}

static void swap_bytes(unsigned char *data, size_t count, size_t width) {
  for (size_t i = 0; i < count; i++, data += width)
    for (size_t a = 0, b = width - 1; a < b; a++, b--) {
      unsigned char t = data[a];
      data[a] = data[b];
      data[b] = t;
    }
}

/* Copies column-major elements into row-major order: walks the target in order and keeps the
 * source's offset in step with it. */
static void to_row_major(const hl_npy_header *header, const unsigned char *from, unsigned char *to,
                         size_t item) {
  size_t stride[HL_MAX_RANK], at[HL_MAX_RANK] = {0}, step = 1, source = 0;
  for (int32_t i = 0; i < header->rank; i++) {
    stride[i] = step;
    step *= (size_t)header->dims[i];
  }
  for (int64_t n = 0; n < header->count; n++) {
    memcpy(to + (size_t)n * item, from + source * item, item);
    for (int32_t i = header->rank - 1; i >= 0; i--) {
      source += stride[i];
      if (++at[i] < (size_t)header->dims[i]) break;
      source -= stride[i] * at[i];
      at[i] = 0;
    }
  }
}

hl_status hl_npy_to_native(const hl_npy_header *header, void *data, hl_error *error) {
  size_t item = hl_dtype_bytes(header->dtype);
  if (header->swapped) {
    bool complex = header->dtype == HL_COMPLEX64 || header->dtype == HL_COMPLEX128;
    size_t parts = complex ? 2 : 1;
    swap_bytes(data, (size_t)header->count * parts, item / parts);
  }
  if (!header->fortran || header->rank < 2 || header->count == 0) return HL_OK;
  unsigned char *copy = malloc((size_t)header->data_bytes);
  if (!copy)
    return hl_error_set(error, HL_OUT_OF_MEMORY,
                        "no memory for %" PRIu64 " bytes to reorder a column-major array",
                        header->data_bytes);
  to_row_major(header, data, copy, item);
  memcpy(data, copy, (size_t)header->data_bytes);
  free(copy);
  return HL_OK;
}

size_t hl_npy_header_write(const hl_tensor_view *array, char ret_text[HL_NPY_WRITE_MAX]) {
  char shape[HL_MAX_RANK * 24] = "";
  size_t used = 0;
  for (int32_t i = 0; i < array->rank; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64 "%s", i ? ", " : "",
                             array->dims[i], array->rank == 1 ? "," : "");
  const char *type = "|V1";
  char buffer[8];
  for (size_t i = 0; i < HL_COUNT(types); i++)
    if (types[i].dtype == array->dtype) {
      char order = hl_dtype_bytes(array->dtype) > 1 ? '<' : '|';
      snprintf(buffer, sizeof buffer, "%c%c%s", order, types[i].kind, types[i].size);
      type = buffer;
    }
  int length = snprintf(ret_text + 10, HL_NPY_WRITE_MAX - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
  size_t total = ((size_t)length + 10 + 1 + 63) / 64 * 64;
  memset(ret_text + 10 + length, ' ', total - 10 - (size_t)length);
  ret_text[total - 1] = '\n';
  memcpy(ret_text, magic, sizeof magic);
  ret_text[6] = 1;
  ret_text[7] = 0;
  ret_text[8] = (char)((total - 10) & 0xff);
  ret_text[9] = (char)((total - 10) >> 8);
  return total;
}
