/* Settings through the library, as a program that serves reads them. */
#include <hotlap/hotlap.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/hotlap-tuned-XXXXXX";

static void put(const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

#define HEAD                                                                                       \
  "{\"schema\":\"hotlap.settings/1\",\"model\":\"mlp\",\"machine\":{\"id\":\"ab\"},\"presets\":{"
#define FAST                                                                                       \
  "\"fast\":{\"engine\":\"native\",\"dtype\":\"float32\",\"threads\":2,\"batch_size\":24,"

static void presets(void **state) {
  (void)state;
  hl_error error = {0};
  hl_tuned t = {.size = sizeof t};
  put(HEAD FAST
      "\"expected\":{\"throughput_ips\":400.5,\"throughput_ci\":[399,402]}},"
      "\"scan\":{\"engine\":\"native\",\"dtype\":\"bfloat16\",\"device\":\"cuda:0\",\"threads\":1,"
      "\"batch_size\":8,\"preprocess_batch\":16,\"reassemble_batch\":64}},\"news\":[1]}");
  assert_int_equal(hl_tuned_read(path, NULL, &t, &error), HL_OK);
  assert_string_equal(t.preset, "fast");
  assert_string_equal(t.engine, "native");
  assert_string_equal(t.device, "cpu");
  assert_string_equal(t.machine_id, "ab");
  assert_int_equal(t.batch_size, 24);
  assert_int_equal(t.preprocess_batch, 0);
  assert_true(t.throughput_ips == 400.5 && t.throughput_low == 399 && isnan(t.memory_mb));
  assert_int_equal(hl_tuned_read(path, "scan", &t, &error), HL_OK);
  assert_int_equal(t.preprocess_batch, 16);
  assert_int_equal(t.reassemble_batch, 64);
  assert_string_equal(t.device, "cuda:0");
  assert_int_equal(hl_tuned_read(path, "slow", &t, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "fast, scan"));
}

static void an_older_caller(void **state) {
  (void)state;
  struct {
    hl_tuned tuned;
    char after[8];
  } t = {.tuned = {.size = (uint32_t)offsetof(hl_tuned, preset)}};
  memset(t.tuned.preset, 'x', sizeof t.tuned.preset);
  put(HEAD FAST "\"x\":0}}}");
  assert_int_equal(hl_tuned_read(path, "fast", &t.tuned, NULL), HL_OK);
  assert_int_equal(t.tuned.batch_size, 24);
  assert_int_equal(t.tuned.preset[0], 'x'); /* not beyond what the caller has */
  t.tuned.size = 0;
  assert_int_equal(hl_tuned_read(path, "fast", &t.tuned, NULL), HL_INVALID_ARGUMENT);
}

static void what_is_no_settings_file(void **state) {
  (void)state;
  hl_error error = {0};
  hl_tuned t = {.size = sizeof t};
  put("{");
  assert_int_equal(hl_tuned_read(path, NULL, &t, &error), HL_BAD_DATA);
  put(HEAD "}}");
  assert_int_equal(hl_tuned_read(path, NULL, &t, &error), HL_BAD_DATA);
  put(HEAD "\"a\":{\"engine\":\"n\\u0000x\",\"dtype\":\"f\",\"threads\":1,\"batch_size\":1}}}");
  assert_int_equal(hl_tuned_read(path, NULL, &t, &error), HL_BAD_DATA);
  put(HEAD "\"a\":{\"engine\":\"n\",\"dtype\":\"f\",\"threads\":1,\"batch_size\":1e3}}}");
  assert_int_equal(hl_tuned_read(path, NULL, &t, &error), HL_BAD_DATA);
  assert_int_equal(hl_tuned_read("/nowhere/settings.json", NULL, &t, &error), HL_NOT_FOUND);
  assert_int_equal(hl_tuned_read(NULL, NULL, &t, &error), HL_INVALID_ARGUMENT);
}

int main(void) {
  int fd = mkstemp(path);
  if (fd < 0) return 2;
  close(fd);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(presets),
      cmocka_unit_test(an_older_caller),
      cmocka_unit_test(what_is_no_settings_file),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
