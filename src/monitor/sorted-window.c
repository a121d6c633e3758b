#include "monitor/sorted-window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool hl_sorted_window_init(hl_sorted_window *w, size_t capacity) {
  *w = (hl_sorted_window){.capacity = capacity};
  w->sorted = calloc(2 * capacity, sizeof *w->sorted);
  w->in_order = w->sorted ? w->sorted + capacity : NULL;
  return w->sorted != NULL;
}

void hl_sorted_window_release(hl_sorted_window *w) {
  free(w->sorted);
  *w = (hl_sorted_window){0};
}

void hl_sorted_window_clear(hl_sorted_window *w) {
  w->count = w->next = 0;
}

/* How many values are below `value`. */
static size_t below(const hl_sorted_window *w, double value) {
  size_t low = 0, high = w->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (w->sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void hl_sorted_window_add(hl_sorted_window *w, double value) {
  if (w->count == w->capacity) {
    size_t at = below(w, w->in_order[w->next]);
    memmove(w->sorted + at, w->sorted + at + 1, (w->count - at - 1) * sizeof *w->sorted);
    w->count--;
  }
  size_t at = below(w, value);
  memmove(w->sorted + at + 1, w->sorted + at, (w->count - at) * sizeof *w->sorted);
  w->sorted[at] = value;
  w->count++;
  w->in_order[w->next] = value;
  w->next = (w->next + 1) % w->capacity;
}

double hl_sorted_window_median(const hl_sorted_window *w) {
  if (w->count == 0) return (double)NAN;
  size_t half = w->count / 2;
  return w->count % 2 ? w->sorted[half] : w->sorted[half - 1] / 2 + w->sorted[half] / 2;
}
