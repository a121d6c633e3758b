/* Arenas: alignment, zeroes, the cap, overflow, large blocks beside small ones. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **state) {
  (void)state;
  hl_arena arena;
  hl_arena_init(&arena, 64u << 20);
  static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 65536, 65537, 200000, 3, 1 << 20, 8};
  for (size_t round = 0; round < 20; round++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      unsigned char *p = hl_arena_alloc(&arena, sizes[i]);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % 16, 0);
      for (size_t b = 0; b < sizes[i]; b++) assert_int_equal(p[b], 0);
      memset(p, 0xA5, sizes[i]); /* the next must not overlap: it has to be zero */
    }
  hl_arena_release(&arena);
  hl_arena_release(&arena);
}

static void the_cap_holds(void **state) {
  (void)state;
  hl_arena arena;
  hl_arena_init(&arena, 1024);
  assert_non_null(hl_arena_alloc(&arena, 1000));
  assert_null(hl_arena_alloc(&arena, 32));
  assert_non_null(hl_arena_alloc(&arena, 16));
  assert_null(hl_arena_alloc(&arena, 1));
  assert_true(arena.used_bytes <= 1024);
  hl_arena_release(&arena);
  assert_non_null(hl_arena_alloc(&arena, 1000)); /* usable again */
  hl_arena_release(&arena);
  hl_arena_init(&arena, 0);
  assert_null(hl_arena_alloc(&arena, 0));
}

static void sizes_that_overflow_are_refused(void **state) {
  (void)state;
  hl_arena arena;
  hl_arena_init(&arena, SIZE_MAX);
  assert_null(hl_arena_alloc(&arena, SIZE_MAX));
  assert_null(hl_arena_alloc(&arena, SIZE_MAX - 20));
  assert_null(hl_arena_array(&arena, SIZE_MAX / 2, 3));
  assert_null(hl_arena_array(&arena, (size_t)1 << 33, (size_t)1 << 33));
  assert_null(hl_arena_text_n(&arena, "x", SIZE_MAX));
  assert_non_null(hl_arena_array(&arena, 0, 8));
  hl_arena_release(&arena);
}

static void copies_are_copies(void **state) {
  (void)state;
  hl_arena arena;
  hl_arena_init(&arena, 4096);
  char text[] = "conv1";
  char *copy = hl_arena_text(&arena, text), *part = hl_arena_text_n(&arena, text, 4);
  text[0] = 'X';
  assert_string_equal(copy, "conv1");
  assert_string_equal(part, "conv");
  assert_null(hl_arena_text(&arena, NULL));
  const int numbers[] = {1, 2, 3};
  assert_memory_equal(hl_arena_copy(&arena, numbers, sizeof numbers), numbers, sizeof numbers);
  assert_non_null(hl_arena_copy(&arena, NULL, 0));
  hl_arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned),
      cmocka_unit_test(the_cap_holds),
      cmocka_unit_test(sizes_that_overflow_are_refused),
      cmocka_unit_test(copies_are_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
