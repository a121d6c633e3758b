#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hl_arena_block {
  hl_arena_block *next;
  size_t size, used;
  _Alignas(16) unsigned char data[];
};

enum { block_bytes = 64 * 1024 };

void hl_arena_init(hl_arena *arena, size_t cap_bytes) {
  *arena = (hl_arena){.cap_bytes = cap_bytes};
}

void hl_arena_release(hl_arena *arena) {
  for (hl_arena_block *b = arena->head; b;) {
    hl_arena_block *next = b->next;
    free(b);
    b = next;
  }
  arena->head = NULL;
  arena->used_bytes = 0;
}

void *hl_arena_alloc(hl_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(hl_arena_block) - 16) return NULL;
  size_t need = (bytes + 15) & ~(size_t)15;
  if (need == 0) need = 16;
  if (need > arena->cap_bytes - arena->used_bytes) return NULL;
  hl_arena_block *b = arena->head;
  if (!b || b->size - b->used < need) {
    size_t size = need > block_bytes ? need : block_bytes;
    b = calloc(1, sizeof *b + size);
    if (!b) return NULL;
    b->size = size;
    /* A large block goes behind the head, whose free space stays in use. */
    if (arena->head && need > block_bytes) {
      b->next = arena->head->next;
      arena->head->next = b;
    } else {
      b->next = arena->head;
      arena->head = b;
    }
  }
  void *p = b->data + b->used;
  b->used += need;
  arena->used_bytes += need;
  return p;
}

void *hl_arena_array(hl_arena *arena, size_t count, size_t item_bytes) {
  size_t bytes;
  if (__builtin_mul_overflow(count, item_bytes, &bytes)) return NULL;
  return hl_arena_alloc(arena, bytes);
}

char *hl_arena_text_n(hl_arena *arena, const char *text, size_t length) {
  if (!text || length == SIZE_MAX) return NULL;
  char *copy = hl_arena_alloc(arena, length + 1);
  if (copy) memcpy(copy, text, length);
  return copy;
}

char *hl_arena_text(hl_arena *arena, const char *text) {
  return text ? hl_arena_text_n(arena, text, strlen(text)) : NULL;
}

void *hl_arena_copy(hl_arena *arena, const void *data, size_t bytes) {
  void *copy = hl_arena_alloc(arena, bytes);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}
