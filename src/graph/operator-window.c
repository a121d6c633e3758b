/* Windows of convolutions and pools: attributes, padding rules and output sizes. */
#include "graph/operator-kit.h"

#include <string.h>

/* No real window, stride or pad comes near this; the bound keeps the arithmetic below exact. */
static const int64_t most = INT64_C(1) << 31;

static hl_status read_list(const hl_node *node, const char *name, int32_t spatial, int64_t low,
                           int64_t otherwise, int64_t *ret, hl_error *error) {
  int64_t values[HL_MAX_RANK];
  size_t count = hl_node_ints(node, name, values, HL_MAX_RANK);
  if (count && count != (size_t)spatial)
    return hl_op_fail(node, HL_BAD_DATA, error, "attribute '%s' has %zu numbers; expected %d", name,
                      count, spatial);
  for (int32_t i = 0; i < spatial; i++) {
    ret[i] = count ? values[i] : otherwise;
    if (ret[i] < low || ret[i] >= most)
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "attribute '%s' holds %lld; it must be %lld to "
                        "%lld",
                        name, (long long)ret[i], (long long)low, (long long)most - 1);
  }
  return HL_OK;
}

static hl_status read_pads(const hl_node *node, hl_window *w, hl_error *error) {
  int64_t values[2 * HL_MAX_RANK] = {0};
  size_t count = hl_node_ints(node, "pads", values, 2 * HL_MAX_RANK);
  if (count && count != 2 * (size_t)w->spatial)
    return hl_op_fail(node, HL_BAD_DATA, error, "attribute 'pads' has %zu numbers; expected %d",
                      count, 2 * w->spatial);
  for (int32_t i = 0; i < w->spatial; i++) {
    w->before[i] = values[i];
    w->after[i] = values[i + w->spatial];
    if (w->before[i] < 0 || w->after[i] < 0 || w->before[i] >= most || w->after[i] >= most)
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "attribute 'pads' holds a negative or huge number");
  }
  return HL_OK;
}

static hl_status read_common(const hl_node *node, const hl_shape *input, const int64_t *kernel,
                             hl_window *w, hl_error *error) {
  *w = (hl_window){.spatial = input->rank - 2};
  if (w->spatial < 1)
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the input has %d dimensions; expected batch, channels and 1 or more others",
                      input->rank);
  if (!kernel && !hl_node_attribute(node, "kernel_shape"))
    return hl_op_fail(node, HL_BAD_DATA, error, "attribute 'kernel_shape' is missing");
  hl_status status =
      read_list(node, "kernel_shape", w->spatial, 1, kernel ? 0x7fffffff : 0, w->kernel, error);
  if (status == HL_OK) status = read_list(node, "strides", w->spatial, 1, 1, w->stride, error);
  if (status == HL_OK) status = read_list(node, "dilations", w->spatial, 1, 1, w->dilation, error);
  if (status == HL_OK) status = read_pads(node, w, error);
  for (int32_t i = 0; status == HL_OK && kernel && i < w->spatial; i++) {
    if (hl_node_attribute(node, "kernel_shape") && kernel[i] >= 0 && w->kernel[i] != kernel[i])
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "kernel_shape says %lld, the weights have %lld along spatial axis %d",
                        (long long)w->kernel[i], (long long)kernel[i], i);
    if (kernel[i] == 0 || kernel[i] >= most)
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "the weights have %lld taps along spatial axis %d", (long long)kernel[i],
                        i);
    w->kernel[i] = kernel[i] < 0 ? 1 : kernel[i];
  }
  return status;
}

typedef enum padding { PADDING_GIVEN, PADDING_UPPER, PADDING_LOWER, PADDING_NONE } padding;

static hl_status read_auto_pad(const hl_node *node, padding *ret, hl_error *error) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const char *name = hl_node_text(node, "auto_pad", "NOTSET");
  for (size_t i = 0; i < HL_COUNT(names); i++) {
    if (strcmp(names[i], name) != 0) continue;
    *ret = (padding)i;
    return HL_OK;
  }
  return hl_op_fail(node, HL_BAD_DATA, error,
                    "auto_pad '%.40s' is not one of NOTSET, SAME_UPPER, "
                    "SAME_LOWER, VALID",
                    name);
}

static void split_padding(hl_window *w, int32_t i, int64_t total, bool upper) {
  if (total < 0) total = 0;
  w->before[i] = upper ? total / 2 : total - total / 2;
  w->after[i] = total - w->before[i];
}

hl_status hl_window_read(const hl_node *node, const hl_shape *input, const int64_t *kernel,
                         hl_window *ret_window, hl_error *error) {
  hl_window w;
  padding mode = PADDING_GIVEN;
  hl_status status = read_common(node, input, kernel, &w, error);
  if (status == HL_OK) status = read_auto_pad(node, &mode, error);
  if (status != HL_OK) return status;
  bool ceil_mode = hl_node_int(node, "ceil_mode", 0) != 0;
  for (int32_t i = 0; i < w.spatial; i++) {
    int64_t in = input->dims[i + 2], extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    if (mode != PADDING_GIVEN) w.before[i] = w.after[i] = 0;
    w.out[i] = -1;
    if (in < 0) continue;
    if (mode == PADDING_UPPER || mode == PADDING_LOWER) {
      w.out[i] = (in + w.stride[i] - 1) / w.stride[i];
      split_padding(&w, i, (w.out[i] - 1) * w.stride[i] + extent - in, mode == PADDING_UPPER);
      continue;
    }
    int64_t padded = in + w.before[i] + w.after[i], room = padded - extent;
    int64_t over = ceil_mode ? w.stride[i] - 1 : 0; /* that a last window may hang over */
    if (room + over < 0)
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "a window of %lld does not fit into %lld padded elements of spatial axis "
                        "%d",
                        (long long)extent, (long long)padded, i);
    w.out[i] = (room + over) / w.stride[i] + 1;
    /* A window may not start in the padding behind the data. */
    if (ceil_mode && (w.out[i] - 1) * w.stride[i] >= in + w.before[i]) w.out[i]--;
  }
  *ret_window = w;
  return HL_OK;
}

hl_status hl_window_read_transposed(const hl_node *node, const hl_shape *input,
                                    const int64_t *kernel, hl_window *ret_window, hl_error *error) {
  hl_window w;
  padding mode = PADDING_GIVEN;
  int64_t extra[HL_MAX_RANK] = {0}, wanted[HL_MAX_RANK] = {0};
  hl_status status = read_common(node, input, kernel, &w, error);
  if (status == HL_OK) status = read_auto_pad(node, &mode, error);
  if (status == HL_OK) status = read_list(node, "output_padding", w.spatial, 0, 0, extra, error);
  bool sized = hl_node_attribute(node, "output_shape") != NULL;
  if (status == HL_OK) status = read_list(node, "output_shape", w.spatial, 0, 0, wanted, error);
  if (status != HL_OK) return status;
  for (int32_t i = 0; i < w.spatial; i++) {
    int64_t in = input->dims[i + 2], extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    if (mode != PADDING_GIVEN) w.before[i] = w.after[i] = 0;
    w.out[i] = -1;
    int64_t full;
    if (in < 0) continue;
    if (in < 1 || __builtin_mul_overflow(in, w.stride[i], &full))
      return hl_op_fail(node, HL_BAD_DATA, error, "spatial axis %d has %lld elements", i,
                        (long long)in);
    if (__builtin_add_overflow(full - w.stride[i], extra[i] + extent, &full))
      return hl_op_fail(node, HL_LIMIT, error, "spatial axis %d grows beyond any memory", i);
    if (sized || mode == PADDING_UPPER || mode == PADDING_LOWER) {
      w.out[i] = sized ? wanted[i] : in * w.stride[i];
      split_padding(&w, i, full - w.out[i], mode != PADDING_LOWER && mode != PADDING_GIVEN);
    } else {
      w.out[i] = full - w.before[i] - w.after[i];
    }
    if (w.out[i] < 1)
      return hl_op_fail(node, HL_BAD_DATA, error, "pads leave nothing of spatial axis %d", i);
  }
  *ret_window = w;
  return HL_OK;
}
