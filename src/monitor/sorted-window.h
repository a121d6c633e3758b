/*
 * monitor/sorted-window.h - the last values of a series in order of size, for their median.
 *
 *     hl_sorted_window window;
 *     if (!hl_sorted_window_init(&window, 100)) ...no memory
 *     hl_sorted_window_add(&window, x);      // forgets the oldest where it is full
 *     double median = hl_sorted_window_median(&window);
 *     hl_sorted_window_release(&window);
 *
 * Adding moves at most `capacity` values in memory: some 50 ns for 100.
 */
#ifndef HL_MONITOR_SORTED_WINDOW_H
#define HL_MONITOR_SORTED_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hl_sorted_window {
  double *sorted, *in_order; /* `in_order` is a ring */
  size_t capacity, count, next;
} hl_sorted_window;

bool hl_sorted_window_init(hl_sorted_window *window, size_t capacity);
void hl_sorted_window_release(hl_sorted_window *window);
void hl_sorted_window_clear(hl_sorted_window *window);
void hl_sorted_window_add(hl_sorted_window *window, double value); /* finite */
double hl_sorted_window_median(const hl_sorted_window *window);    /* NaN where it is empty */

#endif
