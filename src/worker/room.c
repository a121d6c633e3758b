#include "worker/room.h"

#include "base/dtype.h"
#include "record/record.h"
#include <inttypes.h>

/* Of one image; `batch` is the axis left out. */
static double port_bytes(const hl_port *port, int32_t batch) {
  double bytes = (double)hl_dtype_bytes(port->dtype);
  for (int32_t axis = 0; axis < port->rank; axis++)
    if (axis != batch && port->dims[axis] >= 0) bytes *= (double)port->dims[axis];
  return bytes;
}

double hl_room_needed(const hl_configuration *configuration, const hl_model_file *file) {
  const hl_configuration *c = configuration;
  double image = 0, once = 0;
  for (size_t i = 0; i < file->input_count; i++)
    if (hl_model_file_input_axis(file, i) >= 0)
      image += port_bytes(&file->inputs[i], hl_model_file_input_axis(file, i));
    else
      once += port_bytes(&file->inputs[i], -1);
  int64_t images = c->batch_size;
  if (!c->test_data && c->n_images > images) images = c->n_images;
  return once + image * (double)images;
}

hl_status hl_room_check(const hl_configuration *configuration, const hl_model_file *file,
                        uint64_t available_bytes, hl_error *error) {
  double need = hl_room_needed(configuration, file), have = (double)available_bytes;
  if (available_bytes == UINT64_MAX || need <= have) return HL_OK;
  bool images = !configuration->test_data && configuration->n_images > configuration->batch_size;
  return hl_error_set(
      error, HL_OUT_OF_MEMORY,
      HL_REASON_PREDICTED ": %s %" PRId64 " alone need %.0f MB and %.0f MB may be used",
      images ? "the synthetic inputs of --n-images" : "the inputs of a batch of",
      images ? configuration->n_images : configuration->batch_size, need / 1e6, have / 1e6);
}
