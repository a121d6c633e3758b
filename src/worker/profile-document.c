#include "worker/profile-document.h"

#include "formats/profile-read.h"
#include <string.h>

static int32_t phase_of(const char *name) {
  static const char *const names[HL_PHASE_COUNT] = {"forward", "loss", "backward", "optimizer"};
  for (int32_t p = 0; p < HL_PHASE_COUNT; p++)
    if (strcmp(name, names[p]) == 0) return p;
  return -1;
}

static void visit_event(const hl_profile *p, const hl_profile_event *e, uint64_t step_start_ns,
                        hl_span_visit visit, void *context) {
  const hl_profile_operator *o = &p->operators[e->operator];
  uint64_t step_ns = p->step_start_ns[e->step];
  /* What began with its step may be rounded to before it. */
  uint64_t after_ns = e->start_ns > step_ns ? e->start_ns - step_ns : 0;
  const hl_span span = {.size = sizeof span,
                        .name = o->name,
                        .kind = o->kind,
                        .layer = o->layer,
                        .phase = phase_of(o->phase),
                        .thread = e->thread,
                        .start_ns = step_start_ns + after_ns,
                        .duration_ns = e->duration_ns,
                        .flops = o->flops,
                        .bytes = o->bytes,
                        .memory_bytes = o->memory_bytes};
  visit(context, &span);
}

hl_status hl_worker_read_profile(const char *text, size_t bytes, const uint64_t *step_start_ns,
                                 size_t count, hl_span_visit visit, void *context,
                                 hl_error *error) {
  hl_profile *p;
  hl_status status = hl_profile_read_memory("the engine's profile", text, bytes, &p, error);
  if (status != HL_OK) return status;
  if (p->step_count < count)
    status = hl_error_set(error, HL_BAD_DATA,
                          "the engine's profile holds %zu of %zu steps: profile fewer",
                          p->step_count, count);
  size_t first = status == HL_OK ? p->step_count - count : 0;
  for (size_t i = 0; i < p->event_count && status == HL_OK; i++) {
    const hl_profile_event *e = &p->events[i];
    if ((size_t)e->step >= first)
      visit_event(p, e, step_start_ns[(size_t)e->step - first], visit, context);
  }
  hl_profile_free(p);
  return status;
}
