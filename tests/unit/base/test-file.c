/* Files: replaced as a whole or not at all, read within limits, directories made. */
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/hotlap-file-XXXXXX";

static int set_up(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char *command = hl_format("rm -rf %s", folder);
  int status = system(command);
  free(command);
  return status;
}

/* Lives until the next call but three. */
static const char *at(const char *name) {
  static char paths[4][256];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static size_t entries(void) {
  DIR *directory = opendir(folder);
  size_t count = 0;
  while (readdir(directory)) count++;
  closedir(directory);
  return count - 2;
}

static void written_files_are_read_back(void **state) {
  (void)state;
  static char data[100000];
  memset(data, 'x', sizeof data);
  assert_int_equal(hl_file_write(at("a"), data, sizeof data, NULL), HL_OK);
  assert_int_equal(hl_file_write(at("a"), "new\0!", 5, NULL), HL_OK); /* replaced */
  assert_int_equal(entries(), 1);                                     /* no temporary file stays */
  char *read = NULL;
  size_t bytes = 0;
  assert_int_equal(hl_file_read(at("a"), 5, &read, &bytes, NULL), HL_OK);
  assert_int_equal(bytes, 5);
  assert_memory_equal(read, "new\0!", 6); /* terminated */
  free(read);
  hl_mapping mapping;
  assert_int_equal(hl_file_map(at("a"), 5, &mapping, NULL), HL_OK);
  assert_int_equal(mapping.bytes, 5);
  assert_memory_equal(mapping.data, "new\0!", 5);
  hl_file_unmap(&mapping);
  struct stat st;
  assert_int_equal(stat(at("a"), &st), 0);
  mode_t mask = umask(0);
  umask(mask);
  assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
}

static void empty_files_are_files(void **state) {
  (void)state;
  assert_int_equal(hl_file_write(at("empty"), NULL, 0, NULL), HL_OK);
  hl_mapping mapping;
  assert_int_equal(hl_file_map(at("empty"), 0, &mapping, NULL), HL_OK);
  assert_non_null(mapping.data);
  assert_int_equal(mapping.bytes, 0);
  hl_file_unmap(&mapping);
  char *read = NULL;
  assert_int_equal(hl_file_read(at("empty"), 0, &read, NULL, NULL), HL_OK);
  assert_string_equal(read, "");
  free(read);
}

static void limits_hold(void **state) {
  (void)state;
  hl_error error = {0};
  hl_mapping mapping;
  char *read = NULL;
  size_t bytes;
  assert_int_equal(hl_file_write(at("six"), "123456", 6, NULL), HL_OK);
  assert_int_equal(hl_file_map(at("six"), 5, &mapping, &error), HL_LIMIT);
  assert_non_null(strstr(error.msg, "six"));
  assert_int_equal(hl_file_read(at("six"), 5, &read, &bytes, &error), HL_LIMIT);
  assert_null(read);
  assert_int_equal(hl_file_read("/dev/zero", 1 << 20, &read, &bytes, &error), HL_LIMIT);
}

static void what_is_no_file_is_told(void **state) {
  (void)state;
  hl_error error = {0};
  hl_mapping mapping;
  char *read = NULL;
  assert_int_equal(hl_file_map(at("none"), 10, &mapping, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "none"));
  assert_int_equal(hl_file_map(folder, 10, &mapping, &error), HL_BAD_DATA);
  assert_int_equal(mkfifo(at("pipe"), 0600), 0);
  assert_int_equal(hl_file_map(at("pipe"), 10, &mapping, &error), HL_BAD_DATA); /* and no hang */
  assert_int_equal(hl_file_read(at("none"), 10, &read, NULL, &error), HL_NOT_FOUND);
  assert_int_equal(hl_file_read(folder, 10, &read, NULL, &error), HL_IO);
}

static void a_failed_write_leaves_the_old_file(void **state) {
  (void)state;
  hl_error error = {0};
  assert_int_equal(mkdir(at("taken"), 0700), 0);
  size_t before = entries();
  assert_int_equal(hl_file_write(at("taken"), "x", 1, &error), HL_IO); /* a directory is there */
  assert_non_null(strstr(error.msg, "taken"));
  assert_int_equal(entries(), before);
  assert_int_equal(hl_file_write(at("nowhere/x"), "x", 1, &error), HL_IO);
  assert_non_null(strstr(error.msg, "nowhere/x"));
}

/* Killed over a file that it writes: only its descriptor led there. */
static void a_killed_writer_leaves_nothing(void **state) {
  (void)state;
  hl_new_file file;
  assert_int_equal(hl_file_write(at("whole"), "old", 3, NULL), HL_OK);
  assert_int_equal(hl_file_begin(at("whole"), &file, NULL), HL_OK);
  bool nameless = !file.temporary;
  assert_int_equal(hl_file_end(&file, HL_INTERRUPTED, NULL), HL_INTERRUPTED);
  if (!nameless) skip(); /* no such files in /tmp */
  size_t before = entries();
  pid_t pid = fork();
  if (pid == 0) {
    if (hl_file_begin(at("whole"), &file, NULL) != HL_OK || write(file.fd, "part", 4) != 4)
      _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(entries(), before);
  char *read = NULL;
  assert_int_equal(hl_file_read(at("whole"), 10, &read, NULL, NULL), HL_OK);
  assert_string_equal(read, "old");
  free(read);
}

static void a_library_gets_a_name(void **state) {
  (void)state;
  hl_new_file file;
  size_t before = entries();
  assert_int_equal(hl_file_begin_named(at("named"), &file, NULL), HL_OK);
  assert_int_equal(access(file.temporary, W_OK), 0);
  assert_int_equal(hl_file_end(&file, HL_OK, NULL), HL_OK);
  assert_int_equal(entries(), before + 1);
  hl_error error = {0};
  assert_int_equal(hl_file_write("", "x", 1, &error), HL_IO);
  assert_non_null(strstr(error.msg, "empty"));
}

static void devices_stay_and_links_lead(void **state) {
  (void)state;
  hl_error error = {0};
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  assert_int_equal(hl_file_write(at("fifo"), "x", 1, &error), HL_IO);
  assert_non_null(strstr(error.msg, "not a regular file"));
  struct stat st;
  assert_true(stat(at("fifo"), &st) == 0 && S_ISFIFO(st.st_mode));
  assert_int_equal(hl_file_write(at("behind"), "old", 3, NULL), HL_OK);
  assert_int_equal(symlink("behind", at("link")), 0);
  assert_int_equal(hl_file_write(at("link"), "new", 3, NULL), HL_OK);
  assert_true(lstat(at("link"), &st) == 0 && S_ISLNK(st.st_mode));
  char *read = NULL;
  assert_int_equal(hl_file_read(at("behind"), 10, &read, NULL, NULL), HL_OK);
  assert_string_equal(read, "new");
  free(read);
  assert_int_equal(symlink("nowhere", at("dangling")), 0);
  assert_int_equal(hl_file_write(at("dangling"), "x", 1, NULL), HL_OK);
}

static void directories_are_made_with_parents(void **state) {
  (void)state;
  hl_error error = {0};
  assert_int_equal(hl_directory_make(at("d/e/f"), &error), HL_OK);
  assert_int_equal(hl_directory_make(at("d/e/f"), &error), HL_OK);
  assert_int_equal(hl_directory_make(at("d/e/g/"), &error), HL_OK);
  assert_int_equal(hl_directory_make("/", &error), HL_OK);
  assert_int_equal(access(at("d/e/g"), F_OK), 0);
  assert_int_equal(hl_file_write(at("d/file"), "", 0, NULL), HL_OK);
  assert_int_equal(hl_directory_make(at("d/file"), &error), HL_IO);
  assert_int_equal(hl_directory_make(at("d/file/below"), &error), HL_IO);
  assert_int_equal(hl_directory_make("", &error), HL_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_files_are_read_back),
      cmocka_unit_test(empty_files_are_files),
      cmocka_unit_test(limits_hold),
      cmocka_unit_test(what_is_no_file_is_told),
      cmocka_unit_test(a_failed_write_leaves_the_old_file),
      cmocka_unit_test(a_killed_writer_leaves_nothing),
      cmocka_unit_test(a_library_gets_a_name),
      cmocka_unit_test(devices_stay_and_links_lead),
      cmocka_unit_test(directories_are_made_with_parents),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
