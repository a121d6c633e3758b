#include "fake-tree.h"
#include "machine/sysfs.h"
#include "machine/topology.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void cpu_sets(void **state) {
  (void)state;
  static const struct {
    const char *list;
    bool good;
    int count;
  } cases[] = {{"0", true, 1},           {"0-3", true, 4},
               {"0-1,4,6-7\n", true, 5}, {"", true, 0},
               {"3-1", false, 0},        {"a", false, 0},
               {"1-", false, 0},         {"-1", false, 0},
               {"1,,2", false, 0},       {"0-99999999", true, HL_SYSFS_MAX_CPUS}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_cpu_set set;
    assert_int_equal(hl_cpu_set_parse(cases[i].list, &set), cases[i].good);
    if (cases[i].good) assert_int_equal(hl_cpu_set_count(&set), cases[i].count);
  }
}

static void fields(void **state) {
  (void)state;
  const char *text = "oom_kill_disable 7\nVmHWM:\t  12 kB\nNAME=\"A b\"\noom_kill 3\nbig "
                     "99999999999999999999999\nlast max";
  uint64_t value = 0;
  char name[8];
  assert_true(hl_sysfs_field(text, "oom_kill", &value));
  assert_int_equal(value, 3); /* not oom_kill_disable */
  assert_true(hl_sysfs_field(text, "VmHWM", &value));
  assert_int_equal(value, 12);
  assert_true(hl_sysfs_field(text, "last", &value));
  assert_true(value == UINT64_MAX);
  assert_false(hl_sysfs_field(text, "absent", &value));
  assert_false(hl_sysfs_field(text, "big", &value));
  assert_true(hl_sysfs_field_text(text, "NAME", '=', name, sizeof name));
  assert_string_equal(name, "A b");
  assert_false(hl_sysfs_field_text(text, "NAME", ':', name, sizeof name));
}

/* Two sockets' worth of one: 2 cores with 2 threads each; the process may use CPUs 1-3. */
static void make_machine(const fake_tree *tree) {
  fake_tree_file(
      tree, "/proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Example CPU 9000\nflags\t\t: fpu sse4_2 avx avx2 fma "
      "avx512fake\n");
  fake_tree_file(tree, "/proc/self/status",
                 "VmHWM:\t 100 kB\nVmRSS:\t 50 kB\nCpus_allowed_list:\t1-3,7\n");
  fake_tree_file(tree, "/proc/meminfo", "MemTotal:  8388608 kB\nMemAvailable: 4194304 kB\n");
  fake_tree_file(tree, "/proc/sys/kernel/osrelease", "6.1.0-test\n");
  fake_tree_file(tree, "/etc/os-release", "ID=test\nPRETTY_NAME=\"Test Linux 1\"\n");
  fake_tree_file(tree, "/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  fake_tree_file(tree, "/sys/devices/system/cpu/online", "0-3\n");
  fake_tree_file(tree, "/sys/devices/system/node/online", "0-1\n");
  for (int cpu = 0; cpu < 4; cpu++) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    fake_tree_file(tree, path, cpu % 2 ? "1,3\n" : "0,2\n");
  }
  const char *cache = "/sys/devices/system/cpu/cpu1/cache/index0/";
  const char *const files[][2] = {
      {"level", "3\n"}, {"type", "Unified\n"}, {"size", "32768K\n"}, {"shared_cpu_list", "0-3\n"}};
  for (size_t i = 0; i < HL_COUNT(files); i++) {
    char path[128];
    snprintf(path, sizeof path, "%s%s", cache, files[i][0]);
    fake_tree_file(tree, path, files[i][1]);
  }
}

static void reads_a_tree(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  make_machine(&tree);
  hl_machine machine;
  assert_int_equal(hl_machine_read_at(tree.root, &machine, NULL), HL_OK);
  assert_string_equal(machine.cpu, "Example CPU 9000");
  assert_string_equal(machine.isa, "sse4_2 avx fma avx2");
  assert_string_equal(machine.os, "Test Linux 1");
  assert_string_equal(machine.kernel, "Linux 6.1.0-test");
  assert_string_equal(machine.container, "");
  assert_int_equal(machine.total_cpus, 4);
  assert_int_equal(machine.total_cores, 2);
  assert_int_equal(machine.allowed_cpus, 3);
  assert_int_equal(machine.allowed_cores, 2); /* {1,3} and {2} */
  assert_int_equal(machine.cores, 2);
  assert_int_equal(machine.numa_nodes, 2);
  assert_true(isnan(machine.cpu_quota));
  assert_int_equal(machine.memory_bytes, (uint64_t)8 << 30);
  assert_true(machine.memory_limit_bytes == UINT64_MAX);
  assert_int_equal(machine.cache_count, 1);
  assert_int_equal(hl_machine_last_cache_bytes(&machine), 32 << 20);
  assert_int_equal(machine.caches[0].shared_by, 4);
  assert_int_equal(strlen(machine.id), 16);

  char id[17];
  strcpy(id, machine.id);
  fake_tree_file(&tree, "/etc/machine-id", "another\n");
  fake_tree_file(&tree, "/.dockerenv", "");
  assert_int_equal(hl_machine_read_at(tree.root, &machine, NULL), HL_OK);
  assert_string_not_equal(machine.id, id);
  assert_string_equal(machine.container, "docker");
  fake_tree_release(&tree);
}

/* The quota of version 2, set two levels above the process's group, and a memory limit. */
static void obeys_control_groups(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  make_machine(&tree);
  fake_tree_file(&tree, "/proc/self/cgroup", "0::/a/b\n");
  fake_tree_file(&tree, "/proc/self/mountinfo",
                 "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
  fake_tree_file(&tree, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
  fake_tree_file(&tree, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  fake_tree_file(&tree, "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  fake_tree_file(&tree, "/sys/fs/cgroup/a/memory.max", "1073741824\n");
  hl_machine machine;
  assert_int_equal(hl_machine_read_at(tree.root, &machine, NULL), HL_OK);
  assert_true(machine.cpu_quota == 1.5);
  assert_int_equal(machine.cores, 1);
  assert_int_equal(machine.memory_limit_bytes, 1 << 30);
  fake_tree_release(&tree);
}

static void needs_proc(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  hl_machine machine;
  hl_error error = {0};
  assert_int_equal(hl_machine_read_at(tree.root, &machine, &error), HL_IO);
  assert_non_null(strstr(error.msg, "/proc"));
  fake_tree_release(&tree);
}

static void reads_this_machine(void **state) {
  (void)state;
  hl_machine machine;
  assert_int_equal(hl_machine_read(&machine, NULL), HL_OK);
  assert_true(machine.cores >= 1 && machine.cores <= machine.total_cpus);
  assert_true(machine.allowed_cores <= machine.allowed_cpus);
  assert_true(machine.memory_bytes > 0);
  char id[17];
  strcpy(id, machine.id);
  assert_int_equal(hl_machine_read(&machine, NULL), HL_OK);
  assert_string_equal(machine.id, id);
  hl_machine_release(&machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cpu_sets),     cmocka_unit_test(fields),
      cmocka_unit_test(reads_a_tree), cmocka_unit_test(obeys_control_groups),
      cmocka_unit_test(needs_proc),   cmocka_unit_test(reads_this_machine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
