/* The configuration crosses the pipe unchanged; members that are missing or absurd are named. */
#include "protocol/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const plugins[] = {"a.so", "b c.so"};
static const hl_option engine_options[] = {{"k", "v"}, {"empty", ""}};
static const hl_input_shape input_shapes[] = {{"ids", 2, {-1, 128}}, {"a=b", 1, {0}}};
static const hl_configuration full = {.model = "mlp:hidden_dim=64",
                                      .is_builtin = true,
                                      .engine = "null",
                                      .plugins = plugins,
                                      .plugin_count = 2,
                                      .engine_options = engine_options,
                                      .engine_option_count = 2,
                                      .input_shapes = input_shapes,
                                      .input_shape_count = 2,
                                      .dtype = "bfloat16",
                                      .device = "cuda:1",
                                      .batch_size = 1000000,
                                      .threads = 4096,
                                      .test_data = "f.npz",
                                      .n_images = 12,
                                      .decodes_scaled = true,
                                      .seed = INT64_MAX,
                                      .simulated = true,
                                      .simulated_t0_ns = 1234567.125,
                                      .simulated_t1_ns = 0.1};

static void a_configuration_makes_the_round_trip(void **state) {
  (void)state;
  json_t *object = hl_message_from_configuration(&full, "/cache");
  assert_non_null(object);
  char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_t *again = json_loads(line, 0, NULL);
  hl_arena arena;
  hl_arena_init(&arena, 1 << 16);
  hl_configuration c;
  assert_int_equal(hl_message_to_configuration(again, &arena, &c, NULL), HL_OK);
  hl_method_options method = {.max_time_s = 1};
  char *before = hl_configuration_reproduce(&full, &method);
  char *after = hl_configuration_reproduce(&c, &method); /* says all of it */
  assert_string_equal(before, after);
  assert_true(c.is_builtin);
  assert_string_equal(hl_json_get_text(again, "cache_directory", ""), "/cache");
  hl_free_pointer(&before);
  hl_free_pointer(&after);
  hl_free_pointer(&line);
  hl_arena_release(&arena);
  json_decref(again);
  json_decref(object);
}

static void members_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *key, *value; /* NULL removes it */
    bool ok;
  } cases[] = {
      {"model", NULL, false},
      {"model", "\"\"", false},
      {"model", "5", false},
      {"engine", NULL, false},
      {"dtype", "null", false},
      {"device", NULL, false},
      {"batch_size", "0", false},
      {"batch_size", "1000001", false},
      {"batch_size", "1.5", false},
      {"batch_size", "\"8\"", false},
      {"batch_size", NULL, false},
      {"threads", "0", false},
      {"threads", "5000", false},
      {"n_images", "-1", false},
      {"seed", "-1", false},
      {"seed", NULL, false},
      {"plugins", "[1]", false},
      {"plugins", "[null]", false},
      {"plugins", NULL, true},
      {"engine_options", "[[\"k\"]]", false},
      {"engine_options", "[\"k\"]", false},
      {"engine_options", "[[1, 2]]", false},
      {"engine_options", "{}", true},
      {"engine_options", NULL, true},
      {"simulated_clock", "[1]", false},
      {"simulated_clock", "[-1, 5]", false},
      {"simulated_clock", "[1e300, 5]", false},
      {"simulated_clock", "[0, 1e12]", true},
      {"simulated_clock", "[0, 1.1e12]", false},
      {"simulated_clock", "[1e15, 1e12]", true},
      {"simulated_clock", "[1.1e15, 1]", false},
      {"input_shapes", "[1]", false},
      {"input_shapes", "[\"x\"]", false},
      {"input_shapes", "[\"x=1x-1\"]", false},
      {"input_shapes", "[\"x=BxB\"]", false},
      {"input_shapes", "[\"x=Bx4\"]", true},
      {"input_shapes", NULL, true},
      {"simulated_clock", NULL, true},
      {"test_data", "null", true},
      {"builtin", NULL, true},
      {"cache_directory", NULL, true},
      {"something_new", "[]", true}, /* a newer runner may say more */
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    json_t *object = hl_message_from_configuration(&full, NULL);
    if (cases[i].value)
      json_object_set_new(object, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
    else
      json_object_del(object, cases[i].key);
    hl_arena arena;
    hl_arena_init(&arena, 1 << 16);
    hl_configuration c = {.seed = 77};
    hl_error error = {0};
    hl_status status = hl_message_to_configuration(object, &arena, &c, &error);
    if (status != (cases[i].ok ? HL_OK : HL_INVALID_ARGUMENT))
      fail_msg("%s=%s: %s", cases[i].key, cases[i].value ? cases[i].value : "absent", error.msg);
    if (!cases[i].ok) {
      assert_non_null(strstr(error.msg, cases[i].key));
      assert_int_equal(c.seed, 77); /* untouched */
    }
    hl_arena_release(&arena);
    json_decref(object);
  }
}

static void replies_say_how_it_went(void **state) {
  (void)state;
  static const struct {
    const char *reply;
    hl_status status;
    const char *message;
  } cases[] = {
      {"{\"ok\": true}", HL_OK, ""},
      {"{\"ok\": false, \"status\": \"OUT_OF_MEMORY\", \"message\": \"m\"}", HL_OUT_OF_MEMORY, "m"},
      {"{\"ok\": false, \"status\": \"OUT_OF_MEMORY\"}", HL_OUT_OF_MEMORY, "out of memory"},
      {"{\"ok\": false, \"status\": \"IO\", \"message\": \"\"}", HL_IO, "input or output failed"},
      {"{\"ok\": false, \"status\": \"OK\", \"message\": \"m\"}", HL_INTERNAL, "m"},
      {"{\"ok\": false, \"status\": \"NONSENSE\", \"message\": \"100%s\"}", HL_INTERNAL, "100%s"},
      {"{\"ok\": false}", HL_INTERNAL, "internal error"},
      {"{}", HL_BAD_DATA, "the worker's reply has no member 'ok'"},
      {"{\"ok\": 1}", HL_BAD_DATA, "the worker's reply has no member 'ok'"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    json_t *reply = json_loads(cases[i].reply, 0, NULL);
    hl_error error = {0};
    assert_int_equal(hl_message_status(reply, &error), cases[i].status);
    assert_string_equal(error.msg, cases[i].message);
    json_decref(reply);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_configuration_makes_the_round_trip),
      cmocka_unit_test(members_are_checked),
      cmocka_unit_test(replies_say_how_it_went),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
