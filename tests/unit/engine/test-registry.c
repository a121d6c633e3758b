/* Tables of engines: taken over whole, refused where they are not ours. */
#include "engine/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static hl_engine_ops good(void) {
  hl_engine_ops ops = {0};
  assert_int_equal(hl_engine_open("null", NULL, &ops, NULL, NULL), HL_OK);
  return ops;
}

static void a_good_table_is_taken(void **state) {
  (void)state;
  hl_engine_ops given = good(), ops = {0};
  assert_int_equal(hl_engine_adopt(&given, "x", &ops, NULL), HL_OK);
  assert_memory_equal(&ops, &given, sizeof ops);
}

static void an_older_table_lacks_the_newer_hooks(void **state) {
  (void)state;
  hl_engine_ops given = good(), ops;
  given.size = offsetof(hl_engine_ops, memory);
  given.memory = (void *)1; /* beyond its size: not read */
  given.profile = (void *)1;
  assert_int_equal(hl_engine_adopt(&given, "x", &ops, NULL), HL_OK);
  assert_null(ops.memory);
  assert_null(ops.profile);
  assert_null(ops.state_read);
  assert_non_null(ops.close);
}

static void a_newer_table_is_cut(void **state) {
  (void)state;
  struct {
    hl_engine_ops ops;
    void *newer[8];
  } given = {.ops = good()};
  given.ops.size = sizeof given;
  struct {
    hl_engine_ops ops;
    char guard[64];
  } taken;
  memset(&taken, 0x5A, sizeof taken);
  assert_int_equal(hl_engine_adopt(&given.ops, "x", &taken.ops, NULL), HL_OK);
  for (size_t i = 0; i < sizeof taken.guard; i++) assert_int_equal(taken.guard[i], 0x5A);
}

static void tables_that_are_not_ours(void **state) {
  (void)state;
  hl_engine_ops given = good(), ops = {.abi = 77};
  hl_error error = {0};
  assert_int_equal(hl_engine_adopt(NULL, "p.so", &ops, &error), HL_UNAVAILABLE);
  given.abi = HL_ENGINE_ABI + 1;
  assert_int_equal(hl_engine_adopt(&given, "p.so", &ops, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "p.so"));
  assert_non_null(strstr(error.msg, "version 2"));
  given = good();
  for (uint32_t size = 0; size < offsetof(hl_engine_ops, memory); size += 7) {
    given.size = size;
    assert_int_equal(hl_engine_adopt(&given, "p.so", &ops, &error), HL_UNAVAILABLE);
  }
  assert_int_equal(ops.abi, 77); /* untouched */
}

static void a_missing_hook_is_noticed(void **state) {
  (void)state;
#define OFFSET(hook) offsetof(hl_engine_ops, hook)
  static const size_t required[] = {
      OFFSET(name),         OFFSET(version),      OFFSET(probe),      OFFSET(open),
      OFFSET(load),         OFFSET(describe),     OFFSET(prepare),    OFFSET(request),
      OFFSET(bind),         OFFSET(submit),       OFFSET(wait),       OFFSET(output),
      OFFSET(request_free), OFFSET(program_free), OFFSET(model_free), OFFSET(close)};
  static const size_t optional[] = {OFFSET(plan), OFFSET(memory), OFFSET(profile),
                                    OFFSET(state_read), OFFSET(state_write)};
  hl_engine_ops ops;
  for (size_t i = 0; i < HL_COUNT(required); i++) {
    hl_engine_ops given = good();
    memset((char *)&given + required[i], 0, sizeof(void *));
    assert_int_equal(hl_engine_adopt(&given, "x", &ops, NULL), HL_UNAVAILABLE);
  }
  for (size_t i = 0; i < HL_COUNT(optional); i++) {
    hl_engine_ops given = good();
    memset((char *)&given + optional[i], 0, sizeof(void *));
    assert_int_equal(hl_engine_adopt(&given, "x", &ops, NULL), HL_OK);
  }
  hl_engine_ops nameless = good();
  nameless.name = "";
  assert_int_equal(hl_engine_adopt(&nameless, "x", &ops, NULL), HL_UNAVAILABLE);
}

static void names_that_no_engine_has(void **state) {
  (void)state;
  hl_engine_ops ops;
  hl_error error = {0};
  assert_int_equal(hl_engine_open("nonsense", NULL, &ops, NULL, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "nonsense"));
  assert_non_null(strstr(error.msg, "native"));
  assert_int_equal(hl_engine_open("x", "/no/such/file.so", &ops, NULL, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "/no/such/file.so"));
  assert_int_equal(hl_engine_open("x", "no-such.so", &ops, NULL, &error), HL_UNAVAILABLE);
  assert_int_equal(hl_engine_open("x", "/dev/null", &ops, NULL, &error), HL_UNAVAILABLE);
  char *path = NULL;
  assert_int_equal(hl_engine_open("null", NULL, &ops, &path, NULL), HL_OK);
  assert_string_equal(path, "");
  hl_free_pointer(&path);
  size_t count = 0;
  while (hl_engine_builtin(count)) count++;
  assert_true(count >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_table_is_taken),
      cmocka_unit_test(an_older_table_lacks_the_newer_hooks),
      cmocka_unit_test(a_newer_table_is_cut),
      cmocka_unit_test(tables_that_are_not_ours),
      cmocka_unit_test(a_missing_hook_is_noticed),
      cmocka_unit_test(names_that_no_engine_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
