#include "machine/limit.h"
#include "machine/memory.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, LIMIT_MIB = 96, REFUSED = 3, ENTER_FAILED = 4 };

/* In a child under the limit: touches memory, `mib` of it; 0, or REFUSED if mmap fails. */
static int child_status(const hl_memory_limit *limit, size_t mib) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    if (hl_memory_limit_enter(limit)) _exit(ENTER_FAILED);
    for (size_t i = 0; i < mib; i++) {
      unsigned char *data =
          mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data == MAP_FAILED) _exit(errno == ENOMEM ? REFUSED : ENTER_FAILED);
      for (size_t at = 0; at < MIB; at += 4096) data[at] = 1;
    }
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void group_kills_and_counts(void **state) {
  (void)state;
  hl_memory_limit limit;
  assert_int_equal(hl_memory_limit_prepare((uint64_t)LIMIT_MIB * MIB, &limit, NULL), HL_OK);
  if (limit.kind == HL_LIMIT_DATA) {
    hl_memory_limit_release(&limit);
    skip();
  }
  char path[HL_CGROUP_PATH];
  strcpy(path, limit.path);
  assert_int_equal(strncmp(hl_memory_limit_name(&limit), "cgroup v", 8), 0);

  int status = child_status(&limit, LIMIT_MIB / 2);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(hl_memory_limit_oom_kills(&limit), 0);

  status = child_status(&limit, 3 * LIMIT_MIB);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGKILL);
  assert_int_equal(hl_memory_limit_oom_kills(&limit), 1);

  hl_memory_limit_release(&limit);
  assert_int_equal(limit.kind, HL_LIMIT_NONE);
  assert_int_not_equal(access(path, F_OK), 0);
}

static void data_limit_refuses(void **state) {
  (void)state;
  hl_memory_limit limit;
  /* The sanitizers' own mappings are data, too: the limit stands above what there is. */
  char text[4096];
  uint64_t data_kib = 0;
  assert_true(hl_sysfs_text(NULL, text, sizeof text, "/proc/self/status"));
  assert_true(hl_sysfs_field(text, "VmData", &data_kib));
  assert_int_equal(
      hl_memory_limit_prepare_data(data_kib * 1024 + (uint64_t)LIMIT_MIB * MIB, &limit, NULL),
      HL_OK);
  assert_string_equal(hl_memory_limit_name(&limit), "RLIMIT_DATA");
  int status = child_status(&limit, LIMIT_MIB / 2);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = child_status(&limit, 3 * LIMIT_MIB);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == REFUSED);
  assert_true(hl_memory_limit_oom_kills(&limit) == UINT64_MAX);
  hl_memory_limit_release(&limit);
}

static void stale_groups_go(void **state) {
  (void)state;
  hl_memory_limit limit;
  assert_int_equal(hl_memory_limit_prepare((uint64_t)LIMIT_MIB * MIB, &limit, NULL), HL_OK);
  if (limit.kind == HL_LIMIT_DATA) {
    hl_memory_limit_release(&limit);
    skip();
  }
  char stale[HL_CGROUP_PATH + 32];
  snprintf(stale, sizeof stale, "%.*s/hotlap-%ld-1-0", (int)(strrchr(limit.path, '/') - limit.path),
           limit.path, (long)getpid());
  assert_int_equal(mkdir(stale, 0755), 0); /* our pid, but of a process started at tick 1 */
  hl_memory_limit second;
  assert_int_equal(hl_memory_limit_prepare((uint64_t)LIMIT_MIB * MIB, &second, NULL), HL_OK);
  assert_int_not_equal(access(stale, F_OK), 0);
  assert_int_equal(access(limit.path, F_OK), 0); /* that of a living process stays */
  hl_memory_limit_release(&second);
  hl_memory_limit_release(&limit);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  hl_memory_limit limit;
  hl_error error = {0};
  assert_int_equal(hl_memory_limit_prepare(1000, &limit, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "1000 bytes"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(group_kills_and_counts), cmocka_unit_test(data_limit_refuses),
      cmocka_unit_test(stale_groups_go), cmocka_unit_test(nonsense_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
