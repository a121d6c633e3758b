/* Hashes: FNV's published values, and every bit of a buffer counts. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* http://www.isthe.com/chongo/src/fnv/test_fnv.c, 64-bit FNV-1a */
static void texts_have_the_published_hashes(void **state) {
  (void)state;
  assert_true(hl_hash_text(HL_HASH_START, "") == 0xcbf29ce484222325u);
  assert_true(hl_hash_text(HL_HASH_START, "a") == 0xaf63dc4c8601ec8cu);
  assert_true(hl_hash_text(HL_HASH_START, "foobar") == 0x85944171f73967e8u);
  assert_true(hl_hash_text(hl_hash_text(HL_HASH_START, "foo"), "bar") == 0x85944171f73967e8u);
}

static void hashes_see_every_byte(void **state) {
  (void)state;
  unsigned char data[41];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
  uint64_t whole = hl_hash_bytes(0, data, sizeof data);
  assert_true(whole == hl_hash_bytes(0, data, sizeof data));
  assert_true(whole != hl_hash_bytes(1, data, sizeof data));
  assert_true(whole != hl_hash_bytes(0, data, sizeof data - 1));
  for (size_t i = 0; i < sizeof data; i++)
    for (int bit = 0; bit < 8; bit++) {
      data[i] = (unsigned char)(data[i] ^ 1 << bit);
      assert_true(whole != hl_hash_bytes(0, data, sizeof data));
      data[i] = (unsigned char)(data[i] ^ 1 << bit);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_have_the_published_hashes),
      cmocka_unit_test(hashes_see_every_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
