/*
 * record/profile-nest.h - which call ran within which, and the time of each that is its own.
 *
 *     hl_profile_nest nest;
 *     status = hl_profile_nest_init(&nest, profile, error);
 *     nest.self_ns[i] ... nest.parent[i]
 *     hl_profile_nest_release(&nest);
 *
 * An event's parent is the shortest event of its thread that lies around it. Of two with the same
 * times a span lies around what is none, else the earlier in the list around the later. Events that
 * overlap in part are none's parent. Self time is the duration without that of the children: never
 * below zero, and over a thread self times add up to the durations of its outermost events where
 * children do not overlap.
 */
#ifndef HL_RECORD_PROFILE_NEST_H
#define HL_RECORD_PROFILE_NEST_H

#include "record/profile.h"

typedef struct hl_profile_nest {
  size_t count;      /* of the profile's events */
  uint32_t *order;   /* events by thread and start, parents before children */
  int32_t *parent;   /* of each event, by its index in the profile; -1: none */
  uint64_t *self_ns; /* of each event */
} hl_profile_nest;

hl_status hl_profile_nest_init(hl_profile_nest *ret_nest, const hl_profile *profile,
                               hl_error *error);
void hl_profile_nest_release(hl_profile_nest *nest);

#endif
