/*
 * base/parallel.h - a loop cut into parts, one thread each.
 *
 *     static void work(void *context, int part, int parts) { ... its share ... }
 *     hl_parallel(threads, work, &job);
 *
 * Starts parts - 1 threads, works on part 0 itself, and returns when all have ended. What a part
 * does must depend on (part, parts) alone. Where a thread cannot be started, the caller does its
 * part: slower, never wrong. A start and its end cost about 20 microseconds: cut only what takes
 * longer than that.
 */
#ifndef HL_BASE_PARALLEL_H
#define HL_BASE_PARALLEL_H

enum { HL_PARALLEL_MAX = 256 };

/* `parts` is brought into 1..HL_PARALLEL_MAX. */
void hl_parallel(int parts, void (*work)(void *context, int part, int parts), void *context);

#endif
