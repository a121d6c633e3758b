#include "report/flame.h"

#include "report/flame-tree.h"
#include <inttypes.h>

enum { most_depth = 512 }; /* frames of a stack that are named */

static void put_frame(hl_text *out, const char *name) {
  for (const char *at = name; *at;) {
    size_t control = hl_text_control(at);
    size_t length = (unsigned char)*at < 0x80 ? 1 : hl_utf8_length((const unsigned char *)at);
    if (!length)
      hl_text_append(out, "\xef\xbf\xbd");
    else if (control)
      hl_text_char(out, ' ');
    else if (*at == ';')
      hl_text_char(out, ':');
    else
      hl_text_append_n(out, at, length);
    at += length ? length : 1;
  }
}

static void put_stack(hl_text *out, const hl__flame_tree *tree, int32_t node) {
  int32_t stack[most_depth];
  size_t depth = 0;
  for (int32_t at = node; at > 0 && depth < most_depth; at = tree->nodes[at].parent)
    stack[depth++] = at;
  while (depth > 0) {
    put_frame(out, tree->nodes[stack[--depth]].name);
    if (depth > 0) hl_text_char(out, ';');
  }
}

hl_status hl_flame_folded(const hl_profile *profile, hl_text *out, hl_error *error) {
  hl__flame_tree tree;
  hl_status status = hl__flame_tree_init(&tree, profile, error);
  if (status != HL_OK) return status;
  for (size_t i = 1; i < tree.count && !out->failed; i++) {
    if (tree.nodes[i].self_ns == 0) continue;
    put_stack(out, &tree, (int32_t)i);
    hl_text_format(out, " %" PRIu64 "\n", tree.nodes[i].self_ns);
  }
  hl__flame_tree_release(&tree);
  return out->failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for folded stacks") : HL_OK;
}
