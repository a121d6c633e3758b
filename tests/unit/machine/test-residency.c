/* Mappings of a process are sorted by what they are. */
#include "fake-tree.h"
#include "machine/memory.h"
#include "machine/residency.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void each_mapping_is_in_one_part(void **state) {
  (void)state;
  fake_tree tree;
  hl_residency r;
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/self/smaps",
                 "5567-5568 r--p 00000000 08:01 11   /opt/a program/hotlap\n"
                 "Size: 8 kB\nRss:                   1 kB\nPss: 900 kB\n"
                 "5568-5569 r-xp 00001000 08:01 11   /opt/a program/hotlap\nRss: 2 kB\n"
                 "5569-556a rw-p 00001000 08:01 11   /opt/a program/hotlap\nRss: 4 kB\n"
                 "6000-7000 rw-p 00000000 00:00 0    [heap]\nRss: 8 kB\nAnonymous: 700 kB\n"
                 "a000-b000 r--p 00000000 08:01 12   /cache/net.onnx\nRss: 16 kB\n"
                 "b000-c000 rw-p 00000000 00:00 0 \nRss: 32 kB\n"
                 "c000-d000 r-xp 00000000 00:00 0 \nRss: 64 kB\n"
                 "d000-e000 rw-s 00000000 00:05 9    /memfd:net (deleted)\nRss: 128 kB\n"
                 "e000-f000 rw-p 00000000 00:00 0    [stack]\nRss: 256 kB\n"
                 "f000-f001 r-xp 00000000 00:00 0    [vdso]\nRss: 512 kB\n");
  assert_int_equal(hl_residency_read(tree.root, &r, NULL), HL_OK);
  assert_int_equal(r.resident_bytes, 1023 * 1024);
  assert_int_equal(r.library_bytes, (1 + 2 + 4 + 512) * 1024);
  assert_int_equal(r.file_bytes, (16 + 128) * 1024);
  assert_int_equal(r.code_bytes, 64 * 1024);
  assert_int_equal(r.private_bytes, (8 + 32 + 256) * 1024);
  assert_true(r.heap_bytes == UINT64_MAX);
  fake_tree_release(&tree);
}

static void a_tree_without_it(void **state) {
  (void)state;
  fake_tree tree;
  hl_residency r = {.resident_bytes = 7};
  hl_error error = {0};
  fake_tree_init(&tree);
  assert_int_equal(hl_residency_read(tree.root, &r, &error), HL_IO);
  assert_non_null(strstr(error.msg, "smaps"));
  assert_int_equal(r.resident_bytes, 7);
  fake_tree_release(&tree);
}

/* Against the kernel's own sum, and a mapping of each kind. */
static void this_process(void **state) {
  (void)state;
  enum { BYTES = 4 << 20 };
  hl_residency before, after;
  hl_memory memory;
  char name[] = "/tmp/residency-XXXXXX";
  int fd = mkstemp(name);
  assert_true(fd >= 0 && ftruncate(fd, BYTES) == 0);
  assert_int_equal(hl_residency_read(NULL, &before, NULL), HL_OK);
  int both = PROT_READ | PROT_WRITE;
  unsigned char *parts[] = {
      mmap(NULL, BYTES, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      mmap(NULL, BYTES, both, MAP_SHARED, fd, 0),
      mmap(NULL, BYTES, both | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
  for (int i = 0; i < 3; i++) {
    assert_true(parts[i] != MAP_FAILED);
    memset(parts[i], 1, BYTES);
  }
  assert_int_equal(hl_residency_read(NULL, &after, NULL), HL_OK);
  assert_int_equal(hl_memory_read_exact(NULL, &memory, NULL), HL_OK);
  assert_true(after.private_bytes >= before.private_bytes + BYTES);
  assert_true(after.private_bytes < before.private_bytes + BYTES + BYTES / 2);
  assert_int_equal(after.file_bytes, before.file_bytes + BYTES);
  assert_int_equal(after.code_bytes, before.code_bytes + BYTES);
  assert_true(after.library_bytes > 0);
  assert_int_equal(after.resident_bytes,
                   after.library_bytes + after.file_bytes + after.code_bytes + after.private_bytes);
  int64_t off = (int64_t)(memory.resident_bytes - after.resident_bytes);
  assert_true(off > -BYTES / 4 && off < BYTES / 4);
  for (int i = 0; i < 3; i++) munmap(parts[i], BYTES);
  close(fd);
  unlink(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_mapping_is_in_one_part),
      cmocka_unit_test(a_tree_without_it),
      cmocka_unit_test(this_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
