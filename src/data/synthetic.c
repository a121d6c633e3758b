/* Seeded inputs made up for a model. */
#include "base/dtype.h"
#include "data/array.h"
#include "data/dataset-internal.h"
#include "numeric/random.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* How an input is made up. */
typedef enum kind { kind_normal, kind_ones, kind_indices, kind_bytes, kind_bits } kind;

static kind kind_of(const hl_port *port, hl_data_rule rule) {
  bool is_number = hl_dtype_is_float(port->dtype);
  if (strcasestr(port->name, is_number ? "attention_mask" : "mask")) return kind_ones;
  if (is_number) return kind_normal;
  if (port->dtype != HL_BOOL && rule.index_limit > 0) return kind_indices;
  return port->dtype == HL_UINT8 ? kind_bytes : kind_bits;
}

static uint64_t limit_of(const hl_port *port, hl_data_rule rule, kind k) {
  if (k == kind_bytes) return 256;
  if (k == kind_bits) return 2;
  /* What the type holds. */
  size_t size = hl_dtype_bytes(port->dtype);
  uint64_t most = size >= 4 ? (uint64_t)INT32_MAX + 1 : size == 2 ? 0x8000 : 0x80;
  return (uint64_t)rule.index_limit < most ? (uint64_t)rule.index_limit : most;
}

static void fill(hl_tensor_view *array, int64_t elements, kind k, uint64_t limit, uint64_t seed) {
  uint64_t stream = hl_random_stream(array->name);
  if (k == kind_normal) {
    hl_random_fill_normal(array->data, (size_t)elements, 0, 1, seed, stream);
    return;
  }
  hl_random random;
  hl_random_init(&random, seed, stream);
  for (int64_t i = 0; i < elements; i++) {
    uint64_t value = k == kind_ones      ? 1
                     : k == kind_indices ? hl_random_below(&random, limit)
                                         : hl_random_u32(&random) & (limit - 1);
    if (array->dtype == HL_UINT8)
      ((uint8_t *)array->data)[i] = (uint8_t)value;
    else
      ((int64_t *)array->data)[i] = (int64_t)value;
  }
}

/* Seconds to draw, not minutes. */
static const uint64_t most_bytes = UINT64_C(8) << 30;

static hl_status check_bytes(const hl_port *ports, const hl_data_rule *rules, size_t port_count,
                             int64_t count, hl_error *error) {
  uint64_t all = 0;
  for (size_t i = 0; i < port_count; i++) {
    int64_t dims[HL_MAX_RANK] = {0}, elements = 0;
    hl_status status = hl__dataset_dims(&ports[i], hl__rule_of(rules, i), count, dims, error);
    if (status != HL_OK) return status;
    uint64_t bytes = 0;
    if (!hl_array_count(ports[i].rank, dims, &elements) ||
        __builtin_mul_overflow((uint64_t)elements, hl_dtype_bytes(ports[i].dtype), &bytes) ||
        bytes > most_bytes || (all += bytes) > most_bytes)
      return hl_error_set(error, HL_LIMIT,
                          "%" PRId64 " synthetic input%s would be more than %" PRIu64
                          " GiB: use fewer images, smaller shapes, or a file of your own",
                          count, count == 1 ? "" : "s", most_bytes >> 30);
  }
  return HL_OK;
}

static hl_status make_input(const hl_port *port, hl_data_rule rule, int64_t count, uint64_t seed,
                            hl_tensor_view *ret, hl_error *error) {
  int64_t dims[HL_MAX_RANK] = {0}, elements = 0;
  hl_status status = hl__dataset_dims(port, rule, count, dims, error);
  if (status != HL_OK) return status;
  kind k = kind_of(port, rule);
  hl_dtype drawn = k == kind_normal ? HL_FLOAT32 : k == kind_indices ? HL_INT64 : HL_UINT8;
  hl_tensor_view array;
  status = hl_array_new(port->name, drawn, port->rank, dims, &array, error);
  if (status != HL_OK) return status;
  hl_array_count(array.rank, array.dims, &elements);
  fill(&array, elements, k, limit_of(port, rule, k), seed);
  if (port->dtype == drawn) {
    *ret = array;
    return HL_OK;
  }
  status = hl_array_convert(&array, port->dtype, port->name, ret, error);
  hl_array_release(&array);
  return status;
}

static void say_kind(const hl_port *port, hl_data_rule rule, hl_text *out) {
  kind k = kind_of(port, rule);
  if (k == kind_normal)
    hl_text_append(out, "standard normal");
  else if (k == kind_ones)
    hl_text_append(out, "ones");
  else
    hl_text_format(out, "uniform 0 to %" PRIu64, limit_of(port, rule, k) - 1);
  if (rule.batch_axis < 0) hl_text_append(out, ", the same in each step");
}

/* "8 synthetic inputs (standard normal, seed 42)", or each by its name where they differ. */
static void describe(const hl_port *ports, const hl_data_rule *rules, size_t count, hl_text *out) {
  bool alike = true;
  for (size_t i = 0; i < count; i++) {
    hl_data_rule rule = hl__rule_of(rules, i);
    alike = alike && kind_of(&ports[i], rule) == kind_normal && rule.batch_axis >= 0;
  }
  for (size_t i = 0; i < (alike ? 1 : count); i++) {
    if (out->length > 400) {
      hl_text_format(out, "; %zu more", count - i);
      return;
    }
    if (!alike) hl_text_format(out, "%s%.60s: ", i ? "; " : "", ports[i].name);
    say_kind(&ports[i], hl__rule_of(rules, i), out);
  }
}

hl_status hl_dataset_synthetic(const hl_port *ports, const hl_data_rule *rules, size_t port_count,
                               int64_t count, uint64_t seed, hl_dataset **ret_dataset,
                               hl_error *error) {
  if (count < 1) return hl_error_set(error, HL_INVALID_ARGUMENT, "a data set needs an input");
  hl_dataset *dataset = NULL;
  hl_status status = check_bytes(ports, rules, port_count, count, error);
  if (status == HL_OK) status = hl__dataset_new(port_count, &dataset, error);
  for (size_t i = 0; i < port_count && status == HL_OK; i++)
    status = make_input(&ports[i], hl__rule_of(rules, i), count, seed, &dataset->inputs[i], error);
  if (status == HL_OK) {
    hl_text kinds = HL_TEXT_INIT;
    describe(ports, rules, port_count, &kinds);
    dataset->count = count;
    dataset->description = hl_format("%" PRId64 " synthetic input%s (%s, seed %" PRIu64 ")", count,
                                     count == 1 ? "" : "s", kinds.data, seed);
    hl_text_release(&kinds);
    if (!dataset->description) status = hl__dataset_no_memory(error);
  }
  if (status != HL_OK)
    hl_dataset_free(dataset);
  else
    *ret_dataset = dataset;
  return status;
}
