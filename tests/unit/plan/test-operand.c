#include "plan/operand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static hl_options common_options(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  assert_int_equal(hl_options_parse('C', argc, argv, &options, &error), HL_OK);
  return options;
}

static void test_words_are_options(void **state) {
  (void)state;
  char *argv[] = {"compare", "--threads=2", "--dtype=float16", "--max-time=3", NULL};
  hl_options common = common_options(4, argv);
  hl_operand o;
  hl_error error = {0};
  assert_int_equal(
      hl_operand_parse("  dir/a.onnx engine=native  batch=8 data=\"two words.npz\" dtype=bfloat16 "
                       "null.spin_ns=20",
                       &common, &o, &error),
      HL_OK);
  assert_string_equal(o.model, "dir/a.onnx");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_ENGINE), "native");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_BATCH_SIZES), "8");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_TEST_DATA), "two words.npz");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_DTYPE), "bfloat16"); /* the nearer */
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_THREADS), "2");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_ENGINE_OPTION), "null.spin_ns=20");
  assert_int_equal(o.options.positional_count, 0);
  hl_operand_release(&o);
  assert_int_equal(hl_operand_parse("--engine=x", &common, &o, &error), HL_OK); /* a file's name */
  assert_string_equal(o.model, "--engine=x");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_BATCH_SIZES), "1");
  hl_operand_release(&o);
  hl_options_release(&common);
}

static void test_references(void **state) {
  (void)state;
  char *argv[] = {"compare", "--threads=2", NULL};
  hl_options common = common_options(2, argv);
  static const struct {
    const char *text;
    hl_operand_kind kind;
    const char *reference, *model, *batch, *threads; /* as given */
  } cases[] = {
      {"git:main", HL_OPERAND_GIT, "main", NULL, "1", "2"},
      {"git:v1.0 mlp batch=4", HL_OPERAND_GIT, "v1.0", "mlp", "4", "2"},
      {"git:HEAD~2 batch=4", HL_OPERAND_GIT, "HEAD~2", NULL, "4", "2"},
      {"git:. mlp:hidden_dim=512 threads=1", HL_OPERAND_GIT, ".", "mlp:hidden_dim=512", "1", "1"},
      {"git:\"a b\" dir/a=b.onnx", HL_OPERAND_GIT, "a b", "dir/a=b.onnx", "1", "2"},
      {"run:latest", HL_OPERAND_RUN, "latest", NULL, NULL, NULL},
      {"run:20261127T120000Z-1a2b mlp batch=8", HL_OPERAND_RUN, "20261127T120000Z-1a2b", "mlp", "8",
       NULL},
      {"plan:dir/sweep.yaml", HL_OPERAND_PLAN, "dir/sweep.yaml", NULL, NULL, NULL},
      {"grit:x", HL_OPERAND_CONFIGURATION, NULL, "grit:x", "1", "2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_operand o;
    hl_error error = {0};
    assert_int_equal(hl_operand_parse(cases[i].text, &common, &o, &error), HL_OK);
    assert_int_equal(o.kind, cases[i].kind);
    const char *const expected[] = {cases[i].reference, cases[i].model, cases[i].batch,
                                    cases[i].threads};
    const char *const got[] = {o.reference, o.model, o.options.value[HL_OPTION_BATCH_SIZES],
                               o.options.value[HL_OPTION_THREADS]};
    for (size_t k = 0; k < 4; k++) {
      assert_int_equal(got[k] == NULL, expected[k] == NULL);
      if (got[k]) assert_string_equal(got[k], expected[k]);
    }
    hl_operand_release(&o);
  }
  hl_options_release(&common);
}

static void test_paths_of_a_commit(void **state) {
  (void)state;
  char *argv[] = {"compare", "--plugin=outside.so", "--test-data=out.npz", NULL};
  hl_options common = common_options(3, argv);
  hl_operand o;
  hl_error error = {0};
  assert_int_equal(
      hl_operand_parse(
          "git:main net.onnx plugin=build/a.so plugin=/absolute.so data-path=\"my x.npz\" "
          "engine-library=openvino=lib/libx.so engine-library=libname.so "
          "engine_library=./y.so engine=a seed=3",
          &common, &o, &error),
      HL_OK);
  assert_int_equal(hl_operand_rebase(&o, "/tree of it", &error), HL_OK);
  static const char *const plugins[] = {"outside.so", "/tree of it/build/a.so", "/absolute.so"};
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(hl_options_at(&o.options, HL_OPTION_PLUGIN, i), plugins[i]);
  static const char *const libraries[] = {"openvino=/tree of it/lib/libx.so", "libname.so",
                                          "/tree of it/./y.so"};
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(hl_options_at(&o.options, HL_OPTION_ENGINE_LIBRARY, i), libraries[i]);
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_TEST_DATA), "/tree of it/my x.npz");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_ENGINE), "a");
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_SEED), "3");
  assert_string_equal(o.model, "net.onnx");
  hl_operand_release(&o);
  assert_int_equal(hl_operand_parse("git:main mlp data=synthetic", &common, &o, &error), HL_OK);
  assert_int_equal(hl_operand_rebase(&o, "/tree", &error), HL_OK);
  assert_string_equal(hl_options_get(&o.options, HL_OPTION_TEST_DATA), "synthetic");
  hl_operand_release(&o);
  hl_options_release(&common);
}

static void test_errors_name_the_word(void **state) {
  (void)state;
  char *argv[] = {"compare", NULL};
  hl_options common = common_options(1, argv);
  static const struct {
    const char *text, *part;
  } bad[] = {{"", "empty"},
             {" \t", "empty"},
             {"mlp batch", "'batch' is not KEY=VALUE"},
             {"mlp =8", "'=8' is not KEY=VALUE"},
             {"mlp --batch=8", "'--batch=8' is not KEY=VALUE"},
             {"mlp frobnicate=3", "frobnicate"},
             {"mlp json=1", "json"},
             {"git:", "nothing follows git:"},
             {"run: mlp", "nothing follows run:"},
             {"git:main batch=4 mlp", "'mlp' is not KEY=VALUE"},
             {"mlp data=\"x", "a quote is not closed"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    hl_operand o;
    hl_error error = {0};
    assert_int_equal(hl_operand_parse(bad[i].text, &common, &o, &error), HL_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, bad[i].part));
  }
  hl_operand o;
  hl_error error = {0};
  char many[400] = "mlp";
  for (int i = 0; i < 64; i++) strcat(many, " a=b");
  assert_int_equal(hl_operand_parse(many, &common, &o, &error), HL_LIMIT);
  hl_options_release(&common);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_are_options),
      cmocka_unit_test(test_references),
      cmocka_unit_test(test_paths_of_a_commit),
      cmocka_unit_test(test_errors_name_the_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
