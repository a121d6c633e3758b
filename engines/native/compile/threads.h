/*
 * compile/threads.h - how many threads a step is worth.
 *
 *     hl_native_work work = hl_native_work_of(ir, node);
 *     int threads = hl_native_threads_for(work, 8);   // 1 or 8
 *
 * Handing work to another thread and waiting for it takes about a microsecond while that thread is
 * awake, and far longer once it sleeps or has lost its core. A step that is done sooner than that
 * saves anything runs on the thread that submits it.
 */
#ifndef HL_NATIVE_COMPILE_THREADS_H
#define HL_NATIVE_COMPILE_THREADS_H

#include "compile/ir.h"

/* What a step has to do at most. */
typedef struct hl_native_work {
  double bytes; /* read and written */
  double flops; /* of products; those of other operators are weighed by the time they take */
} hl_native_work;

/* The work of a node; INFINITY flops where nothing is known of it. Thread-safe. */
hl_native_work hl_native_work_of(const hl_native_ir *ir, const hl_native_node *node);

/* The nominal FLOPs of a node, as hl_graph_flops counts them, with what was fused into it; NaN
 * where a fusion has none of its own. */
double hl_native_nominal_flops(const hl_native_ir *ir, const hl_native_node *node);

/* The time on one thread, by the slower of memory and arithmetic, in nanoseconds. */
double hl_native_work_ns(hl_native_work work);

/* `allowed` (at least 1) if it saves more than a parallel region costs, else 1. */
int hl_native_threads_for(hl_native_work work, int allowed);

/* `allowed`, or 1 for a whole program that other threads would serve for a moment only, between
 * steps of one: on a busy machine they sleep by then, and waking them costs more than all they
 * save.
 */
int hl_native_threads_worth(const hl_native_ir *ir, int allowed);

#endif
