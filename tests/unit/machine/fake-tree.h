/* A temporary directory that stands for "/". */
#ifndef TEST_FAKE_TREE_H
#define TEST_FAKE_TREE_H

typedef struct fake_tree {
  char root[64];
} fake_tree;

void fake_tree_init(fake_tree *tree);
/* Makes a file with its directories; the path is absolute within the tree. */
void fake_tree_file(const fake_tree *tree, const char *path, const char *content);
void fake_tree_release(fake_tree *tree);

#endif
