/* ranges-eval FILE RULE PERCENTILE: the range of the float32 numbers in FILE, and its histogram's
 * counts on further lines. */
#include "base/file.h"
#include "quantize/ranges.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  char *data = NULL;
  size_t bytes = 0;
  hl_ranges rule;
  hl_error error = {0};
  if (argc != 4 || !hl_ranges_from_name(argv[2], &rule)) return 2;
  if (hl_file_read(argv[1], (size_t)1 << 30, &data, &bytes, &error) != HL_OK) {
    fprintf(stderr, "%s\n", error.msg);
    return 1;
  }
  hl_observer o = {0};
  size_t count = bytes / sizeof(float);
  const float *values = (const float *)(const void *)data;
  hl_observer_see(&o, values, count);
  if (hl_observer_start_counting(&o, &error) != HL_OK) return 1;
  hl_observer_count(&o, values, count);
  hl_range range = hl_observer_range(&o, rule, atof(argv[3]));
  printf("%.9g %.9g\n", (double)range.low, (double)range.high);
  for (size_t i = 0; i < HL_OBSERVER_BINS; i++) printf("%" PRIu64 "\n", o.counts[i]);
  hl_observer_release(&o);
  free(data);
  return 0;
}
