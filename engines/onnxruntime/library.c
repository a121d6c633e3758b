#include "library.h"

#include "common/fail.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const hl_library_search search = {
    .engine = "onnxruntime",
    .variable = "HOTLAP_ONNXRUNTIME_LIBRARY",
    .sonames = (const char *const[]){"libonnxruntime.so.1", NULL},
    .package_patterns = (const char *const[]){"onnxruntime/capi/libonnxruntime.so.1*", NULL},
    .package = "onnxruntime",
};

static hl_ort_library current;
static bool is_open;

static hl_status take(const hl_library *file, hl_error *error) {
  char remedy[512];
  hl_library_remedy(&search, remedy, sizeof remedy);
  void *symbol = dlsym(file->handle, "OrtGetApiBase");
  if (!symbol)
    return hl_engine_fail(error, HL_UNAVAILABLE,
                          "onnxruntime: %s is not ONNX Runtime's library: it has no function "
                          "OrtGetApiBase. %s",
                          file->path, remedy);
  const hl_ort_base *(*get_base)(void);
  memcpy(&get_base, &symbol, sizeof get_base); /* ISO C has no cast from object to function */
  const hl_ort_base *base = get_base();
  const char *version = base->GetVersionString();
  int major = 0, minor = 0;
  /* Asked for a version that it lacks, the library would print a complaint. */
  bool fits =
      sscanf(version, "%d.%d", &major, &minor) == 2 && major == 1 && minor >= HL_ORT_API_VERSION;
  const void *table = fits ? base->GetApi(HL_ORT_API_VERSION) : NULL;
  if (!table)
    return hl_engine_fail(
        error, HL_UNAVAILABLE,
        "onnxruntime: %s is version %.32s; 1.%d or a later 1.x is needed. Remedy: "
        "pip install --upgrade onnxruntime",
        file->path, version, HL_ORT_API_VERSION);
#define X(place, result, name, arguments)                                                          \
  memcpy(&current.api.name, (const char *)table + (size_t)(place) * sizeof(void *), sizeof(void *));
  HL_ORT_MAP(X)
#undef X
  snprintf(current.version, sizeof current.version, "onnxruntime %.32s", version);
  return HL_OK;
}

hl_status hl_ort_library_open(const hl_host *host, const hl_ort_library **ret_library,
                              hl_error *error) {
  if (!is_open) {
    hl_status status = hl_library_open(&search, host, &current.file, error);
    if (status == HL_OK) status = take(&current.file, error);
    if (status != HL_OK) return status;
    is_open = true;
  }
  *ret_library = &current;
  return HL_OK;
}

const hl_ort_library *hl_ort_library_current(void) {
  return is_open ? &current : NULL;
}
