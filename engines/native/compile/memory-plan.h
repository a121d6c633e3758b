/*
 * compile/memory-plan.h - where each tensor of a program lies, before anything is allocated.
 *
 * Tensors whose lifetimes do not meet may share memory. They are placed one after another, each at
 * the lowest address that is free for all of its life, in several orders (by size, by breadth: as
 * in Pisarchyk and Lee 2020; by size times life), each improved by placing first what ended on top.
 * The best counts; where it needs no more than what lives at the fullest step, none can be better.
 */
#ifndef HL_NATIVE_COMPILE_MEMORY_PLAN_H
#define HL_NATIVE_COMPILE_MEMORY_PLAN_H

#include "compile/builder.h"

/* One piece of memory that is needed from step `first` to step `last`, both included. */
typedef struct hl_native_piece {
  uint64_t bytes;
  int32_t first, last;
  uint64_t place; /* result */
} hl_native_piece;

/* Sets `place` of each piece, aligned to 64 bytes; `*ret_bytes` is the size of the whole. */
hl_status hl_native_place(hl_native_piece *pieces, size_t count, uint64_t *ret_bytes,
                          hl_error *error);

/* Places every root of the list; sets `arena_bytes` and `output_bytes`. */
hl_status hl_native_memory_plan(hl_native_list *list, hl_error *error);

#endif
