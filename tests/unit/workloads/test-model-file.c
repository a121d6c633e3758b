/* Built-in networks as files: generated once, found again, in memory where nothing can be written.
 */
#include "base/file.h"
#include "base/hash.h"
#include "workloads/model-file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/hotlap-models-XXXXXX";
static hl_configuration small = {.model = "mlp:hidden_dim=8", .is_builtin = true, .seed = 42};

static int set_up(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  HL_CLEANUP(hl_free_pointer) char *command = hl_format("rm -rf %s", folder);
  return system(command);
}

static void a_network_is_generated_once(void **state) {
  (void)state;
  hl_model_file first, again, other;
  assert_int_equal(hl_model_file_open(&small, folder, &first, NULL), HL_OK);
  assert_true(first.generated && first.memory_fd < 0 && access(first.path, R_OK) == 0);
  assert_true(first.parameters > 0 && first.flops_per_image > 0);
  assert_int_equal(first.input_count, 1);
  assert_int_equal(first.inputs[0].dims[0], -1);
  assert_int_equal(first.output_count, 1);
  assert_int_equal(hl_model_file_open(&small, folder, &again, NULL), HL_OK);
  assert_false(again.generated);
  assert_string_equal(first.path, again.path);
  assert_true(first.hash == again.hash);
  hl_configuration seeded = small;
  seeded.seed = 43;
  assert_int_equal(hl_model_file_open(&seeded, folder, &other, NULL), HL_OK);
  assert_true(other.generated && other.hash != first.hash);
  assert_string_not_equal(other.path, first.path);
  assert_int_equal(access(first.path, R_OK), 0); /* another seed is not a stale file */
  hl_model_file_release(&first);
  hl_model_file_release(&again);
  hl_model_file_release(&other);
}

static void make_old(const char *path) {
  assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){{1, 0}, {1, 0}}, 0), 0);
}

static void use_is_seen_in_the_time(void **state) {
  (void)state;
  hl_model_file file;
  struct stat st;
  assert_int_equal(hl_model_file_open(&small, folder, &file, NULL), HL_OK);
  make_old(file.path);
  hl_model_file_release(&file);
  assert_int_equal(hl_model_file_open(&small, folder, &file, NULL), HL_OK);
  assert_false(file.generated);
  assert_int_equal(stat(file.path, &st), 0);
  assert_true(st.st_mtime > 1);
  hl_model_file_release(&file);
}

static void stale_files_are_removed_and_no_others(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool old, stays;
  } cases[] = {
      {"mlp_hidden_dim=9-42-0123456789abcdef.onnx", true, false},
      {"mlp_hidden_dim=9-42-0123456789abcde0.onnx", false, true}, /* of a build in use */
      {"mlp_hidden_dim=9-42-0123456789abcdef.txt", true, true},
      {"mlp_hidden_dim=9-42-0123456789abcde.onnx", true, true},
      {"mlp_hidden_dim=9-43-0123456789abcdef.onnx", true, true},
      {"mlp_hidden_dim=99-42-0123456789abcdef.onnx", true, true},
      {"mine.onnx", true, true},
      {"mlp_hidden_dim=9-42-0123456789abcdef.onnx.1-0.part", false, true}, /* being written */
      {"mlp_hidden_dim=9-42-0123456789abcdef.onnx.1-1.part", true, false},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    HL_CLEANUP(hl_free_pointer) char *models = hl_format("%s/models", folder);
    HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", models, cases[i].name);
    assert_int_equal(hl_directory_make(models, NULL), HL_OK);
    assert_int_equal(hl_file_write(path, "x", 1, NULL), HL_OK);
    if (cases[i].old) make_old(path);
  }
  hl_configuration c = small;
  c.model = "mlp:hidden_dim=9";
  hl_model_file file;
  assert_int_equal(hl_model_file_open(&c, folder, &file, NULL), HL_OK);
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/models/%s", folder, cases[i].name);
    if ((access(path, F_OK) == 0) != cases[i].stays) fail_msg("%s", cases[i].name);
  }
  hl_model_file_release(&file);
}

static void without_a_cache_the_file_is_in_memory(void **state) {
  (void)state;
  static const char *const directories[] = {NULL, "/proc/nothing/here"};
  for (size_t i = 0; i < HL_COUNT(directories); i++) {
    hl_model_file file;
    assert_int_equal(hl_model_file_open(&small, directories[i], &file, NULL), HL_OK);
    assert_true(file.memory_fd >= 0 && access(file.path, R_OK) == 0 && file.parameters > 0);
    hl_model_file_release(&file);
  }
}

static void files_that_are_no_models(void **state) {
  (void)state;
  hl_configuration c = {.model = "/no/such.onnx"};
  hl_model_file file;
  hl_error error = {0};
  assert_int_equal(hl_model_file_open(&c, folder, &file, &error), HL_NOT_FOUND);
  c.model = folder;
  assert_int_equal(hl_model_file_open(&c, folder, &file, &error), HL_BAD_DATA);
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/garbage.onnx", folder);
  assert_int_equal(hl_file_write(path, "garbage", 7, NULL), HL_OK);
  c.model = path;
  assert_int_equal(hl_model_file_open(&c, folder, &file, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "garbage.onnx"));
  c = small;
  c.model = "mlp:nonsense=1";
  assert_int_not_equal(hl_model_file_open(&c, folder, &file, &error), HL_OK);
}

static void a_damaged_cache_file_is_told(void **state) {
  (void)state;
  hl_model_file file;
  hl_configuration c = small;
  c.model = "mlp:hidden_dim=10";
  assert_int_equal(hl_model_file_open(&c, folder, &file, NULL), HL_OK);
  HL_CLEANUP(hl_free_pointer) char *path = hl_strdup(file.path);
  hl_model_file_release(&file);
  assert_int_equal(truncate(path, 1000), 0); /* a machine that lost power */
  hl_error error = {0};
  assert_int_equal(hl_model_file_open(&c, folder, &file, &error), HL_OK);
  assert_true(file.generated); /* written anew rather than an error for ever */
  hl_model_file_release(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_network_is_generated_once),
      cmocka_unit_test(use_is_seen_in_the_time),
      cmocka_unit_test(stale_files_are_removed_and_no_others),
      cmocka_unit_test(without_a_cache_the_file_is_in_memory),
      cmocka_unit_test(files_that_are_no_models),
      cmocka_unit_test(a_damaged_cache_file_is_told),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
