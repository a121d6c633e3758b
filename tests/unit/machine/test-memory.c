#include "fake-tree.h"
#include "machine/cgroup.h"
#include "machine/counters.h"
#include "machine/memory.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAPPING_BYTES = 64 << 20 };

static unsigned char *map_pages(void) {
  void *data =
      mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(data != MAP_FAILED);
  madvise(data, MAPPING_BYTES, MADV_NOHUGEPAGE); /* one fault a page */
  return data;
}

static void touch(unsigned char *data) {
  for (size_t i = 0; i < MAPPING_BYTES; i += 4096) data[i] = 1;
}

static void peak_outlives_the_mapping(void **state) {
  (void)state;
  hl_memory before, after, reset;
  if (hl_memory_peak_reset(NULL)) skip();
  assert_int_equal(hl_memory_read_exact(NULL, &before, NULL), HL_OK);
  unsigned char *data = map_pages();
  touch(data);
  munmap(data, MAPPING_BYTES);
  assert_int_equal(hl_memory_read_exact(NULL, &after, NULL), HL_OK);
  assert_true(after.peak_bytes >= before.resident_bytes + MAPPING_BYTES * 95ull / 100);
  assert_true(after.resident_bytes < before.resident_bytes + MAPPING_BYTES / 2);
  assert_int_equal(hl_memory_peak_reset(NULL), HL_OK);
  assert_int_equal(hl_memory_read_exact(NULL, &reset, NULL), HL_OK);
  assert_true(reset.peak_bytes < after.peak_bytes - MAPPING_BYTES / 2);
}

static void anonymous_memory_is_told_apart(void **state) {
  (void)state;
  hl_memory before, after;
  assert_int_equal(hl_memory_read_exact(NULL, &before, NULL), HL_OK);
  unsigned char *data = map_pages();
  touch(data);
  assert_int_equal(hl_memory_read_exact(NULL, &after, NULL), HL_OK);
  munmap(data, MAPPING_BYTES);
  assert_true(after.anonymous_bytes >= before.anonymous_bytes + MAPPING_BYTES);
  assert_true(after.file_bytes < before.file_bytes + MAPPING_BYTES / 2);
}

static void faults_are_counted(void **state) {
  (void)state;
  hl_counter_source source;
  hl_counters before, after, slice;
  hl_counter_source_init(&source, NULL);
  unsigned char *data = map_pages();
  hl_counters_read(&source, &before);
  touch(data);
  hl_counters_read(&source, &after);
  hl_counters_difference(&before, &after, &slice);
  long pages = MAPPING_BYTES / sysconf(_SC_PAGESIZE);
  assert_in_range(slice.minor_faults, pages, pages + pages / 4);
  assert_true(slice.time_ns > 0);

  touch(data); /* mapped already */
  hl_counters_read(&source, &before);
  hl_counters_difference(&after, &before, &slice);
  assert_true(slice.minor_faults < (uint64_t)pages / 8);
  munmap(data, MAPPING_BYTES);
  hl_counter_source_release(&source);
}

static void waiting_and_working_are_told_apart(void **state) {
  (void)state;
  hl_counter_source source;
  hl_counters before, middle, after, sleeping, working;
  hl_counter_source_init(&source, NULL);
  hl_counters_read(&source, &before);
  const struct timespec pause = {.tv_nsec = 20000000};
  nanosleep(&pause, NULL);
  hl_counters_read(&source, &middle);
  do {
    for (int i = 0; i < 1000000; i++) __asm__ volatile("" : "+r"(i)); /* is not folded away */
    hl_counters_read(&source, &after);
    hl_counters_difference(&middle, &after, &working);
  } while (working.user_ns + working.system_ns < 30000000);
  hl_counters_difference(&before, &middle, &sleeping);
  assert_true(sleeping.voluntary_switches >= 1);
  assert_true(sleeping.time_ns >= 20000000);
  assert_true(sleeping.user_ns + sleeping.system_ns < 15000000);
  hl_counter_source_release(&source);
}

/* Where the group lies, by cgroup and mountinfo. */
static void groups_are_found(void **state) {
  (void)state;
  static const struct {
    const char *cgroup, *mountinfo, *directory, *path;
    int version;
  } cases[] = {
      {"4:memory:/job/x\n0::/\n", "1 1 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n",
       "/cg/memory/job/x", "/cg/memory/job/x", 1},
      /* a container that sees only its part: the mount's root is the group */
      {"4:memory:/docker/ab\n", "1 1 0:1 /docker/ab /cg/memory ro - cgroup cgroup rw,memory\n",
       "/cg/memory", "/cg/memory", 1},
      /* the name is outside of what is mounted */
      {"4:memory:/elsewhere\n", "1 1 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n", "/cg/memory",
       "/cg/memory", 1},
      {"0::/user.slice/s\n", "1 1 0:1 / /cg rw master:3 - cgroup2 none rw\n", "/cg/user.slice/s",
       "/cg/user.slice/s", 2},
      /* a blank and a backslash in the mount point */
      {"4:memory:/job\n", "1 1 0:1 / /c\\040g\\134 rw - cgroup cgroup rw,memory\n", "/c g\\/job",
       "/c g\\/job", 1},
      {"4:cpu:/x\n", "1 1 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n", "/cg/cpu/x", NULL, 0}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    fake_tree tree;
    char file[256];
    hl_cgroup group;
    fake_tree_init(&tree);
    fake_tree_file(&tree, "/proc/self/cgroup", cases[i].cgroup);
    fake_tree_file(&tree, "/proc/self/mountinfo", cases[i].mountinfo);
    strcat(strcpy(file, cases[i].directory), "/memory.any");
    fake_tree_file(&tree, file, "");
    fake_tree_file(&tree, "/cg/cgroup.controllers", "cpu memory\n");
    assert_int_equal(hl_cgroup_find(tree.root, "memory", &group), cases[i].path != NULL);
    if (cases[i].path) {
      assert_string_equal(group.path, cases[i].path);
      assert_int_equal(group.version, cases[i].version);
    }
    fake_tree_release(&tree);
  }
}

static void limits_come_from_all_levels(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/self/cgroup", "4:memory:/a/b\n");
  fake_tree_file(&tree, "/proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup cgroup rw,memory\n");
  fake_tree_file(&tree, "/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n");
  fake_tree_file(&tree, "/cg/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  fake_tree_file(&tree, "/cg/a/b/memory.usage_in_bytes", "1000\n");
  fake_tree_file(&tree, "/cg/a/b/memory.max_usage_in_bytes", "2000\n");
  fake_tree_file(&tree, "/cg/a/b/memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  fake_tree_file(&tree, "/cg/a/memory.limit_in_bytes", "50000\n");
  fake_tree_file(&tree, "/cg/a/memory.usage_in_bytes", "20000\n");
  /* What was read from files and nobody maps, 8000, is given back when it is needed. */
  fake_tree_file(&tree, "/cg/a/memory.stat",
                 "inactive_file 1\nactive_file 2\nmapped_file 3\ntotal_mapped_file 2000\n"
                 "total_inactive_file 7000\ntotal_active_file 3000\n");
  hl_cgroup_memory memory = hl_cgroup_memory_read(tree.root);
  assert_int_equal(memory.version, 1);
  assert_int_equal(memory.limit_bytes, 50000);
  assert_int_equal(memory.headroom_bytes, 38000);
  assert_int_equal(memory.current_bytes, 1000);
  assert_int_equal(memory.peak_bytes, 2000);
  assert_int_equal(memory.oom_kill_count, 3);
  assert_int_equal(hl_memory_available(tree.root), 38000);
  fake_tree_release(&tree);
  fake_tree_init(&tree);
  assert_int_equal(hl_cgroup_memory_read(tree.root).version, 0);
  assert_true(hl_cgroup_memory_read(tree.root).peak_bytes == UINT64_MAX);
  assert_true(hl_memory_available(tree.root) == UINT64_MAX);
  hl_memory self;
  assert_int_equal(hl_memory_read(tree.root, &self, NULL), HL_IO);
  fake_tree_release(&tree);
}

/* Each version's files, with a limit and without. */
static void limits_of_both_versions(void **state) {
  (void)state;
  static const struct {
    const char *cgroup, *mountinfo, *quota, *period, *quota_text, *period_text;
    double cpus;
  } cases[] = {
      {"3:cpu,cpuacct:/j\n", "1 1 0:1 / /cg rw - cgroup cgroup rw,cpu,cpuacct\n",
       "/cg/j/cpu.cfs_quota_us", "/cg/j/cpu.cfs_period_us", "250000\n", "100000\n", 2.5},
      {"3:cpu,cpuacct:/j\n", "1 1 0:1 / /cg rw - cgroup cgroup rw,cpu,cpuacct\n",
       "/cg/j/cpu.cfs_quota_us", "/cg/j/cpu.cfs_period_us", "-1\n", "100000\n", (double)NAN},
      {"3:cpu,cpuacct:/j\n", "1 1 0:1 / /cg rw - cgroup cgroup rw,cpu,cpuacct\n",
       "/cg/j/cpu.cfs_quota_us", "/cg/j/cpu.cfs_period_us", "250000\n", "0\n", (double)NAN},
      {"0::/j\n", "1 1 0:1 / /cg rw - cgroup2 none rw\n", "/cg/j/cpu.max", "/cg/cgroup.controllers",
       "50000 100000\n", "cpu memory\n", 0.5},
      {"0::/j\n", "1 1 0:1 / /cg rw - cgroup2 none rw\n", "/cg/j/cpu.max", "/cg/cgroup.controllers",
       "max 100000\n", "cpu memory\n", (double)NAN}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    fake_tree tree;
    fake_tree_init(&tree);
    fake_tree_file(&tree, "/proc/self/cgroup", cases[i].cgroup);
    fake_tree_file(&tree, "/proc/self/mountinfo", cases[i].mountinfo);
    fake_tree_file(&tree, cases[i].quota, cases[i].quota_text);
    fake_tree_file(&tree, cases[i].period, cases[i].period_text);
    double cpus = hl_cgroup_cpu_quota(tree.root);
    assert_true(isnan(cases[i].cpus) ? isnan(cpus) : cpus == cases[i].cpus);
    fake_tree_release(&tree);
  }
  fake_tree tree; /* memory of version 2; that of version 1 is above */
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/self/cgroup", "0::/j\n");
  fake_tree_file(&tree, "/proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 none rw\n");
  fake_tree_file(&tree, "/cg/cgroup.controllers", "cpu memory\n");
  fake_tree_file(&tree, "/cg/j/memory.max", "70000\n");
  fake_tree_file(&tree, "/cg/j/memory.current", "10000\n");
  fake_tree_file(&tree, "/cg/j/memory.peak", "30000\n");
  fake_tree_file(&tree, "/cg/j/memory.events", "low 0\noom 2\noom_kill 1\n");
  fake_tree_file(&tree, "/cg/j/memory.stat",
                 "anon 9\nfile_mapped 1000\ninactive_file 2000\nactive_file 3000\n"
                 "slab_reclaimable 500\n");
  hl_cgroup_memory memory = hl_cgroup_memory_read(tree.root);
  assert_int_equal(memory.version, 2);
  assert_int_equal(memory.limit_bytes, 70000);
  assert_int_equal(memory.headroom_bytes, 64500);
  /* Never more than the limit, whatever the kernel says of its cache. */
  fake_tree_file(&tree, "/cg/j/memory.stat",
                 "inactive_file 18446744073709551615\nactive_file 18446744073709551615\n");
  assert_int_equal(hl_cgroup_memory_read(tree.root).headroom_bytes, 60000);
  fake_tree_file(&tree, "/cg/j/memory.stat", "inactive_file 18446744073709551615\n");
  assert_int_equal(hl_cgroup_memory_read(tree.root).headroom_bytes, 70000);
  assert_int_equal(memory.peak_bytes, 30000);
  assert_int_equal(memory.oom_kill_count, 1);
  fake_tree_release(&tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(peak_outlives_the_mapping),
                                     cmocka_unit_test(anonymous_memory_is_told_apart),
                                     cmocka_unit_test(faults_are_counted),
                                     cmocka_unit_test(waiting_and_working_are_told_apart),
                                     cmocka_unit_test(groups_are_found),
                                     cmocka_unit_test(limits_come_from_all_levels),
                                     cmocka_unit_test(limits_of_both_versions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
