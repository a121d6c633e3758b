#include "record/profile.h"

#include <math.h>
#include <stdlib.h>

static const size_t most_bytes = (size_t)1 << 30; /* of names and pictures */

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a profile");
}

hl_status hl_profile_new(hl_profile **ret_profile, hl_error *error) {
  hl_profile *p = calloc(1, sizeof *p);
  if (!p) return no_memory(error);
  hl_arena_init(&p->arena, most_bytes);
  p->workload = p->model = p->engine = p->engine_version = p->dtype = p->device = p->source =
      p->reason = "";
  p->peak_gflops = p->bandwidth_gbs = (double)NAN;
  p->overhead = p->overhead_low = p->overhead_high = (double)NAN;
  *ret_profile = p;
  return HL_OK;
}

void hl_profile_free(hl_profile *profile) {
  if (!profile) return;
  free(profile->operators);
  free(profile->events);
  free(profile->step_start_ns);
  free(profile->step_ns);
  free(profile->scalars);
  free(profile->pictures);
  hl_arena_release(&profile->arena);
  free(profile);
}

/* `list` with room for one more item. */
static bool grow(void **list, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *grown = realloc(*list, wanted * item_bytes);
  if (!grown) return false;
  *list = grown;
  *capacity = wanted;
  return true;
}

static const char *copy(hl_profile *profile, const char *text) {
  return hl_arena_text(&profile->arena, text ? text : "");
}

int32_t hl_profile_operator_add(hl_profile *profile, const hl_profile_operator *operator) {
  hl_profile *p = profile;
  hl_profile_operator o = *operator;
  o.name = copy(p, o.name);
  o.kind = copy(p, o.kind);
  o.layer = copy(p, o.layer);
  o.phase = copy(p, o.phase);
  if (!o.name || !o.kind || !o.layer || !o.phase || p->operator_count >= HL_PROFILE_OPERATORS ||
      !grow((void **)&p->operators, p->operator_count, &p->operator_capacity, sizeof o))
    return -1;
  p->operators[p->operator_count] = o;
  return (int32_t)p->operator_count++;
}

hl_status hl_profile_event_add(hl_profile *profile, const hl_profile_event *event) {
  hl_profile *p = profile;
  if (p->event_count >= HL_PROFILE_EVENTS) {
    p->dropped_events++;
    return HL_OK;
  }
  if (!grow((void **)&p->events, p->event_count, &p->event_capacity, sizeof *event))
    return HL_OUT_OF_MEMORY;
  p->events[p->event_count++] = *event;
  return HL_OK;
}

hl_status hl_profile_step_add(hl_profile *profile, uint64_t start_ns, uint64_t duration_ns) {
  hl_profile *p = profile;
  size_t capacity = p->step_capacity; /* the same for both */
  if (!grow((void **)&p->step_start_ns, p->step_count, &capacity, sizeof *p->step_start_ns) ||
      !grow((void **)&p->step_ns, p->step_count, &p->step_capacity, sizeof *p->step_ns))
    return HL_OUT_OF_MEMORY;
  p->step_start_ns[p->step_count] = start_ns;
  p->step_ns[p->step_count++] = duration_ns;
  return HL_OK;
}

hl_status hl_profile_scalar_add(hl_profile *profile, const char *name, int64_t step, double value) {
  hl_profile *p = profile;
  hl_profile_scalar scalar = {.name = copy(p, name), .step = step, .value = value};
  if (!scalar.name ||
      !grow((void **)&p->scalars, p->scalar_count, &p->scalar_capacity, sizeof scalar))
    return HL_OUT_OF_MEMORY;
  p->scalars[p->scalar_count++] = scalar;
  return HL_OK;
}

hl_status hl_profile_picture_add(hl_profile *profile, const hl_profile_picture *picture) {
  hl_profile *p = profile;
  hl_profile_picture kept = *picture;
  if (kept.height < 1 || kept.width < 1 || kept.height > (int64_t)1 << 20 ||
      kept.width > (int64_t)1 << 20)
    return HL_INVALID_ARGUMENT;
  kept.name = copy(p, kept.name);
  kept.pixels = hl_arena_copy(&p->arena, kept.pixels,
                              (size_t)kept.height * (size_t)kept.width * sizeof(float));
  if (!kept.name || !kept.pixels ||
      !grow((void **)&p->pictures, p->picture_count, &p->picture_capacity, sizeof kept))
    return HL_OUT_OF_MEMORY;
  p->pictures[p->picture_count++] = kept;
  return HL_OK;
}
