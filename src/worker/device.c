#include "worker/device.h"

#include "protocol/channel.h"

hl_status hl_worker_device_open(hl_worker_device *device, const char *name, json_t *reply,
                                hl_error *error) {
  int ordinals[HL_DEVICE_MOST];
  size_t count = hl_device_ordinals(name, ordinals);
  if (count == 0) return HL_OK;
  hl_gpu_watch_close(device->watch); /* of an attempt that failed */
  device->watch = NULL;
  device->first = ordinals[0];
  hl_status status = hl_gpu_watch_open(ordinals, count, &device->watch, error);
  if (status == HL_OK) hl_json_set_text(reply, "device_name", hl_gpu_watch_name(device->watch));
  return status;
}

void hl_worker_device_start(hl_worker_device *device, json_t *reply) {
  if (!device->watch) return;
  hl_gpu_watch_start(device->watch);
  hl_json_set_real(reply, "device_idle_w", hl_gpu_watch_idle_w(device->watch));
}

void hl_worker_device_begin(hl_worker_device *device) {
  if (device->watch) hl_gpu_watch_begin(device->watch);
}

void hl_worker_device_end(hl_worker_device *device, json_t *reply) {
  hl_gpu_slice slice;
  if (!device->watch) return;
  hl_gpu_watch_end(device->watch, &slice);
  hl_json_set_real(reply, "device_s", slice.seconds);
  hl_json_set_real(reply, "device_energy_j", slice.energy_j);
  hl_json_set_real(reply, "device_clock_mhz", slice.clock_mhz);
  hl_json_set_real(reply, "device_temperature_c", slice.temperature_c);
  if (slice.reasons_known) hl_json_set_int(reply, "device_reasons", slice.reasons & INT64_MAX);
}

void hl_worker_device_memory(hl_worker_device *device, json_t *reply) {
  hl_gpu_memory memory;
  if (!device->watch) return;
  hl_gpu_watch_memory(device->watch, &memory);
  if (memory.bytes == UINT64_MAX) return;
  hl_json_set_int(reply, "device_bytes", memory.bytes);
  hl_json_set_int(reply, "device_peak_bytes", memory.peak_bytes);
  hl_json_set_bool(reply, "device_of_process", memory.of_process);
}

static hl_status time_step(hl_cuda *cuda, const hl_cuda_timer *timer, void *stream,
                           hl_inference *inference, double *ret_ms, hl_error *error) {
  int64_t images;
  hl_status status = hl_cuda_timer_begin(cuda, timer, stream, error);
  if (status == HL_OK) status = hl_inference_step(inference, &images, error);
  if (status == HL_OK) status = hl_cuda_timer_end(cuda, timer, stream, error);
  return status == HL_OK ? hl_cuda_timer_read(cuda, timer, ret_ms, error) : status;
}

hl_status hl_worker_device_time(hl_worker_device *device, hl_inference *inference,
                                const json_t *request, json_t *reply, hl_error *error) {
  int64_t steps = hl_json_get_int(request, "steps", 1);
  if (steps < 1 || steps > 1000)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "device_time: 'steps' is not 1 to 1000");
  void *stream = NULL;
  const hl_engine_ops *ops = &inference->ops;
  if (!device->watch || !ops->stream ||
      ops->stream(inference->full.request, &stream, NULL) != HL_OK)
    return HL_OK;
  hl_cuda *cuda = hl_gpu_watch_cuda(device->watch);
  hl_cuda_timer timer;
  hl_status status = hl_cuda_timer_new(cuda, device->first, &timer, error);
  if (status != HL_OK) return status;
  bool full_only = inference->full_only;
  inference->full_only = true;
  json_t *list = json_array();
  for (int64_t i = 0; i < steps && status == HL_OK; i++) {
    double ms = 0;
    status = time_step(cuda, &timer, stream, inference, &ms, error);
    if (status == HL_OK) json_array_append_new(list, json_real(ms));
  }
  inference->full_only = full_only;
  hl_cuda_timer_release(cuda, &timer);
  json_object_set_new(reply, "device_ms", list);
  return status;
}
