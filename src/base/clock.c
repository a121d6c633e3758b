#include "base/clock.h"

hl_clock_cost hl_clock_calibrate(void) {
  enum { reads = 20000 };
  hl_clock_cost cost = {.resolution_ns = 1e9};
  uint64_t start = hl_clock_ns(), last = start;
  for (int i = 0; i < reads; i++) {
    uint64_t now = hl_clock_ns();
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
