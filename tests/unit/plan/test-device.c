/* Words of --device become canonical names; a preference gives way with a reason. */
#include "plan/device.h"

#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const hl_device_inventory two = {.cuda_count = 2};
static const hl_device_inventory none = {.cuda_reason = "there is none"};

static void words_become_names(void **state) {
  (void)state;
  static const struct {
    const char *list, *engine, *names;
    const hl_device_inventory *here;
  } cases[] = {
      {"cpu", "native", "cpu ", &two},
      {"cuda", "x", "cuda:0 ", &two},
      {"cuda:00007", "x", NULL, &two},
      {"cuda:07", "x", "cuda:7 ", &two},
      {"gpu:1", "onnxruntime", "cuda:1 ", &two},
      {"gpu", "openvino", "gpu:0 ", &two},
      {"gpu:all", "x", "cuda:0 cuda:1 ", &two},
      {"cuda:all", "x", "cuda:0 ", &none},
      {"cuda:0+1,cpu", "x", "cuda:0+1 cpu ", &two},
      {"cuda:1+0", "x", "cuda:1+0 ", &two},
      {"cuda:0,cuda", "x", "cuda:0 ", &two},
      {"npu.2", "x", "npu.2 ", NULL},
      {"cuda:0+0", "x", NULL, &two},
      {"cuda:0+", "x", NULL, &two},
      {"cuda:+1", "x", NULL, &two},
      {"cuda:256", "x", NULL, &two},
      {"cuda:all+1", "x", NULL, &two},
      {"a b/c", "x", NULL, &two},
      {", ,", "x", NULL, &two},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_arena arena;
    hl_device_choice *choices;
    size_t count = 0;
    hl_error error = {0};
    hl_arena_init(&arena, 1 << 20);
    hl_status status =
        hl_device_choices(&arena, cases[i].list, NULL, cases[i].here, &choices, &count, &error);
    if (!cases[i].names) {
      assert_int_equal(status, HL_INVALID_ARGUMENT);
      assert_non_null(strstr(error.msg, "--device"));
      hl_arena_release(&arena);
      continue;
    }
    assert_int_equal(status, HL_OK);
    char names[256] = "";
    for (size_t k = 0; k < count; k++) {
      const char *note;
      strcat(names,
             hl_device_for_engine(&arena, &choices[k], cases[i].engine, cases[i].here, &note));
      strcat(names, " ");
      assert_null(note);
    }
    assert_string_equal(names, cases[i].names);
    hl_arena_release(&arena);
  }
}

/* An engine with a list of its own: its name. */
static const char *devices_of(void *context, const char *engine) {
  return strcmp(engine, "torch") == 0 ? context : NULL;
}

static void a_preference_is_met_by_the_engines_own_list(void **state) {
  (void)state;
  static const struct {
    const char *list, *name, *device, *note;
  } cases[] = {
      {"cpu", "cuda:0", "cpu", "ran on cpu, since torch's devices here are: cpu"},
      {"cpu, cuda:0, cuda:1", "cuda:1", "cuda:1", NULL},
      {"cpu, cuda:0, cuda:1", "cuda:0+1", "cuda:0+1", NULL},
      {"cpu, cuda:0", "cuda:0+1", "cpu", "cpu, cuda:0"},
      {"cpu, cuda:10", "cuda:1", "cpu", "cpu, cuda:10"},
      {"cpu, mps", "mps", "mps", NULL},
      {"cpu, mps", "cuda:0", "mps", "cuda:0 was preferred; the row ran on mps, since"},
      {"cpu, tpu:0", "tpu", "tpu", NULL},
      {"cpu", "cpu", "cpu", NULL},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_arena arena;
    const char *note;
    char list[64];
    snprintf(list, sizeof list, "%s", cases[i].list);
    const hl_device_inventory here = {.cuda_count = 2, .devices_of = devices_of, .context = list};
    hl_device_choice choice = {cases[i].name, true};
    hl_arena_init(&arena, 1 << 20);
    assert_string_equal(hl_device_for_engine(&arena, &choice, "torch", &here, &note),
                        cases[i].device);
    assert_int_equal(note != NULL, cases[i].note != NULL);
    if (note) assert_non_null(strstr(note, cases[i].note));
    hl_arena_release(&arena);
  }
}

static void a_preference_gives_way(void **state) {
  (void)state;
  static const struct {
    const char *name, *engine, *device, *note;
    const hl_device_inventory *here;
  } cases[] = {
      {"cuda:0", "onnxruntime", "cuda:0", NULL, &two},
      {"cuda:0", "onnxruntime", "cpu", "there is none", &none},
      {"cuda:2", "onnxruntime", "cpu", "cuda:0 to cuda:1", &two},
      {"cuda:0+2", "onnxruntime", "cpu", "cuda:0 to cuda:1", &two},
      {"cuda:0", "native", "cpu", "native runs on cpu only", &two},
      {"mps", "torch", "cpu", "no Apple system", &two},
      {"tpu", "jax", "cpu", "no TPU", NULL},
      {"cpu", "native", "cpu", NULL, &none},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_arena arena;
    const char *note;
    hl_device_choice choice = {cases[i].name, true};
    hl_arena_init(&arena, 1 << 20);
    assert_string_equal(
        hl_device_for_engine(&arena, &choice, cases[i].engine, cases[i].here, &note),
        cases[i].device);
    if (cases[i].note)
      assert_non_null(strstr(note, cases[i].note));
    else
      assert_null(note);
    hl_arena_release(&arena);
  }
}

static void ordinals_are_read(void **state) {
  (void)state;
  int ordinals[HL_DEVICE_MOST];
  assert_int_equal(hl_device_ordinals("cpu", ordinals), 0);
  assert_int_equal(hl_device_ordinals("gpu:0", ordinals), 0);
  assert_int_equal(hl_device_ordinals("cuda:3+1", ordinals), 2);
  assert_int_equal(ordinals[0], 3);
  assert_int_equal(ordinals[1], 1);
  assert_true(hl_device_is_split("cuda:3+1"));
  assert_false(hl_device_is_split("cuda:3"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_become_names),
      cmocka_unit_test(a_preference_is_met_by_the_engines_own_list),
      cmocka_unit_test(a_preference_gives_way),
      cmocka_unit_test(ordinals_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
