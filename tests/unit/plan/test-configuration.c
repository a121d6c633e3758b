/* Quoting, the command that repeats a row, its identity, and the hash of a plan. */
#include "plan/configuration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const hl_configuration example = {.model = "mlp",
                                         .is_builtin = true,
                                         .engine = "native",
                                         .dtype = "float32",
                                         .device = "cpu",
                                         .batch_size = 8,
                                         .threads = 2,
                                         .seed = 42};
static const hl_method_options method = {
    .max_time_s = 30, .warmup_iterations = -1, .check = true, .predict = true};

/* What a shell makes of a quoted word. */
static void check_quoting(const char *word) {
  hl_text command = HL_TEXT_INIT;
  hl_text_append(&command, "printf %s ");
  hl_shell_quote(&command, word);
  FILE *shell = popen(command.data, "r");
  assert_non_null(shell);
  char out[256] = "";
  size_t length = fread(out, 1, sizeof out - 1, shell);
  assert_int_equal(pclose(shell), 0);
  assert_int_equal(length, strlen(word));
  assert_string_equal(out, word);
  hl_text_release(&command);
}

static void a_shell_reads_words_as_they_were(void **state) {
  (void)state;
  static const char *const words[] = {
      "plain", "a b",   "",        "it's",        "'",  "''",   "$HOME", "`id`", "a\"b",
      "a\\b",  "*?[x]", "a;b&c|d", "~",           "#x", "a\nb", "!x",    "<>",   "(x)",
      "{a,b}", "x=y",   "--x",     "caf\xC3\xA9", "\t", "a\\",  "$(ls)", "a%sb", "a:b=c,d@e/f.g"};
  for (size_t i = 0; i < HL_COUNT(words); i++) check_quoting(words[i]);
  hl_text plain = HL_TEXT_INIT;
  hl_shell_quote(&plain, "ptychopinn:N=128,gridsize=1");
  assert_string_equal(plain.data, "ptychopinn:N=128,gridsize=1"); /* readable where it can be */
  hl_text_release(&plain);
}

static void check_command(hl_configuration c, hl_method_options m, const char *expected) {
  char *command = hl_configuration_reproduce(&c, &m);
  assert_string_equal(command, expected);
  free(command);
}

static void commands_say_everything(void **state) {
  (void)state;
  check_command(example, method,
                "hotlap sweep mlp --engine native --dtype float32 --threads 2 --batch-sizes 8 "
                "--seed 42");
  hl_configuration c = example;
  static const char *const plugins[] = {"a b.so", "c.so"};
  static const hl_option options[] = {{"k", "v w"}};
  c.model = "my model.onnx";
  c.plugins = plugins;
  c.plugin_count = 2;
  c.engine_options = options;
  c.engine_option_count = 1;
  c.device = "cuda:0";
  c.test_data = "d.npz";
  c.n_images = 10;
  c.decodes_scaled = true;
  c.loader_threads = 3;
  c.simulated = true;
  c.simulated_t0_ns = 1234567.25;
  c.simulated_t1_ns = 0.1;
  hl_method_options m = method;
  m.iterations = 5;
  m.warmup_iterations = 0;
  m.min_time_s = 0.1234567;
  m.max_time_s = 12345678;
  m.max_time_given = true;
  m.memory_limit_mb = 100;
  m.check = m.predict = false;
  check_command(c, m,
                "hotlap sweep 'my model.onnx' --plugin 'a b.so' --plugin c.so --engine native "
                "--engine-option 'k=v w' --dtype float32 --device cuda:0 --threads 2 "
                "--batch-sizes 8 --test-data d.npz --n-images 10 --decode scaled --loader-threads "
                "3 --seed 42 "
                "--simulated-clock 1234567.25+0.1 --iterations 5 --warmup-iterations 0 "
                "--min-time 0.1234567 --max-time 12345678 --memory-limit 100 --no-predict "
                "--no-check");
  c = example;
  c.model = "-x.onnx";
  check_command(c, method,
                "hotlap sweep --model -x.onnx --engine native --dtype float32 --threads 2 "
                "--batch-sizes 8 --seed 42");
}

/* Each fact that decides a row is part of its identity. */
static void keys_tell_rows_apart(void **state) {
  (void)state;
  static const char *const plugins[] = {"p.so"};
  static const hl_option options[] = {{"k", "v"}};
  hl_configuration rows[14];
  for (size_t i = 0; i < HL_COUNT(rows); i++) rows[i] = example;
  rows[1].model = "mlp:hidden_dim=64";
  rows[2].engine = "null";
  rows[3].dtype = "bfloat16";
  rows[4].device = "cuda:1";
  rows[5].batch_size = 9;
  rows[6].threads = 3;
  rows[7].seed = 43;
  rows[8].test_data = "x.npz";
  rows[9].n_images = 5;
  rows[10].plugins = plugins;
  rows[10].plugin_count = 1;
  rows[11].engine_options = options;
  rows[11].engine_option_count = 1;
  rows[12].simulated = true;
  rows[12].simulated_t0_ns = 1e6;
  rows[13] = rows[12];
  rows[13].simulated_t0_ns = 1000001;
  for (size_t i = 0; i < HL_COUNT(rows); i++) {
    HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(&rows[i]);
    for (size_t k = 0; k < i; k++) {
      HL_CLEANUP(hl_free_pointer) char *other = hl_configuration_key(&rows[k]);
      assert_string_not_equal(key, other);
    }
  }
  hl_configuration bigger = hl_configuration_with_batch(&example, 16);
  assert_int_equal(bigger.batch_size, 16);
  assert_string_equal(bigger.model, "mlp");
}

static void hash_of(const hl_configuration *items, size_t count, const hl_method_options *m,
                    char ret_text[17]) {
  hl_configuration copies[4];
  for (size_t i = 0; i < count; i++) copies[i] = items[i];
  const hl_plan plan = {.items = copies, .count = count, .method = *m};
  hl_plan_hash(&plan, ret_text);
  assert_int_equal(strlen(ret_text), 16);
  assert_int_equal(strspn(ret_text, "0123456789abcdef"), 16);
}

static void hashes_are_stable(void **state) {
  (void)state;
  char first[17], second[17];
  hl_configuration items[2] = {example, hl_configuration_with_batch(&example, 16)};
  hash_of(items, 2, &method, first);
  hash_of(items, 2, &method, second);
  assert_string_equal(first, second);
  hash_of(items, 1, &method, second);
  assert_string_not_equal(first, second);
  hl_configuration turned[2] = {items[1], items[0]};
  hash_of(turned, 2, &method, second);
  assert_string_not_equal(first, second);
  hl_method_options m = method;
  m.iterations = 3;
  hash_of(items, 2, &m, second);
  assert_string_not_equal(first, second);
  m = method;
  m.adaptive = true;
  hash_of(items, 2, &m, second);
  assert_string_not_equal(first, second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shell_reads_words_as_they_were),
      cmocka_unit_test(commands_say_everything),
      cmocka_unit_test(keys_tell_rows_apart),
      cmocka_unit_test(hashes_are_stable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
