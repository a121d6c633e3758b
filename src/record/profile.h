/*
 * record/profile.h - where the time of a step goes: operators, when each ran, and what it did.
 *
 *     hl_profile *profile;
 *     status = hl_profile_new(&profile, error);
 *     int32_t op = hl_profile_operator_add(profile, &(hl_profile_operator){.name = "conv1", ...});
 *     hl_profile_event_add(profile, &(hl_profile_event){.operator = op, .step = 0, ...});
 *     hl_profile_free(profile);
 *
 * Filled by whoever measures or reads another profiler's file, read by tables and writers. Times
 * are nanoseconds since the profile's own start; sizes are bytes. Pure; not thread-safe.
 */
#ifndef HL_RECORD_PROFILE_H
#define HL_RECORD_PROFILE_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

#define HL_PROFILE_SPAN "span" /* kind of what holds others: a phase, a stage */

enum { HL_PROFILE_OPERATORS = 1 << 20, HL_PROFILE_EVENTS = 1 << 22 };

/* A thing that takes time: an operator of the engine, or a phase or stage that holds others. */
typedef struct hl_profile_operator {
  const char *name;    /* of the operator or span: "conv1+relu", "forward"; any bytes of UTF-8 */
  const char *kind;    /* "Conv", "convolution", "span": what it is; never NULL */
  const char *layer;   /* the model's node that it comes from; "" if none or not known */
  const char *phase;   /* "forward", "loss", "backward", "optimizer", a stage's name, or "" */
  double flops;        /* of one call, nominal; NaN where not known */
  double bytes;        /* read and written by one call, by shapes; NaN where not known */
  double memory_bytes; /* what it allocates or writes; NaN where not known */
} hl_profile_operator;

/* One call. Events of a thread nest: a span holds the operators that ran in it. */
typedef struct hl_profile_event {
  int32_t operator; /* index */
  int32_t step;     /* from 0 */
  int32_t thread;   /* 0: the one that submits */
  uint64_t start_ns, duration_ns;
} hl_profile_event;

/* A number over steps, for charts: a loss, an image quality. */
typedef struct hl_profile_scalar {
  const char *name;
  int64_t step;
  double value;
} hl_profile_scalar;

/* A grey picture of floats, for TensorBoard: 0 black, 1 white, others clipped. */
typedef struct hl_profile_picture {
  const char *name;
  int64_t step, height, width;
  const float *pixels;
} hl_profile_picture;

typedef struct hl_profile {
  hl_arena arena; /* owns all strings and pixels */
  /* What was measured; strings never NULL. */
  const char *workload, *model, *engine, *engine_version, *dtype, *device, *source;
  int64_t batch_size, threads;
  bool complete;      /* false: it ended before it was to, by `reason` */
  const char *reason; /* "" if complete */
  hl_profile_operator *operators;
  size_t operator_count, operator_capacity;
  hl_profile_event *events;
  size_t event_count, event_capacity;
  uint64_t *step_start_ns, *step_ns; /* of each step, from submit to its end */
  size_t step_count, step_capacity;
  uint64_t dropped_events; /* beyond HL_PROFILE_EVENTS: said wherever it is shown */
  uint64_t wall_start_us;  /* of the profile's start, since 1970; 0: not known */
  /* NaN where not measured. */
  double peak_gflops, bandwidth_gbs;            /* the roofline's limits */
  double overhead, overhead_low, overhead_high; /* time with ÷ time without the profiler, and its
                                                 * interval, of `overhead_pairs` pairs */
  int64_t overhead_pairs;
  hl_profile_scalar *scalars;
  size_t scalar_count, scalar_capacity;
  hl_profile_picture *pictures;
  size_t picture_count, picture_capacity;
} hl_profile;

hl_status hl_profile_new(hl_profile **ret_profile, hl_error *error);
void hl_profile_free(hl_profile *profile); /* NULL is allowed */

/* Copies what is given, strings included, NULL strings as "". The index, or -1 without memory or
 * beyond HL_PROFILE_OPERATORS. */
int32_t hl_profile_operator_add(hl_profile *profile, const hl_profile_operator *operator);

/* OUT_OF_MEMORY. What is beyond HL_PROFILE_EVENTS is counted in dropped_events, not kept. */
hl_status hl_profile_event_add(hl_profile *profile, const hl_profile_event *event);
hl_status hl_profile_step_add(hl_profile *profile, uint64_t start_ns, uint64_t duration_ns);
hl_status hl_profile_scalar_add(hl_profile *profile, const char *name, int64_t step, double value);
hl_status hl_profile_picture_add(hl_profile *profile, const hl_profile_picture *picture);

#endif
