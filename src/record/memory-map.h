/*
 * record/memory-map.h - what each byte of a program is for, as its engine says, and sums of it.
 *
 *     hl_memory_map *map;
 *     hl_status status = hl_memory_map_new(&map, error);
 *     engine.allocations(model, &spec, hl_memory_map_add, map, error);
 *     hl_memory_sums sums;
 *     status = hl_memory_map_sum(map, &sums, error);
 *     printf("%llu bytes at the fullest step\n", (unsigned long long)sums.peak_bytes);
 *     hl_memory_map_free(map);
 *
 * Pure. Sizes are bytes, alignment included.
 */
#ifndef HL_RECORD_MEMORY_MAP_H
#define HL_RECORD_MEMORY_MAP_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>

enum { HL_MEMORY_KINDS = HL_ALLOCATION_INPUT_OUTPUT + 1, HL_MEMORY_PIECES = 1 << 20 };

typedef struct hl_memory_step {
  hl_phase phase;
  const char *layer; /* owned by the map, as all strings */
} hl_memory_step;

typedef struct hl_memory_map {
  hl_arena arena;
  hl_memory_step *steps;
  size_t step_count, step_capacity;
  hl_allocation *pieces; /* names never NULL */
  size_t piece_count, piece_capacity;
  hl_status failed; /* the first failure of hl_memory_map_add */
} hl_memory_map;

hl_status hl_memory_map_new(hl_memory_map **ret_map, hl_error *error);
void hl_memory_map_free(hl_memory_map *map); /* NULL is allowed */

/* An hl_allocation_visit whose context, `opaque`, is the map: copies. After a failure nothing is
 * added. */
void hl_memory_map_add(void *opaque, const hl_allocation *a);

/* OUT_OF_MEMORY or LIMIT if adding failed; BAD_DATA for a piece whose numbers are none of this
 * program's, such as steps that it does not have. */
hl_status hl_memory_map_check(const hl_memory_map *map, hl_error *error);

/* The fullest step is the first at which most bytes live. "Always" is what has no life in steps. */
typedef struct hl_memory_sums {
  uint64_t always[HL_MEMORY_KINDS];
  uint64_t most[HL_MEMORY_KINDS]; /* at the step at which most of that kind live, always included */
  uint64_t at_peak[HL_MEMORY_KINDS]; /* at the fullest step, always included */
  uint64_t peak_bytes;               /* their sum */
  uint64_t arena_bytes;              /* highest end of a place */
  uint64_t gap_bytes;                /* of the arena, what is not used at the fullest step */
  int32_t fullest;                   /* -1: no step has anything */
  bool has_phase[HL_PHASE_COUNT];
  uint64_t phase_peak[HL_PHASE_COUNT]; /* at its fullest step, always included */
  uint64_t phase_kinds[HL_PHASE_COUNT][HL_MEMORY_KINDS];
} hl_memory_sums;

/* The map is checked. OUT_OF_MEMORY. */
hl_status hl_memory_map_sum(const hl_memory_map *map, hl_memory_sums *ret_sums, hl_error *error);

/* A layer's part of what lives at the fullest step. */
typedef struct hl_memory_layer {
  const char *name; /* the map's; "" holds what belongs to none */
  uint64_t kinds[HL_MEMORY_KINDS];
  uint64_t bytes; /* their sum */
} hl_memory_layer;

/* All layers, the largest first; free() them. Their sums are `sums->at_peak`. */
hl_status hl_memory_map_layers(const hl_memory_map *map, const hl_memory_sums *sums,
                               hl_memory_layer **ret_layers, size_t *ret_count, hl_error *error);

/* "forward", "loss", "backward", "optimizer" */
const char *hl_phase_name(hl_phase phase);

#endif
