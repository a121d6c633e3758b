#include "report/flame.h"

#include "base/hash.h"
#include "report/flame-tree.h"
#include "report/number.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { width = 1200, margin = 10, row = 17, head = 48, most_levels = 100 };
static const double least_pixels = 0.2, letter_pixels = 6.4;

/* One character of text or of an attribute; what XML 1.0 does not allow is U+FFFD. */
static void put_character(hl_text *out, const char *at, size_t length) {
  unsigned char c = (unsigned char)*at;
  if (c == '&')
    hl_text_append(out, "&amp;");
  else if (c == '<')
    hl_text_append(out, "&lt;");
  else if (c == '>')
    hl_text_append(out, "&gt;");
  else if (c == '"')
    hl_text_append(out, "&quot;");
  else if (c == '\t' || c == '\n' || c == '\r')
    hl_text_char(out, ' ');
  else if (!length || c < 0x20 || c == 0x7f ||
           (length == 3 && memcmp(at, "\xef\xbf", 2) == 0 && ((unsigned char)at[2] & 0xfe) == 0xbe))
    hl_text_append(out, "\xef\xbf\xbd");
  else
    hl_text_append_n(out, at, length);
}

/* At most `most` characters, the last ".." where more follow. */
static void put_xml(hl_text *out, const char *text, size_t most) {
  size_t count = 0;
  for (const char *at = text; *at; count++) {
    size_t n = (unsigned char)*at < 0x80 ? 1 : hl_utf8_length((const unsigned char *)at);
    if (count + 2 >= most && strlen(at) > 2) {
      hl_text_append(out, "..");
      return;
    }
    put_character(out, at, n);
    at += n ? n : 1;
  }
}

/* Warm colours, always the same for a kind; grey for what is no operator. */
static void put_colour(hl_text *out, const hl__flame_node *n) {
  if (!*n->kind || strcmp(n->kind, "span") == 0) {
    hl_text_append(out, *n->name == '(' ? "#e4e4e4" : "#c9cfd8");
    return;
  }
  uint64_t hash = hl_hash_text(HL_HASH_START, n->kind);
  hash ^= hash >> 29;
  hl_text_format(out, "hsl(%d,%d%%,%d%%)", (int)(hash % 55), (int)(70 + (hash >> 8) % 25),
                 (int)(60 + (hash >> 16) % 14));
}

static void put_node(hl_text *out, const hl__flame_tree *t, const hl__flame_node *n, double x,
                     double wide, int levels, double steps) {
  char ms[HL_NUMBER_BYTES], percent[HL_NUMBER_BYTES];
  double all = (double)t->nodes[0].total_ns;
  int y = head + (levels - n->depth) * row;
  hl_text_append(out, "<g><title>");
  put_xml(out, *n->name ? n->name : "(no name)", 400);
  if (*n->kind && strcmp(n->kind, n->name) != 0) {
    hl_text_append(out, " (");
    put_xml(out, n->kind, 100);
    hl_text_char(out, ')');
  }
  hl_text_format(out, ": %s ms%s, %s", hl_report_number((double)n->total_ns / 1e6 / steps, "-", ms),
                 steps > 1 ? " a step" : "",
                 hl_report_percent(100 * (double)n->total_ns / all, percent));
  if (n->calls) /* a phase or thread has none */
    hl_text_format(out, ", %" PRIu64 " call%s", n->calls, n->calls == 1 ? "" : "s");
  hl_text_append(out, "</title>");
  hl_text_format(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"", x, y, wide,
                 row - 1);
  put_colour(out, n);
  hl_text_append(out, "\"/>");
  if (wide > 3 * letter_pixels) {
    hl_text_format(out, "<text x=\"%.2f\" y=\"%d\">", x + 3, y + row - 5);
    put_xml(out, *n->name ? n->name : "(no name)", (size_t)((wide - 4) / letter_pixels));
    hl_text_append(out, "</text>");
  }
  hl_text_append(out, "</g>\n");
}

static void put_head(hl_text *out, const hl_profile *p, const hl__flame_tree *t, int levels) {
  char ms[HL_NUMBER_BYTES];
  int height = head + levels * row + margin;
  double steps = p->step_count ? (double)p->step_count : 1;
  hl_text_format(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\">\n"
                 "<style>text{font:11px Verdana,sans-serif;fill:#111}"
                 "rect:hover{stroke:#111}</style>\n"
                 "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                 width, height, width, height, width, height);
  hl_text_format(out, "<text x=\"%d\" y=\"20\" style=\"font-size:14px\">", margin);
  hl_text title = HL_TEXT_INIT;
  hl_text_format(&title, "%s, %s, %s, %s, batch %" PRId64, p->model, p->workload, p->engine,
                 p->dtype, p->batch_size);
  put_xml(out, title.data, 130);
  hl_text_release(&title);
  hl_text_format(out, "</text>\n<text x=\"%d\" y=\"37\">%zu step%s, %s ms each", margin,
                 p->step_count, p->step_count == 1 ? "" : "s",
                 hl_report_number((double)t->nodes[0].total_ns / 1e6 / steps, "-", ms));
  if (p->dropped_events) hl_text_format(out, "; %" PRIu64 " events are missing", p->dropped_events);
  if (!p->complete) {
    hl_text_append(out, "; not complete: ");
    put_xml(out, p->reason, 140);
  }
  hl_text_append(out, "</text>\n");
}

/* Where each frame begins, in nanoseconds from the left. */
static uint64_t *lay_out(const hl__flame_tree *t, int *ret_levels) {
  uint64_t *start = calloc(t->count, sizeof *start);
  int levels = 1;
  for (size_t i = 0; start && i < t->count; i++) {
    uint64_t at = start[i];
    for (int32_t c = t->nodes[i].first; c >= 0; c = t->nodes[c].sibling) {
      start[c] = at;
      at += t->nodes[c].total_ns;
    }
    if (t->nodes[i].depth > levels) levels = t->nodes[i].depth;
  }
  *ret_levels = levels < most_levels ? levels : most_levels;
  return start;
}

hl_status hl_flame_svg(const hl_profile *profile, hl_text *out, hl_error *error) {
  hl__flame_tree tree;
  hl_status status = hl__flame_tree_init(&tree, profile, error);
  if (status != HL_OK) return status;
  int levels;
  uint64_t *start = lay_out(&tree, &levels);
  double all = (double)tree.nodes[0].total_ns, scale = all > 0 ? (width - 2 * margin) / all : 0;
  double steps = profile->step_count ? (double)profile->step_count : 1;
  put_head(out, profile, &tree, levels);
  for (size_t i = 1; start && i < tree.count; i++) {
    const hl__flame_node *n = &tree.nodes[i];
    double wide = (double)n->total_ns * scale;
    if (wide >= least_pixels && n->depth <= levels)
      put_node(out, &tree, n, margin + (double)start[i] * scale, wide, levels, steps);
  }
  if (tree.count == 1)
    hl_text_format(out, "<text x=\"%d\" y=\"%d\">Nothing was recorded.</text>\n", margin,
                   head + row - 5);
  hl_text_append(out, "</svg>\n");
  bool failed = !start || out->failed;
  free(start);
  hl__flame_tree_release(&tree);
  return failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a flame graph") : HL_OK;
}
