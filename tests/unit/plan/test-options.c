/* The command line: spellings, lists, repeats, switches, and messages about mistakes. */
#include "plan/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Splits at spaces ("~" stands for an empty argument); valid until the next call. */
static hl_status parse(char command, const char *line, hl_options *ret_options, hl_error *error) {
  static char copy[512];
  static char *arguments[64];
  int count = 0;
  strncpy(copy, line, sizeof copy - 1);
  arguments[count++] = (char *)(uintptr_t) "command";
  for (char *part, *rest = copy; (part = strsep(&rest, " "));)
    if (part[0]) arguments[count++] = strcmp(part, "~") == 0 ? part + 1 : part;
  arguments[count] = NULL;
  return hl_options_parse(command, count, arguments, ret_options, error);
}

static void spellings(void **state) {
  (void)state;
  static const struct {
    const char *line;
    hl_option_id id;
    const char *value;
  } cases[] = {
      {"--seed 5", HL_OPTION_SEED, "5"},
      {"--seed=5", HL_OPTION_SEED, "5"},
      {"-seed 5", HL_OPTION_SEED, "5"},
      {"--seed 5 --seed 6", HL_OPTION_SEED, "6"},
      {"--seed=", HL_OPTION_SEED, ""},
      {"--seed ~", HL_OPTION_SEED, ""},
      {"--seed -1", HL_OPTION_SEED, "-1"},
      {"--max_time 3", HL_OPTION_MAX_TIME, "3"},
      {"--max-time=a=b", HL_OPTION_MAX_TIME, "a=b"},
      {"--batch-size 4", HL_OPTION_BATCH_SIZES, "4"},
      {"--batch_sizes=4", HL_OPTION_BATCH_SIZES, "4"},
      {"--batch-sizes 1 8 32", HL_OPTION_BATCH_SIZES, "1,8,32"},
      {"--batch-sizes 1, 8, 32", HL_OPTION_BATCH_SIZES, "1,8,32"},
      {"--batch-sizes 1,2 4-8*2 mlp", HL_OPTION_BATCH_SIZES, "1,2,4-8*2"},
      {"--batch-sizes=1 8", HL_OPTION_BATCH_SIZES, "1"},
      {"--batch-sizes 1 3d.onnx", HL_OPTION_BATCH_SIZES, "1"},
      {"--batch-sizes 1 -- 8", HL_OPTION_BATCH_SIZES, "1"},
      {"--threads 1 2 --seed 3", HL_OPTION_THREADS, "1,2"},
      {"--model_path m.onnx", HL_OPTION_MODEL, "m.onnx"},
      {"--precision float16", HL_OPTION_DTYPE, "float16"},
      {"--warmup 9", HL_OPTION_WARMUP_ITERATIONS, "9"},
      {"--data f.npz", HL_OPTION_TEST_DATA, "f.npz"},
      {"-q", HL_OPTION_QUIET, "1"},
      {"--quiet", HL_OPTION_QUIET, "1"},
      {"-h", HL_OPTION_HELP, "1"},
      {"", HL_OPTION_BATCH_SIZES, "1,2,4,8,16,32,64,128"},
      {"", HL_OPTION_WARMUP_ITERATIONS, "auto"},
      {"", HL_OPTION_THREADS, NULL},
      {"-- --seed 5", HL_OPTION_SEED, "42"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_options o;
    hl_error error = {0};
    if (parse('S', cases[i].line, &o, &error) != HL_OK)
      fail_msg("%s: %s", cases[i].line, error.msg);
    const char *value = hl_options_get(&o, cases[i].id);
    if (cases[i].value)
      assert_string_equal(value, cases[i].value);
    else
      assert_null(value);
    hl_options_release(&o);
  }
}

static void mistakes(void **state) {
  (void)state;
  static const struct {
    char command;
    const char *line, *message;
  } cases[] = {
      {'S', "--batch-sises 1", "unknown option --batch-sises; did you mean --batch-sizes?"},
      {'S', "--sead=1", "unknown option --sead; did you mean --seed?"},
      {'S', "--frobnicate", "unknown option --frobnicate; --help lists the options"},
      {'S', "--limit 3", "unknown option --limit"}, /* an option of another command */
      {'H', "--batch-sizes 3", "unknown option --batch-sizes"},
      {'S', "--max-time", "--max-time needs a value (SECONDS)"},
      {'S', "--max_time", "--max-time needs a value (SECONDS)"},
      {'S', "--quiet=yes", "--quiet takes no value"},
      {'S', "--=5", "unknown option"},
      {'S', "---", "unknown option"},
      {'S', "--batch-sizesbatch-sizesbatch-sizesbatch-sizesbatch-sizesbatch-sizesbatch-sizes",
       "unknown option"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_options o;
    hl_error error = {0};
    if (parse(cases[i].command, cases[i].line, &o, &error) != HL_INVALID_ARGUMENT)
      fail_msg("%s was accepted", cases[i].line);
    if (!strstr(error.msg, cases[i].message)) fail_msg("%s: %s", cases[i].line, error.msg);
  }
}

static void positionals_and_repeats(void **state) {
  (void)state;
  hl_options o;
  assert_int_equal(parse('S', "a --seed 3 b --plugin x --plugin y - -- --c -d", &o, NULL), HL_OK);
  static const char *const expected[] = {"a", "b", "-", "--c", "-d"};
  assert_int_equal(o.positional_count, 5);
  for (size_t i = 0; i < 5; i++) assert_string_equal(o.positionals[i], expected[i]);
  assert_string_equal(hl_options_at(&o, HL_OPTION_PLUGIN, 0), "x");
  assert_string_equal(hl_options_at(&o, HL_OPTION_PLUGIN, 1), "y");
  assert_null(hl_options_at(&o, HL_OPTION_PLUGIN, 2));
  assert_null(hl_options_at(&o, HL_OPTION_MODEL, 0));
  assert_true(hl_options_given(&o, HL_OPTION_SEED) && !hl_options_given(&o, HL_OPTION_DTYPE));
  assert_false(hl_options_on(&o, HL_OPTION_QUIET));
  hl_options_release(&o);
  assert_int_equal(parse('S', "--threads 1 2 --threads 3 4 --threads 5", &o, NULL), HL_OK);
  assert_string_equal(hl_options_at(&o, HL_OPTION_THREADS, 0), "1,2"); /* all of them live on */
  assert_string_equal(hl_options_at(&o, HL_OPTION_THREADS, 1), "3,4");
  assert_string_equal(hl_options_get(&o, HL_OPTION_THREADS), "5");
  hl_options_release(&o);
}

static void numbers_name_their_option(void **state) {
  (void)state;
  hl_options o;
  int64_t value = 0;
  double real = 0;
  hl_error error = {0};
  assert_int_equal(parse('S', "--seed 7 --iterations x --max-time 1.5 --min-time z", &o, NULL),
                   HL_OK);
  assert_int_equal(hl_options_int(&o, HL_OPTION_SEED, 0, 10, 1, &value, &error), HL_OK);
  assert_int_equal(value, 7);
  assert_int_equal(hl_options_int(&o, HL_OPTION_NUM_RUNS, 1, 10, 33, &value, &error), HL_OK);
  assert_int_equal(value, 33); /* not given and without a default */
  assert_int_equal(hl_options_int(&o, HL_OPTION_ITERATIONS, 1, 10, 1, &value, &error),
                   HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "--iterations"));
  assert_int_equal(hl_options_real(&o, HL_OPTION_MAX_TIME, 0, 10, 1, &real, &error), HL_OK);
  assert_true(real == 1.5);
  assert_int_equal(hl_options_real(&o, HL_OPTION_MIN_TIME, 0, 10, 1, &real, &error),
                   HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "--min-time"));
  hl_options_release(&o);
}

static void no_name_stands_for_two_options(void **state) {
  (void)state;
  /* Each option of a command is found under its own name. */
  for (const char *command = "SMEDOHR"; *command; command++) {
    hl_text help = HL_TEXT_INIT;
    hl_options_help(*command, &help);
    size_t listed = 0;
    for (const char *at = help.data; (at = strstr(at, "\n  --")); at++) listed++;
    assert_true(listed > 1);
    for (const char *line = help.data; line && *line; line = strchr(line, '\n')) {
      if (*line == '\n') line++;
      assert_true(strcspn(line, "\n") <= 80);
    }
    hl_text_release(&help);
  }
  for (int id = 0; id < HL_OPTION_COUNT; id++)
    for (int other = 0; other < id; other++)
      assert_string_not_equal(hl_option_name((hl_option_id)id),
                              hl_option_name((hl_option_id)other));
}

/* Defaults of one command, and help that says nothing of others. */
static void each_command_has_its_own(void **state) {
  (void)state;
  static const struct {
    char command;
    hl_option_id id;
    const char *initial, *said, *unsaid;
  } cases[] = {
      {'S', HL_OPTION_BATCH_SIZES, "1,2,4,8,16,32,64,128", "also --batch-size", "queries"},
      {'T', HL_OPTION_BATCH_SIZES, "8", "(default 8)", "(default 1"},
      {'L', HL_OPTION_BATCH_SIZES, "1", "batch that queries are served in", "windows"},
      {'V', HL_OPTION_BATCH_SIZES, "1", "windows of a call", "preset"},
      {'Y', HL_OPTION_BATCH_SIZES, "1,2,4,8", "(default 1,2,4,8)", "queries"},
      {'Y', HL_OPTION_MODE, "both", "inference, training or both (default", "strict"},
      {'L', HL_OPTION_MODE, "normal", "strict (600 s)", "inference, training"},
      {'V', HL_OPTION_TEST_DATA, NULL, "also --data", "synthetic"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_options o;
    assert_int_equal(parse(cases[i].command, "", &o, NULL), HL_OK);
    if (cases[i].initial)
      assert_string_equal(hl_options_get(&o, cases[i].id), cases[i].initial);
    else
      assert_null(hl_options_get(&o, cases[i].id));
    assert_false(hl_options_given(&o, cases[i].id));
    hl_options_release(&o);
    hl_text help = HL_TEXT_INIT;
    hl_options_help(cases[i].command, &help);
    char head[64];
    (void)snprintf(head, sizeof head, "--%s ", hl_option_name(cases[i].id));
    char *text = strstr(help.data, head);
    assert_non_null(text);
    char *next = strstr(text, "\n  --");
    if (next) *next = '\0';
    if (!strstr(text, cases[i].said) || strstr(text, cases[i].unsaid) || strpbrk(text, "{}"))
      fail_msg("%c: %s", cases[i].command, text);
    hl_text_release(&help);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spellings),
      cmocka_unit_test(mistakes),
      cmocka_unit_test(positionals_and_repeats),
      cmocka_unit_test(numbers_name_their_option),
      cmocka_unit_test(no_name_stands_for_two_options),
      cmocka_unit_test(each_command_has_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
