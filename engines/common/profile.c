#include "profile.h"

#include <time.h>

uint64_t hl_engine_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

hl_status hl_engine_bind_again(hl_request *to, const void *const *bound, const uint64_t *bytes,
                               size_t count,
                               hl_status (*bind)(hl_request *request, size_t input,
                                                 const hl_tensor_view *view, hl_error *error),
                               hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_tensor_view view = {.data = (void *)(uintptr_t)bound[i], .bytes = bytes[i]};
    if (view.data) status = bind(to, i, &view, error);
  }
  return status;
}
