#include "worker/outputs.h"

#include "base/dtype.h"
#include "worker/describe.h"
#include "workloads/reference.h"
#include <stdlib.h>

enum { most_outputs = 64 };

typedef struct outputs {
  float *values; /* owned */
  size_t counts[most_outputs], count;
} outputs;

/* Integers and bools are equal or they are not. */
static bool is_exact(const hl_model_file *file, size_t output) {
  return output < file->output_count && !hl_dtype_is_float(file->outputs[output].dtype);
}

/* Takes the values. */
static hl_status reply_with(const hl_model_file *file, outputs *o, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error) {
  size_t total = 0;
  json_t *list = json_array(), *exact = json_array(), *shapes = json_array();
  bool good = list && exact && shapes;
  for (size_t i = 0; i < o->count && good; i++) {
    good = json_array_append_new(list, json_integer((json_int_t)o->counts[i])) == 0 &&
           json_array_append_new(exact, json_boolean(is_exact(file, i))) == 0 &&
           json_array_append_new(shapes, hl_worker_output_shape(file, i, o->counts[i])) == 0;
    total += o->counts[i];
  }
  good = json_object_set_new(reply, "elements", list) == 0 && good;
  good = json_object_set_new(reply, "exact", exact) == 0 && good;
  good = json_object_set_new(reply, "shapes", shapes) == 0 && good;
  if (!good) {
    free(o->values);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reply");
  }
  *ret_bytes = o->values;
  *ret_byte_count = total * sizeof *o->values;
  return HL_OK;
}

hl_status hl_worker_outputs(hl_inference *inference, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error) {
  outputs o = {0};
  hl_status status =
      hl_inference_first_outputs(inference, &o.values, o.counts, most_outputs, &o.count, error);
  return status == HL_OK ? reply_with(inference->file, &o, reply, ret_bytes, ret_byte_count, error)
                         : status;
}

hl_status hl_worker_reference(hl_inference *inference, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error) {
  outputs o = {0};
  hl_status status =
      hl_reference_outputs(inference, &o.values, o.counts, most_outputs, &o.count, error);
  return status == HL_OK ? reply_with(inference->file, &o, reply, ret_bytes, ret_byte_count, error)
                         : status;
}
