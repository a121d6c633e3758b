#include "base/clock.h"

#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_clock_pause_since(uint64_t start_ns) {
  const struct timespec a_while = {.tv_nsec = 100000};
  if (hl_clock_ns() - start_ns < 10000000)
    sched_yield();
  else
    nanosleep(&a_while, NULL);
}

hl_clock_cost hl_clock_calibrate(void) {
  enum { reads_least = 20000, reads_most = 20000000 };
  hl_clock_cost cost = {.resolution_ns = (double)INFINITY};
  uint64_t start = hl_clock_ns(), last = start;
  int reads = 0;
  /* A clock that ticks once in milliseconds shows no step in 20000 reads. */
  for (; reads < reads_least || (isinf(cost.resolution_ns) && reads < reads_most); reads++) {
    uint64_t now = hl_clock_ns();
    if (now < last) return (hl_clock_cost){(double)NAN, (double)INFINITY};
    if (now != last && (double)(now - last) < cost.resolution_ns)
      cost.resolution_ns = (double)(now - last);
    last = now;
  }
  cost.read_ns = (double)(last - start) / reads;
  return cost;
}

void hl_clock_utc(char *ret_text, size_t size) {
  time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  if (strftime(ret_text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0 && size) ret_text[0] = '\0';
}

uint64_t hl_clock_process_start(int64_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  HL_CLEANUP(hl_free_pointer) char *stat = NULL;
  if (hl_file_read(path, 4096, &stat, NULL, NULL) != HL_OK) return 0;
  char *at = strrchr(stat, ')'); /* field 2, the name, may hold anything */
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}
