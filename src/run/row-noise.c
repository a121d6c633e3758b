#include "run/row-noise.h"

#include "base/text.h"
#include "protocol/channel.h"
#include <math.h>
#include <stdio.h>

static double real_of(const json_t *reply, const char *key) {
  return hl_json_get_real(reply, key, (double)NAN);
}

void hl_row_noise_add(hl_row_noise *n, const json_t *reply) {
  double seconds = real_of(reply, "interval_ns") * 1e-9;
  n->slices++;
  n->seconds += seconds;
  n->minor_faults += real_of(reply, "minor_faults");
  n->major_faults += real_of(reply, "major_faults");
  n->user_ns += real_of(reply, "user_ns");
  n->system_ns += real_of(reply, "system_ns");
  n->voluntary_switches += real_of(reply, "voluntary_switches");
  n->involuntary_switches += real_of(reply, "involuntary_switches");
  n->steal_s += real_of(reply, "steal_s");
  n->cpu_s += real_of(reply, "cpu_s");
  n->throttled_s += real_of(reply, "throttled_s");
  n->wait_s += real_of(reply, "wait_s");
  n->pressure_cpu_s += real_of(reply, "pressure_cpu_s");
  n->pressure_memory_s += real_of(reply, "pressure_memory_s");
  n->pressure_io_s += real_of(reply, "pressure_io_s");
  double suspended = real_of(reply, "suspended_s"), adjusted = real_of(reply, "clock_adjusted");
  if (isfinite(suspended)) n->suspended_s += suspended;
  if (isfinite(adjusted)) n->clock_gained_s += adjusted * seconds;
  n->canary_lost_s += real_of(reply, "canary_lost") * seconds;
  snprintf(n->unknown, sizeof n->unknown, "%s", hl_json_get_text(reply, "noise_unknown", ""));
}

hl_turn_noise hl_row_noise_of_turn(const json_t *reply) {
  double seconds = real_of(reply, "interval_ns") * 1e-9;
  return (hl_turn_noise){.suspended = real_of(reply, "suspended_s") > 0,
                         .steal_least = real_of(reply, "steal_least"),
                         .throttled_s = real_of(reply, "throttled_s"),
                         .wait_share =
                             seconds > 0 ? real_of(reply, "wait_s") / seconds : (double)NAN,
                         .canary_lost = real_of(reply, "canary_lost"),
                         .major_faults = (uint64_t)hl_json_get_int(reply, "major_faults", 0)};
}

static double per_step(double value, double steps) {
  return steps > 0 ? value / steps : (double)NAN;
}

/* A part of the time, in per cent, at most 100: a counter is read a little later than the clock. */
static double percent_of(double part, double whole) {
  if (!(whole > 0) || isnan(part)) return (double)NAN;
  return fmin(100, 100 * part / whole);
}

/* What the clock did: NTP may steer it by 0.05 %, and a little of that is no matter. */
static const double adjusted_most_percent = 0.1;

static void note_clock(const hl_row_noise *n, hl_record *r) {
  double adjusted = percent_of(fabs(n->clock_gained_s), n->seconds);
  if (n->suspended_s > 0)
    hl_record_note(r, "suspended: the system slept for %.3g s while this was measured",
                   n->suspended_s);
  if (adjusted > adjusted_most_percent)
    hl_record_note(r, "the clock was adjusted: it ran %.2g %% %s while this was measured", adjusted,
                   n->clock_gained_s > 0 ? "fast" : "slow");
}

/* One sentence, as one cause shows in several of them. NaN is beyond no bound. */
static void note_disturbance(hl_record *r) {
  const struct {
    double value, bound;
    const char *what, *unit;
  } parts[] = {{r->steal_percent, 1, "steal", "%"},
               {r->throttled_ms, 0, "throttled", "ms"},
               {r->wait_percent, 1, "waiting for a CPU", "%"},
               {r->pressure_cpu_percent, 5, "CPU pressure", "%"},
               {r->pressure_memory_percent, 1, "memory pressure", "%"},
               {r->canary_lost_percent, 2, "canary", "%"}};
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    if (parts[i].value > parts[i].bound)
      hl_text_format(&text, "%s %s %.3g %s", text.length ? "," : "disturbed:", parts[i].what,
                     parts[i].value, parts[i].unit);
  if (text.length) hl_record_note(r, "%s", text.data);
  hl_text_release(&text);
}

void hl_row_noise_fill(const hl_row_noise *n, double steps, bool simulated, hl_record *r) {
  if (n->slices == 0) return;
  r->minor_faults_per_step = per_step(n->minor_faults, steps);
  r->major_faults_per_step = per_step(n->major_faults, steps);
  r->user_ms_per_step = per_step(n->user_ns / 1e6, steps);
  r->system_ms_per_step = per_step(n->system_ns / 1e6, steps);
  r->voluntary_switches_per_step = per_step(n->voluntary_switches, steps);
  r->involuntary_switches_per_step = per_step(n->involuntary_switches, steps);
  r->steal_percent = percent_of(n->steal_s, n->cpu_s);
  if (simulated) { /* its times are not what the machine did */
    hl_record_set_text(&r->noise_unknown, "simulated clock");
    return;
  }
  r->throttled_ms = n->throttled_s * 1e3;
  r->wait_percent = percent_of(n->wait_s, n->seconds);
  r->pressure_cpu_percent = percent_of(n->pressure_cpu_s, n->seconds);
  r->pressure_memory_percent = percent_of(n->pressure_memory_s, n->seconds);
  r->pressure_io_percent = percent_of(n->pressure_io_s, n->seconds);
  r->canary_lost_percent = percent_of(n->canary_lost_s, n->seconds);
  if (n->unknown[0]) hl_record_set_text(&r->noise_unknown, n->unknown);
  note_clock(n, r);
  note_disturbance(r);
}
