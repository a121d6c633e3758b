#include "machine/clock-check.h"

#include "base/clock.h"
#include <math.h>
#include <time.h>

static const double jump_share = 0.1, jump_ns = 10e6, slept_ns = 10e6;
static const uint64_t close_ns = 5000;
enum { tries = 5, still_samples = 100 };

static uint64_t read_clock(clockid_t id) {
  struct timespec t;
  if (clock_gettime(id, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clocks are read between two reads of the monotonic one, again where those lie far apart. */
void hl_clock_moment_read(hl_clock_moment *ret_moment) {
  *ret_moment = (hl_clock_moment){.uncertain_ns = UINT64_MAX};
  for (int i = 0; i < tries && ret_moment->uncertain_ns > close_ns; i++) {
    uint64_t first = hl_clock_ns();
    uint64_t raw = read_clock(CLOCK_MONOTONIC_RAW), boot = read_clock(CLOCK_BOOTTIME);
    uint64_t apart = hl_clock_ns() - first;
    if (i == 0 || apart < ret_moment->uncertain_ns)
      *ret_moment = (hl_clock_moment){first, raw, boot, apart};
  }
}

/* b - a, also where it is negative. */
static double difference(uint64_t a, uint64_t b) {
  return (double)(int64_t)(b - a);
}

static hl_status check_samples(const uint64_t *ns, size_t count, hl_error *error) {
  uint64_t any = 0;
  for (size_t i = 0; i < count; i++) {
    any |= ns[i];
    if (ns[i] > INT64_MAX)
      return hl_error_set(error, HL_IO,
                          "the clock ran backwards by %.3g ms while this was measured",
                          -(double)(int64_t)ns[i] / 1e6);
  }
  if (any == 0 && count >= still_samples)
    return hl_error_set(error, HL_IO, "the clock stood still while %zu samples were measured",
                        count);
  return HL_OK;
}

hl_status hl_clock_check(const hl_clock_moment *before, const hl_clock_moment *after,
                         const uint64_t *samples_ns, size_t count, hl_clock_course *ret_course,
                         hl_error *error) {
  hl_clock_course course = {(double)NAN, (double)NAN};
  hl_status status = check_samples(samples_ns, count, error);
  if (status != HL_OK) return status;
  double monotonic = difference(before->monotonic_ns, after->monotonic_ns);
  double slack = (double)before->uncertain_ns + (double)after->uncertain_ns;
  if (monotonic < 0)
    return hl_error_set(error, HL_IO, "the clock ran backwards by %.3g ms while this was measured",
                        -monotonic / 1e6);
  if (before->raw_ns && after->raw_ns) {
    double raw = difference(before->raw_ns, after->raw_ns), gained = monotonic - raw;
    if (fabs(gained) > jump_share * fabs(raw) + jump_ns + slack)
      return hl_error_set(error, HL_IO,
                          "the clock jumped while this was measured: CLOCK_MONOTONIC went on by "
                          "%.6g s, CLOCK_MONOTONIC_RAW by %.6g s",
                          monotonic / 1e9, raw / 1e9);
    double sure = fabs(gained) > slack ? gained - copysign(slack, gained) : 0;
    course.adjusted_share = raw > 0 ? sure / raw : (double)NAN;
  }
  if (before->boot_ns && after->boot_ns) {
    double slept = difference(before->boot_ns, after->boot_ns) - monotonic;
    course.suspended_s = slept > slept_ns + slack ? slept / 1e9 : 0;
  }
  *ret_course = course;
  return HL_OK;
}
