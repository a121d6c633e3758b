/*
 * base/arena.h - many small allocations with one lifetime.
 *
 *     hl_arena arena;
 *     hl_arena_init(&arena, 64u << 20);
 *     char *name = hl_arena_text(&arena, "conv1");
 *     ...
 *     hl_arena_release(&arena);
 *
 * Memory is zeroed and aligned to 16 bytes. An arena has a cap in bytes; beyond it, or when the
 * system has no memory, functions return NULL. Not thread-safe.
 */
#ifndef HL_BASE_ARENA_H
#define HL_BASE_ARENA_H

#include <stddef.h>

typedef struct hl_arena_block hl_arena_block;

typedef struct hl_arena {
  hl_arena_block *head;
  size_t used_bytes; /* handed out so far */
  size_t cap_bytes;
} hl_arena;

void hl_arena_init(hl_arena *arena, size_t cap_bytes);
void hl_arena_release(hl_arena *arena); /* frees everything; the arena can be initialised again */

/* `bytes` zeroed bytes (0 gives a valid pointer), or NULL. */
void *hl_arena_alloc(hl_arena *arena, size_t bytes);

/* count * item_bytes, overflow-checked. */
void *hl_arena_array(hl_arena *arena, size_t count, size_t item_bytes);

/* Copies; NULL in gives NULL out. */
char *hl_arena_text(hl_arena *arena, const char *text);
char *hl_arena_text_n(hl_arena *arena, const char *text, size_t length);
void *hl_arena_copy(hl_arena *arena, const void *data, size_t bytes);

#endif
