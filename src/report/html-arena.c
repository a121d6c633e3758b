/* The arena of a row of memory over one step, as a picture in the page. */
#include "report/html-internal.h"
#include "report/memory-report.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the picture, in its own units; of more boxes the largest are drawn. */
enum { WIDTH = 1000, HEIGHT = 400, BOXES_MOST = 4000, ARENAS_MOST = 8 };

static double area_of(const hl_allocation *a) {
  return (double)a->bytes * (double)(a->last - a->first + 1);
}

static int larger(const void *a, const void *b) {
  double x = area_of(*(const hl_allocation *const *)a),
         y = area_of(*(const hl_allocation *const *)b);
  return (x < y) - (x > y);
}

/* The pieces that have a place in the arena, the largest first; free() them. NULL without memory.
 */
static const hl_allocation *const *by_area(const hl_memory_map *map, size_t *ret_count) {
  const hl_allocation **pieces = calloc(map->piece_count + 1, sizeof *pieces);
  size_t count = 0;
  for (size_t i = 0; pieces && i < map->piece_count; i++)
    if (map->pieces[i].first >= 0 && map->pieces[i].bytes > 0) pieces[count++] = &map->pieces[i];
  if (pieces && count) qsort(pieces, count, sizeof *pieces, larger);
  *ret_count = count;
  return pieces;
}

static void put_box(hl_html *html, const hl_allocation *a, double steps, double top) {
  char x[32], y[32], width[32], height[32], kind[16], mb[HL_NUMBER_BYTES];
  double high = (double)a->bytes / top * HEIGHT;
  snprintf(x, sizeof x, "%.2f", a->first / steps * WIDTH);
  snprintf(width, sizeof width, "%.2f", (a->last - a->first + 1) / steps * WIDTH);
  snprintf(y, sizeof y, "%.2f", HEIGHT - (double)a->offset / top * HEIGHT - high);
  snprintf(height, sizeof height, "%.2f", high);
  snprintf(kind, sizeof kind, "kind-%d", (int)a->kind);
  hl_html_open(html, "rect", "class", kind, "x", x, "y", y, "width", width, "height", height, NULL);
  hl_html_open(html, "title", NULL);
  hl_html_format(html, "%s%s%s: %s MB, %s, steps %" PRId32 " to %" PRId32, a->layer,
                 a->layer[0] && a->name[0] ? ", " : "", a->name, hl__memory_mb(a->bytes, mb),
                 hl__memory_names[a->kind], a->first, a->last);
  hl_html_close_to(html, html->depth - 2);
}

/* Where forward, the loss and backward begin. */
static void put_phases(hl_html *html, const hl_memory_map *map) {
  hl_phase seen = HL_PHASE_FORWARD;
  for (size_t n = 0; n < map->step_count; n++) {
    hl_phase phase = map->steps[n].phase;
    if (phase <= seen || phase == HL_PHASE_OPTIMIZER) continue;
    char x[32];
    seen = phase;
    snprintf(x, sizeof x, "%.2f", (double)n / (double)map->step_count * WIDTH);
    hl_html_element(html, "line", NULL, "class", "phase", "x1", x, "x2", x, "y1", "0", "y2", "400",
                    NULL);
    hl_html_element(html, "text", hl_phase_name(phase), "x", x, "y", "12", "dx", "4", NULL);
  }
}

static void put_legend(hl_html *html, const hl_memory_sums *sums) {
  hl_html_open(html, "ul", "class", "legend", NULL);
  for (int k = 0; k < HL_MEMORY_KINDS; k++) {
    char kind[16];
    if (sums->most[k] == sums->always[k]) continue; /* none of it in the arena */
    snprintf(kind, sizeof kind, "kind-%d", k);
    hl_html_open(html, "li", NULL);
    hl_html_open(html, "svg", "width", "22", "height", "10", "aria-hidden", "true", NULL);
    hl_html_element(html, "rect", NULL, "class", kind, "width", "22", "height", "10", NULL);
    hl_html_close(html);
    hl_html_text(html, hl__memory_names[k]);
    hl_html_close(html);
  }
  hl_html_close(html);
}

static void put_arena(hl_html *html, const hl_record *r, const hl_memory_sums *sums) {
  const hl_memory_map *map = r->memory_map;
  size_t count = 0;
  const hl_allocation *const *pieces = by_area(map, &count);
  if (!pieces) {
    html->out->failed = true;
    return;
  }
  char mb[HL_NUMBER_BYTES];
  hl_text name = HL_TEXT_INIT;
  hl__memory_name(r, &name);
  hl_html_open(html, "figure", "class", "arena", NULL);
  hl_html_open(html, "figcaption", NULL);
  hl_html_format(html, "%s: the arena over one step", name.data);
  hl_html_close(html);
  hl_html_open(html, "p", "class", "note", NULL);
  hl_html_format(html,
                 "From left to right the %zu steps, from bottom to top the addresses up to %s MB; "
                 "white is unused. Point at a box for its name.%s",
                 map->step_count, hl__memory_mb(sums->arena_bytes, mb),
                 count > BOXES_MOST ? " The smallest boxes are left out." : "");
  hl_html_close(html);
  HL_CLEANUP(hl_free_pointer)
  char *words = hl_format("Picture: the arena of %s, %zu pieces over %zu steps, up to %s MB. The "
                          "section By Phase and by Layer has its numbers.",
                          name.data, count, map->step_count, mb);
  hl_html_open(html, "svg", "viewBox", "0 0 1000 400", "role", "img", "aria-label", words, NULL);
  for (size_t i = 0; i < count && i < BOXES_MOST; i++)
    put_box(html, pieces[i], (double)map->step_count, (double)sums->arena_bytes);
  put_phases(html, map);
  hl_html_close(html);
  put_legend(html, sums);
  hl_html_close(html);
  hl_text_release(&name);
  free((void *)pieces);
}

void hl__html_arenas(hl_html *html, const hl_records *records) {
  size_t count = 0;
  HL_CLEANUP(hl_free_pointer) size_t *rows = hl__memory_largest(records, &count);
  for (size_t i = 0; rows && i < count && i < ARENAS_MOST; i++) {
    const hl_record *r = &records->items[rows[i]];
    hl_memory_sums sums;
    if (r->memory_map && hl_memory_map_sum(r->memory_map, &sums, NULL) == HL_OK &&
        sums.arena_bytes > 0 && r->memory_map->step_count > 0)
      put_arena(html, r, &sums);
  }
}
