#include "worker/feed.h"

#include "data/loader.h"
#include "machine/memory.h"
#include "protocol/channel.h"
#include <stdio.h>

hl_status hl_worker_feed(hl_inference *inference, const json_t *request, json_t *reply,
                         hl_error *error) {
  int64_t threads = hl_json_get_int(request, "threads", 1);
  int64_t max_ns = hl_json_get_int(request, "max_ns", 0);
  if (threads < 0 || threads > HL_LOADER_THREADS_MAX || max_ns < 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "feed: a number is out of range");
  uint64_t needed = hl_feed_bytes(inference), available = hl_memory_available(NULL);
  if (needed > available / 2) {
    char reason[120];
    snprintf(reason, sizeof reason, "it needs %.0f MB, and %.0f MB are left", (double)needed / 1e6,
             (double)available / 1e6);
    hl_json_set_text(reply, "reason", reason);
    return HL_OK;
  }
  const hl_feed_spec spec = {.threads = (int)threads, .max_ns = (uint64_t)max_ns};
  hl_feed_result r;
  hl_status status = hl_feed_run(inference, &spec, &r, error);
  if (status == HL_OUT_OF_MEMORY) { /* of a limit; the row itself is measured */
    hl_json_set_text(reply, "reason", error ? error->msg : "no memory");
    return HL_OK;
  }
  if (status != HL_OK) return status;
  hl_json_set_int(reply, "steps", r.steps);
  hl_json_set_int(reply, "images", r.images);
  hl_json_set_int(reply, "elapsed_ns", r.elapsed_ns);
  hl_json_set_int(reply, "wait_ns", r.wait_ns);
  hl_json_set_int(reply, "work_ns", r.work_ns);
  uint64_t busy = r.elapsed_ns > r.wait_ns ? r.elapsed_ns - r.wait_ns : 0;
  hl_json_set_int(reply, "loader_threads_needed",
                  (uint64_t)hl_loader_threads_needed((double)r.work_ns, (double)busy));
  return HL_OK;
}
