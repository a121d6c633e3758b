#include "fake-tree.h"
#include "base/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_tree_init(fake_tree *tree) {
  strcpy(tree->root, "/tmp/hotlap-test-XXXXXX");
  assert_non_null(mkdtemp(tree->root));
}

void fake_tree_file(const fake_tree *tree, const char *path, const char *content) {
  char full[512];
  snprintf(full, sizeof full, "%s%s", tree->root, path);
  char *slash = strrchr(full, '/');
  *slash = 0;
  assert_int_equal(hl_directory_make(full, NULL), HL_OK);
  *slash = '/';
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(content, file);
  assert_int_equal(fclose(file), 0);
}

static int drop(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

void fake_tree_release(fake_tree *tree) {
  nftw(tree->root, drop, 16, FTW_DEPTH | FTW_PHYS);
}
