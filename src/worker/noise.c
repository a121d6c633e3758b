#include "worker/noise.h"

#include "protocol/channel.h"

void hl_worker_noise_init(hl_worker_noise *noise) {
  *noise = (hl_worker_noise){0};
  hl_counter_source_init(&noise->source, NULL);
}

void hl_worker_noise_prepare(hl_worker_noise *noise) {
  if (!noise->has_canary) hl_canary_init(&noise->canary);
  noise->has_canary = true;
  hl_canary_sing(&noise->canary, 0);
}

void hl_worker_noise_begin(hl_worker_noise *noise) {
  hl_counters_read(&noise->source, &noise->before);
  hl_clock_moment_read(&noise->clock_before);
}

static void set_counters(const hl_counters *slice, json_t *reply) {
  hl_json_set_int(reply, "interval_ns", slice->time_ns);
  hl_json_set_int(reply, "minor_faults", slice->minor_faults);
  hl_json_set_int(reply, "major_faults", slice->major_faults);
  hl_json_set_int(reply, "user_ns", slice->user_ns);
  hl_json_set_int(reply, "system_ns", slice->system_ns);
  hl_json_set_int(reply, "voluntary_switches", slice->voluntary_switches);
  hl_json_set_int(reply, "involuntary_switches", slice->involuntary_switches);
  hl_json_set_real(reply, "steal_s", slice->steal_s);
  hl_json_set_real(reply, "cpu_s", slice->cpu_s);
  hl_json_set_real(reply, "steal_least", hl_counters_steal_least(slice));
  hl_json_set_real(reply, "throttled_s", slice->throttled_s);
  hl_json_set_real(reply, "wait_s", slice->wait_s);
  hl_json_set_real(reply, "pressure_cpu_s", slice->pressure_s[HL_PRESSURE_CPU]);
  hl_json_set_real(reply, "pressure_memory_s", slice->pressure_s[HL_PRESSURE_MEMORY]);
  hl_json_set_real(reply, "pressure_io_s", slice->pressure_s[HL_PRESSURE_IO]);
}

void hl_worker_noise_end(hl_worker_noise *noise) {
  hl_clock_moment_read(&noise->clock_after);
  hl_counters_read(&noise->source, &noise->after);
}

hl_status hl_worker_noise_clock(const hl_worker_noise *noise, const uint64_t *samples_ns,
                                size_t count, json_t *reply, hl_error *error) {
  hl_clock_course course;
  hl_status status =
      hl_clock_check(&noise->clock_before, &noise->clock_after, samples_ns, count, &course, error);
  if (status != HL_OK) return status;
  hl_json_set_real(reply, "clock_adjusted", course.adjusted_share);
  hl_json_set_real(reply, "suspended_s", course.suspended_s);
  return HL_OK;
}

void hl_worker_noise_report(hl_worker_noise *noise, uint64_t elapsed_ns, json_t *reply) {
  hl_counters slice;
  char unknown[256];
  hl_canary_sing(&noise->canary, elapsed_ns);
  hl_counters_difference(&noise->before, &noise->after, &slice);
  hl_counters_unknown(&noise->after, unknown, sizeof unknown);
  set_counters(&slice, reply);
  hl_json_set_real(reply, "canary_lost", hl_canary_lost(&noise->canary));
  hl_json_set_text(reply, "noise_unknown", unknown[0] ? unknown : NULL);
}
