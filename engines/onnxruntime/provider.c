#include "provider.h"

#include "common/fail.h"
#include "onnxruntime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hl_ort_providers[] = {"cpu", "cuda", "tensorrt", NULL};

void hl_ort_list_providers(const hl_ort_api *api, char *ret_list, size_t capacity) {
  char **names = NULL;
  int count = 0;
  ret_list[0] = '\0';
  hl_ort_status *failed = api->GetAvailableProviders(&names, &count);
  if (failed) {
    api->ReleaseStatus(failed);
    return;
  }
  size_t used = 0;
  for (int i = 0; i < count && used < capacity; i++)
    used += (size_t)snprintf(ret_list + used, capacity - used, "%s%s", i ? ", " : "", names[i]);
  failed = api->ReleaseAvailableProviders(names, count);
  if (failed) api->ReleaseStatus(failed);
}

/* "cuda:2", "gpu:2", "cuda", "gpu": the number of the GPU; -1 for anything else. */
static int gpu_number(const char *device) {
  size_t length = strcspn(device, ":");
  bool named = (length == 4 && strncmp(device, "cuda", 4) == 0) ||
               (length == 3 && strncmp(device, "gpu", 3) == 0);
  if (!named) return -1;
  if (device[length] == '\0') return 0;
  const char *digits = device + length + 1;
  size_t count = strspn(digits, "0123456789");
  return count > 0 && count < 5 && digits[count] == '\0' ? (int)strtol(digits, NULL, 10) : -1;
}

hl_status hl_ort_choose(const char *provider, const char *device, hl_ort_choice *ret_choice,
                        hl_error *error) {
  int gpu = gpu_number(device);
  bool cpu = strcmp(device, "cpu") == 0;
  if (!cpu && gpu < 0)
    return hl_engine_fail(error, HL_UNAVAILABLE,
                          "onnxruntime: this engine runs on cpu, or on cuda:N with a provider for "
                          "it, not on '%s'",
                          device);
  int index = cpu ? HL_ORT_CPU : HL_ORT_CUDA;
  if (provider)
    for (index = 0; hl_ort_providers[index] && strcmp(hl_ort_providers[index], provider) != 0;)
      index++;
  if (!hl_ort_providers[index])
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "onnxruntime: no provider '%s'; there are cpu, cuda and tensorrt",
                          provider);
  if (cpu != (index == HL_ORT_CPU))
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "onnxruntime: provider %s does not run on device %s; give --device %s",
                          hl_ort_providers[index], device, cpu ? "cuda:0" : "cpu");
  *ret_choice = (hl_ort_choice){.provider = (hl_ort_provider)index, .device = gpu < 0 ? 0 : gpu};
  return HL_OK;
}

/* Whatever the code: a provider that cannot be added is not there. */
static hl_status check(const hl_engine *engine, hl_ort_status *failed, hl_error *error) {
  if (!failed) return HL_OK;
  char list[512];
  hl_ort_list_providers(engine->api, list, sizeof list);
  hl_engine_fail_whole(engine->host, error, HL_UNAVAILABLE,
                       "onnxruntime: provider %s: %s (%s has: %s)",
                       hl_ort_providers[engine->choice.provider],
                       engine->api->GetErrorMessage(failed), engine->library->file.path, list);
  engine->api->ReleaseStatus(failed);
  return HL_UNAVAILABLE;
}

/* TF32 would be another precision than the row says. */
static hl_status add_cuda(const hl_engine *engine, hl_ort_session_options *options,
                          hl_error *error) {
  const hl_ort_api *api = engine->api;
  hl_ort_cuda *cuda = NULL;
  char device[16];
  snprintf(device, sizeof device, "%d", engine->choice.device);
  const char *const keys[] = {"device_id", "use_tf32"}, *const values[] = {device, "0"};
  hl_status status = check(engine, api->CreateCUDAProviderOptions(&cuda), error);
  if (status == HL_OK)
    status = check(engine, api->UpdateCUDAProviderOptions(cuda, keys, values, 2), error);
  if (status == HL_OK)
    status =
        check(engine, api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda), error);
  if (cuda) api->ReleaseCUDAProviderOptions(cuda);
  return status;
}

static hl_status add_tensorrt(const hl_engine *engine, hl_ort_session_options *options,
                              hl_error *error) {
  const hl_ort_api *api = engine->api;
  hl_ort_tensorrt *tensorrt = NULL;
  char device[16];
  snprintf(device, sizeof device, "%d", engine->choice.device);
  const char *const keys[] = {"device_id"}, *const values[] = {device};
  hl_status status = check(engine, api->CreateTensorRTProviderOptions(&tensorrt), error);
  if (status == HL_OK)
    status = check(engine, api->UpdateTensorRTProviderOptions(tensorrt, keys, values, 1), error);
  if (status == HL_OK)
    status = check(
        engine, api->SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt), error);
  if (tensorrt) api->ReleaseTensorRTProviderOptions(tensorrt);
  return status;
}

hl_status hl_ort_add_provider(const hl_engine *engine, hl_ort_session_options *options,
                              hl_error *error) {
  if (engine->choice.provider == HL_ORT_CPU) return HL_OK;
  /* NVIDIA's own switch for all its libraries: TensorRT's builder has TF32 on, and no option of the
   * provider turns it off. */
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  hl_status status = HL_OK;
  if (engine->choice.provider == HL_ORT_TENSORRT) status = add_tensorrt(engine, options, error);
  return status == HL_OK ? add_cuda(engine, options, error) : status;
}
