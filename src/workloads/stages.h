/*
 * workloads/stages.h - the stages of a step, told to whoever profiles it.
 *
 *     in a workload:  uint64_t start = hl_clock_ns();
 *                     ...
 *                     hl_stage_tell("preprocess", start, hl_clock_ns());
 *     in a profiler:  hl_stage_listen(&listener);   ...   hl_stage_listen(NULL);
 *
 * Nobody listens outside of a profile, and to tell is then one comparison. Stages nest, on the
 * thread that steps; an inner one is told before the one around it. One listener in a process;
 * thread of the steps only.
 */
#ifndef HL_WORKLOADS_STAGES_H
#define HL_WORKLOADS_STAGES_H

#include <stdint.h>

typedef struct hl_stage_listener {
  void *context;
  /* All is borrowed for the call; times of CLOCK_MONOTONIC. */
  void (*stage)(void *context, const char *name, uint64_t start_ns, uint64_t end_ns);
  /* A number or a grey picture (0 black, 1 white) of step `step`, to be shown over steps. */
  void (*number)(void *context, const char *name, int64_t step, double value);
  void (*picture)(void *context, const char *name, int64_t step, int64_t height, int64_t width,
                  const float *pixels);
} hl_stage_listener;

extern const hl_stage_listener *hl_stage_listener_now; /* NULL: nobody */

void hl_stage_listen(const hl_stage_listener *listener);

static inline void hl_stage_tell(const char *name, uint64_t start_ns, uint64_t end_ns) {
  const hl_stage_listener *l = hl_stage_listener_now;
  if (l) l->stage(l->context, name, start_ns, end_ns);
}
static inline void hl_stage_number(const char *name, int64_t step, double value) {
  const hl_stage_listener *l = hl_stage_listener_now;
  if (l) l->number(l->context, name, step, value);
}
static inline void hl_stage_picture(const char *name, int64_t step, int64_t height, int64_t width,
                                    const float *pixels) {
  const hl_stage_listener *l = hl_stage_listener_now;
  if (l) l->picture(l->context, name, step, height, width, pixels);
}

#endif
