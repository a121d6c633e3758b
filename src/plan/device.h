/*
 * plan/device.h - what --device and --device-prefer ask for, as canonical names of devices.
 *
 *     hl_device_inventory here = {.cuda_count = 2};
 *     hl_device_choice *choices;
 *     size_t count;
 *     hl_device_choices(&arena, "gpu:all", NULL, &here, &choices, &count, error);
 *     const char *name = hl_device_for_engine(&arena, &choices[0], "onnxruntime", &here, &note);
 *
 * Canonical names: cpu; cuda:0 (one GPU); cuda:0+1 (one batch split over two); gpu:0 (the GPU of an
 * engine that is not CUDA's); mps; tpu. `cuda` is cuda:0; `gpu` counts CUDA's devices for every
 * engine but openvino, which has GPUs of its own. Other names go to the engine as they are.
 */
#ifndef HL_PLAN_DEVICE_H
#define HL_PLAN_DEVICE_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { HL_DEVICE_MOST = 16, HL_DEVICE_NAME = 64 };

/* What there is here; src/machine finds it. */
typedef struct hl_device_inventory {
  int cuda_count;
  const char *cuda_reason; /* why there is none; NULL: unknown */
  bool mps, tpu;
  /* The devices of an engine that has its own list, "cpu, cuda:0, mps", which then counts alone;
   * NULL: it has none. Borrowed until the next call; the member may be NULL. */
  const char *(*devices_of)(void *context, const char *engine);
  void *context;
} hl_device_inventory;

typedef struct hl_device_choice {
  const char *name; /* canonical but for gpu:N, which depends on the engine */
  bool preferred;   /* a preference: where the device is not, the row runs on cpu and says so */
} hl_device_choice;

/* Parses `list` (commas), or `prefer` in its place where that is not NULL. `cuda:all` and `gpu:all`
 * become one choice for each GPU, cuda:0 where there is none. Repeated names are dropped.
 * INVALID_ARGUMENT names the word that is no device. Results live in `arena`. */
hl_status hl_device_choices(hl_arena *arena, const char *list, const char *prefer,
                            const hl_device_inventory *here, hl_device_choice **ret_choices,
                            size_t *ret_count, hl_error *error);

/* The device that `engine` is given for a choice, and in `ret_note` what the row has to say about
 * it (NULL: nothing). A preference that cannot be met gives way to mps where the engine lists it,
 * else to cpu. NULL without memory. */
const char *hl_device_for_engine(hl_arena *arena, const hl_device_choice *choice,
                                 const char *engine, const hl_device_inventory *here,
                                 const char **ret_note);

/* CUDA ordinals of a canonical name, in its order; 0 for a device that is not CUDA's.
 * `ret_ordinals` has room for HL_DEVICE_MOST. */
size_t hl_device_ordinals(const char *name, int *ret_ordinals);

/* Is one batch split over several devices? */
bool hl_device_is_split(const char *name);

#endif
