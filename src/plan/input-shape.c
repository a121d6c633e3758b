#include "plan/input-shape.h"

#include <inttypes.h>
#include <string.h>

/* Beyond what any memory holds, and small enough to be multiplied by a few others. */
static const int64_t largest_dim = INT64_C(1) << 40;

static hl_status bad(const char *text, const char *why, hl_error *error) {
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--input-shape: '%.200s' %s. Write NAME=DIMS, as in input_ids=Bx128, where B "
                      "is the batch",
                      text, why);
}

static hl_status parse_dim(const char *text, const char *from, size_t length, int64_t *ret_dim,
                           hl_error *error) {
  char digits[32];
  if (length == 1 && (from[0] == 'B' || from[0] == 'b')) {
    *ret_dim = -1;
    return HL_OK;
  }
  if (length == 0 || length >= sizeof digits)
    return bad(text, "has a dimension that is no number", error);
  memcpy(digits, from, length);
  digits[length] = '\0';
  if (hl_parse_int(digits, 0, largest_dim, "--input-shape", ret_dim, NULL) == HL_OK) return HL_OK;
  return bad(text, "has a dimension that is no number, or is too large", error);
}

hl_status hl_input_shape_parse(const char *text, hl_arena *arena, hl_input_shape *ret_shape,
                               hl_error *error) {
  hl_input_shape shape = {0};
  const char *equals = strrchr(text, '='); /* names may hold one themselves */
  if (!equals || equals == text) return bad(text, "names no input", error);
  int batches = 0;
  for (const char *at = equals + 1;;) {
    size_t length = strcspn(at, "x,X");
    if (shape.rank == HL_MAX_RANK) return bad(text, "has more than 8 dimensions", error);
    int64_t *dim = &shape.dims[shape.rank++];
    hl_status status = parse_dim(text, at, length, dim, error);
    if (status != HL_OK) return status;
    batches += *dim < 0;
    if (!at[length]) break;
    at += length + 1;
  }
  if (batches > 1) return bad(text, "has the batch twice", error);
  shape.name = hl_arena_text_n(arena, text, (size_t)(equals - text));
  if (!shape.name) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a shape");
  *ret_shape = shape;
  return HL_OK;
}

hl_status hl_input_shapes_read(const hl_options *options, hl_arena *arena,
                               const hl_input_shape **ret_shapes, size_t *ret_count,
                               hl_error *error) {
  size_t count = 0;
  while (hl_options_at(options, HL_OPTION_INPUT_SHAPE, count)) count++;
  hl_input_shape *shapes = hl_arena_array(arena, count, sizeof *shapes);
  if (!shapes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for shapes");
  for (size_t i = 0; i < count; i++) {
    const char *text = hl_options_at(options, HL_OPTION_INPUT_SHAPE, i);
    hl_status status = hl_input_shape_parse(text, arena, &shapes[i], error);
    if (status != HL_OK) return status;
    for (size_t k = 0; k < i; k++)
      if (strcmp(shapes[k].name, shapes[i].name) == 0)
        return hl_error_set(error, HL_INVALID_ARGUMENT,
                            "--input-shape: input '%.100s' is given twice", shapes[i].name);
  }
  *ret_shapes = shapes;
  *ret_count = count;
  return HL_OK;
}

void hl_input_shape_format(const hl_input_shape *shape, hl_text *out) {
  hl_text_format(out, "%s=", shape->name);
  for (int32_t i = 0; i < shape->rank; i++) {
    if (i) hl_text_char(out, 'x');
    if (shape->dims[i] < 0)
      hl_text_char(out, 'B');
    else
      hl_text_format(out, "%" PRId64, shape->dims[i]);
  }
}
