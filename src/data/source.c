#include "data/source.h"

#include "base/dtype.h"
#include "data/dataset-internal.h"
#include <stdlib.h>
#include <string.h>

void hl_source_free(hl_source *source) {
  if (!source) return;
  if (source->free) source->free(source->context);
  free(source);
}

typedef struct memory {
  hl_source source; /* the object that callers hold */
  const hl_dataset *dataset;
  hl_source_port ports[];
} memory;

static hl_status lend(void *context, int64_t index, hl_tensor_view *values, hl_error *error) {
  const memory *m = context;
  (void)error;
  for (size_t i = 0; i < m->source.port_count; i++) {
    const hl_tensor_view *array = &m->dataset->inputs[i];
    bool is_constant = m->ports[i].is_constant;
    values[i].bytes = is_constant ? array->bytes : array->bytes / (uint64_t)array->dims[0];
    values[i].data = (char *)array->data + (is_constant ? 0 : (uint64_t)index * values[i].bytes);
  }
  return HL_OK;
}

static hl_status add_port(memory *m, size_t i, hl_data_rule rule, bool is_target, hl_error *error) {
  const hl_tensor_view *array = &m->dataset->inputs[i];
  hl_port port = {.name = array->name, .dtype = array->dtype, .rank = array->rank};
  memcpy(port.dims, array->dims, sizeof port.dims);
  if (rule.batch_axis >= 0) {
    if (array->rank < 1 || array->dims[0] != m->dataset->count)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "array '%.60s' does not hold one value for each of the data set's inputs",
                          array->name);
    port.rank--;
    memmove(port.dims, port.dims + 1, (size_t)port.rank * sizeof *port.dims);
    port.dims[port.rank] = 0;
  }
  m->ports[i] =
      (hl_source_port){.port = port, .is_target = is_target, .is_constant = rule.batch_axis < 0};
  return HL_OK;
}

hl_status hl_source_of_dataset(const hl_dataset *dataset, const hl_data_rule *rules,
                               size_t target_count, hl_source **ret_source, hl_error *error) {
  size_t count = dataset->input_count;
  if (count < 1 || count > HL_SOURCE_PORTS_MAX || target_count > count || dataset->count < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a data set of %zu arrays cannot be read sample by sample: 1 to %d can, "
                        "with an input in each",
                        count, HL_SOURCE_PORTS_MAX);
  memory *m = calloc(1, sizeof *m + count * sizeof *m->ports);
  if (!m) return hl__dataset_no_memory(error);
  m->dataset = dataset;
  m->source = (hl_source){.context = m,
                          .count = dataset->count,
                          .port_count = count,
                          .ports = m->ports,
                          .description = dataset->description,
                          .read = lend,
                          .is_lent = true};
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = add_port(m, i, hl__rule_of(rules, i), i >= count - target_count, error);
  if (status != HL_OK)
    free(m);
  else
    *ret_source = &m->source;
  return status;
}
