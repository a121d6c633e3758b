#include "report/matrix-pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hl__matrix_place_of(const char *entry, hl__matrix_place *ret_place) {
  *ret_place = (hl__matrix_place){0};
  if (!entry) return false;
  for (size_t i = 0; i < HL__PARTS; i++) {
    size_t length = strcspn(entry, "/");
    bool last = i + 1 == HL__PARTS;
    if (length == 0 || length >= HL__PART_BYTES || (entry[length] == '/') == last) return false;
    memcpy(ret_place->parts[i], entry, length);
    entry += length + !last;
  }
  return true;
}

static bool same(const hl__matrix_place *a, const hl__matrix_place *b, size_t parts) {
  for (size_t i = 0; i < parts; i++)
    if (strcmp(a->parts[i], b->parts[i]) != 0) return false;
  return true;
}

bool hl__matrix_has_scenario(const hl_analysis *analysis, const hl__matrix_place *at,
                             const char *scenario) {
  for (size_t i = 0; i < analysis->group_count; i++) {
    hl__matrix_place p;
    if (hl__matrix_place_of(analysis->groups[i].entry, &p) && same(&p, at, HL__SCENARIO) &&
        strcmp(p.parts[HL__SCENARIO], scenario) == 0)
      return true;
  }
  return false;
}

bool hl__matrix_answers_throughput(const hl_analysis *analysis, const hl_analysis_group *group) {
  hl__matrix_place at;
  return !hl__matrix_place_of(group->entry, &at) ||
         strcmp(at.parts[HL__SCENARIO], "throughput") == 0 ||
         !hl__matrix_has_scenario(analysis, &at, "throughput");
}

/* -- pages ------------------------------------------------------------------------------------- */

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the pages of a matrix");
}

static hl__matrix_page *page_of(hl__matrix_pages *pages, const hl__matrix_place *at) {
  for (size_t i = 0; i < pages->count; i++)
    if (same(&pages->items[i].place, at, HL__HARDWARE)) return &pages->items[i];
  if (pages->count == HL__PAGES) return NULL;
  hl__matrix_page *page = &pages->items[pages->count++];
  page->place = *at;
  snprintf(page->name, sizeof page->name, "performance_%s_%s", at->parts[HL__DATASET],
           at->parts[HL__MODEL]);
  return page;
}

/* Names with an underscore may meet: a_b of c, and a of b_c. The later one gets a number. */
static void tell_apart(hl__matrix_pages *pages) {
  for (size_t i = 0; i < pages->count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(pages->items[i].name, pages->items[k].name) == 0) {
        size_t length = strlen(pages->items[i].name);
        snprintf(pages->items[i].name + length, sizeof pages->items[i].name - length, "_%zu",
                 i + 1);
      }
}

hl_status hl__matrix_pages_make(const hl_analysis *analysis, hl__matrix_pages *ret_pages,
                                hl_error *error) {
  hl__matrix_pages pages = {.items = calloc(HL__PAGES, sizeof *pages.items)};
  hl_status status = pages.items ? HL_OK : no_memory(error);
  for (size_t i = 0; i < analysis->group_count && status == HL_OK; i++) {
    const hl_analysis_group *g = &analysis->groups[i];
    hl__matrix_place at;
    if (g->point_count == 0 || !hl__matrix_place_of(g->entry, &at) ||
        !hl__matrix_answers_throughput(analysis, g))
      continue;
    hl__matrix_page *page = page_of(&pages, &at);
    if (!page) break;
    hl_analysis *own = &page->analysis;
    hl_analysis_group *groups = realloc(own->groups, (own->group_count + 1) * sizeof *groups);
    if (!groups) status = no_memory(error);
    if (groups) {
      own->groups = groups;
      own->groups[own->group_count++] = *g;
    }
  }
  if (status != HL_OK || pages.count < 2) hl__matrix_pages_release(&pages);
  tell_apart(&pages);
  *ret_pages = pages;
  return status;
}

void hl__matrix_pages_release(hl__matrix_pages *pages) {
  for (size_t i = 0; i < pages->count; i++) free(pages->items[i].analysis.groups);
  free(pages->items);
  *pages = (hl__matrix_pages){0};
}
