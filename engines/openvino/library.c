#include "library.h"

#include "common/fail.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const hl_library_search search = {
    .engine = "openvino",
    .variable = "HOTLAP_OPENVINO_LIBRARY",
    .sonames = (const char *const[]){"libopenvino_c.so", NULL},
    .system_patterns =
        (const char *const[]){"/usr/lib/*/libopenvino_c.so.*", "/usr/lib64/libopenvino_c.so.*",
                              "/usr/local/lib/libopenvino_c.so.*",
                              "/opt/intel/openvino*/runtime/lib/*/libopenvino_c.so*", NULL},
    .package_patterns = (const char *const[]){"openvino/libs/libopenvino_c.so*", NULL},
    .package = "openvino",
};

enum { oldest = 202406, newest_year = 2026, probe_elements = 64 };

/* In the library's order from `boolean` on: bits of an element, and our number. */
static const struct {
  int bits;
  hl_dtype dtype;
} types[] = {
    {8, HL_BOOL},       {16, HL_BFLOAT16},  {16, HL_FLOAT16},   {32, HL_FLOAT32},
    {64, HL_FLOAT64},   {4, HL_DTYPE_NONE}, {8, HL_INT8},       {16, HL_INT16},
    {32, HL_INT32},     {64, HL_INT64},     {1, HL_DTYPE_NONE}, {2, HL_DTYPE_NONE},
    {3, HL_DTYPE_NONE}, {4, HL_DTYPE_NONE}, {6, HL_DTYPE_NONE}, {8, HL_UINT8},
    {16, HL_UINT16},    {32, HL_UINT32},    {64, HL_UINT64},
};
enum { type_count = sizeof types / sizeof *types };

static hl_ov_library current;
static bool is_open;

hl_dtype hl_ov_dtype(const hl_ov_library *library, int type) {
  int at = type - library->first_type;
  return at >= 0 && at < type_count ? types[at].dtype : HL_DTYPE_NONE;
}

int hl_ov_type(const hl_ov_library *library, hl_dtype dtype) {
  for (int i = 0; i < type_count && dtype != HL_DTYPE_NONE; i++)
    if (types[i].dtype == dtype) return library->first_type + i;
  return -1;
}

/* Bits of an element of the library's type number `type`; 0 if no tensor can be of it. */
static int bits_of(const hl_ov_api *api, int type) {
  int64_t dims[] = {probe_elements};
  const hl_ov_shape shape = {.rank = 1, .dims = dims};
  hl_ov_tensor *tensor = NULL;
  size_t bytes = 0;
  if (api->tensor_create(type, shape, &tensor) != HL_OV_OK || !tensor) return 0;
  if (api->tensor_get_byte_size(tensor, &bytes) != HL_OV_OK) bytes = 0;
  api->tensor_free(tensor);
  return (int)(bytes * 8 / probe_elements);
}

static bool list_begins_at(const hl_ov_api *api, int first) {
  for (int i = 0; i < type_count; i++)
    if (bits_of(api, first + i) != types[i].bits) return false;
  return true;
}

static hl_status take_functions(void *handle, const char *path, hl_error *error) {
#define X(result, name, arguments)                                                                 \
  {                                                                                                \
    void *symbol = dlsym(handle, "ov_" #name);                                                     \
    if (!symbol)                                                                                   \
      return hl_engine_fail(error, HL_UNAVAILABLE,                                                 \
                            "openvino: %s has no function ov_" #name                               \
                            ": it is not OpenVINO's C library, or older than 2024.6",              \
                            path);                                                                 \
    /* ISO C has no cast from object to function pointer. */                                       \
    memcpy(&current.api.name, &symbol, sizeof symbol);                                             \
  }
  HL_OV_MAP(X)
#undef X
  return HL_OK;
}

static hl_status take_version(const char *path, hl_error *error) {
  hl_ov_version version = {0};
  int year = 0, minor = 0;
  if (current.api.get_openvino_version(&version) != HL_OV_OK || !version.build)
    return hl_engine_fail(error, HL_UNAVAILABLE, "openvino: %s does not say its version", path);
  char build[48];
  snprintf(build, sizeof build, "%s", version.build);
  current.api.version_free(&version);
  build[strcspn(build, "-")] = '\0'; /* number of the build, hash, branch */
  snprintf(current.version, sizeof current.version, "openvino %s", build);
  bool fits = sscanf(build, "%d.%d", &year, &minor) == 2 && year * 100 + minor >= oldest &&
              year <= newest_year;
  return fits ? HL_OK
              : hl_engine_fail(error, HL_UNAVAILABLE,
                               "openvino: %s is version %s; 2024.6 to %d.x is needed. Remedy: pip "
                               "install 'openvino>=2024.6,<%d'",
                               path, build, newest_year, newest_year + 1);
}

static hl_status take(const hl_library *file, hl_error *error) {
  hl_status status = take_functions(file->handle, file->path, error);
  if (status == HL_OK) status = take_version(file->path, error);
  if (status != HL_OK) return status;
  for (current.first_type = 1; current.first_type <= 2; current.first_type++)
    if (list_begins_at(&current.api, current.first_type)) return HL_OK;
  return hl_engine_fail(error, HL_UNAVAILABLE,
                        "openvino: %s (%s) numbers element types in a way that is not known here. "
                        "Remedy: another release of 2024.6 to %d.x",
                        file->path, current.version, newest_year);
}

hl_status hl_ov_library_open(const hl_host *host, const hl_ov_library **ret_library,
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

const hl_ov_library *hl_ov_library_current(void) {
  return is_open ? &current : NULL;
}
