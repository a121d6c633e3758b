#include "run/row.h"

#include "base/clock.h"
#include "method/budget.h"
#include "method/stopping.h"
#include "method/summary.h"
#include "method/warmup.h"
#include "run/device.h"
#include "run/session.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps shorter than this many clock reads are timed in groups. */
enum { reads_per_step = 100 };

/* Everything that one row collects. */
typedef struct row {
  const hl_row_context *context;
  hl_session session;
  hl_record *record;
  uint64_t *samples; /* all measured samples, partial batches included */
  uint64_t *full;    /* those of full batches */
  size_t count, capacity, full_count;
  uint32_t group;
  int nan_output; /* output of the reference that holds NaN, -1: none is known to */
  uint64_t steps;
  /* sums over the measured slices */
  double minor, major, user_ns, system_ns, steal_s, cpu_s;
  hl_device_totals device;
} row;

static void phase(const hl_row_context *context, const char *text) {
  if (context->view->phase) context->view->phase(context->view->context, text);
}

static void identify(const hl_configuration *c, const hl_row_context *context, hl_record *r) {
  const char *framework = strcmp(c->engine, "torch") == 0 ? "pytorch" : c->engine;
  hl_record_set_text(&r->workload, "inference");
  hl_record_set_text(&r->engine, c->engine);
  hl_record_set_text(&r->framework, framework);
  hl_record_set_text(&r->model, c->model);
  hl_record_set_text(&r->dtype, c->dtype);
  hl_record_set_text(&r->provider, c->provider);
  bool cpu = strcmp(c->device, "cpu") == 0;
  hl_record_set_text(&r->device, cpu && context->info->cpu ? context->info->cpu : c->device);
  char type[32];
  snprintf(type, sizeof type, "%.*s", (int)strcspn(c->device, ":"), c->device);
  hl_record_set_text(&r->device_type, type);
  hl_record_set_text(&r->device_id, c->device);
  if (c->device_note) hl_record_note(r, "%s", c->device_note);
  hl_record_set_text(&r->git_commit, context->environment->git_commit);
  r->batch_size = c->batch_size;
  r->threads = c->threads;
  if (c->threads > context->info->cores && context->info->cores > 0)
    hl_record_note(r, "more threads (%" PRId64 ") than cores that may be used (%" PRId64 ")",
                   c->threads, context->info->cores);
  r->seed = c->seed;
  char *command = hl_configuration_reproduce(c, context->method);
  hl_record_set_text(&r->reproduce, command);
  free(command);
}

static uint32_t choose_group(double step_ns, double read_ns) {
  double least = reads_per_step * read_ns;
  if (!(step_ns > 0) || step_ns >= least) return 1;
  double group = ceil(least / step_ns);
  uint32_t whole = group > 100000 ? 100000 : (uint32_t)group;
  return whole ? whole : 1; /* ceil gives 1 at least, which the analyzer cannot know */
}

/* The full-batch durations of a slice, per step group, appended to `full`. */
static size_t full_samples(const row *r, const hl_session_samples *s, uint64_t *ret_full) {
  uint64_t full_images = (uint64_t)r->session.configuration->batch_size * r->group;
  size_t n = 0;
  for (size_t i = 0; i < s->count; i++)
    if (s->images[i] == full_images) ret_full[n++] = s->ns[i];
  return n;
}

static hl_slice make_slice(const row *r, const hl_session_samples *s, const uint64_t *full,
                           size_t full_count) {
  const json_t *reply = s->message.object;
  return (hl_slice){.samples_ns = full,
                    .sample_count = full_count,
                    .steps_per_sample = r->group,
                    .steps = s->count * r->group,
                    .elapsed_ns = s->elapsed_ns,
                    .minor_faults = (uint64_t)hl_json_get_int(reply, "minor_faults", 0),
                    .major_faults = (uint64_t)hl_json_get_int(reply, "major_faults", 0)};
}

/* Outputs that belong to no single image are not compared, and not in silence. */
static void note_left_out(hl_record *record, const size_t *counts, size_t count) {
  size_t left_out = 0;
  for (size_t i = 0; i < count; i++) left_out += counts[i] == 0;
  if (left_out && left_out < count)
    hl_record_note(record, "%zu of %zu outputs belong to no single image and were not compared",
                   left_out, count);
}

/* UNAVAILABLE, with the reason, where nothing can be compared: that the reference cannot be had
 * says nothing about the engine. */
static hl_status compare_outputs(row *r, const hl_message *reply, hl_error *error) {
  const hl_row_context *context = r->context;
  size_t counts[HL_REFERENCE_OUTPUTS], count = 0;
  const hl_reference *reference = NULL;
  hl_error failure = {0};
  hl_status status = hl_reference_counts(reply, counts, &count, error);
  if (status != HL_OK) return status;
  status =
      hl_reference_find(context->references, r->session.reference_key, r->session.configuration,
                        r->session.fixed_batch ? r->session.fixed_batch : 1, context->environment,
                        context->view, &reference, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status != HL_OK)
    return hl_error_set(error, HL_UNAVAILABLE, "reference evaluator: %s", failure.msg);
  note_left_out(r->record, counts, count);
  r->nan_output = hl_reference_nan(reference);
  hl_agreement agreement;
  status = hl_reference_compare(reference, (const float *)(const void *)reply->bytes, counts, count,
                                &agreement, error);
  if (status != HL_OK) return status;
  r->record->output_error = agreement.error;
  r->record->output_cosine = agreement.cosine;
  if (r->session.classifier) r->record->output_top1 = agreement.top1;
  return HL_OK;
}

static hl_status check_outputs(row *r, hl_error *error) {
  if (!r->context->method->check) {
    hl_record_set_text(&r->record->output_check, "not checked: --no-check");
    return HL_OK;
  }
  hl_message reply;
  hl_status status = hl_process_call(&r->session.process, "output", NULL, r->session.step_timeout_s,
                                     &reply, error);
  if (status == HL_UNIMPLEMENTED) {
    hl_record_set_text(&r->record->output_check, "not checked: the engine gives no outputs");
    return HL_OK;
  }
  if (status != HL_OK) return status;
  hl_error failure = {0};
  status = compare_outputs(r, &reply, &failure);
  hl_message_release(&reply);
  if (status == HL_INTERRUPTED) return status;
  if (status == HL_UNAVAILABLE) {
    HL_CLEANUP(hl_free_pointer) char *why = hl_format("not checked: %s", failure.msg);
    hl_record_set_text(&r->record->output_check, why);
    return HL_OK;
  }
  if (status != HL_OK) return hl_error_set(error, HL_INTERNAL, "output check: %s", failure.msg);
  hl_record_set_text(&r->record->output_check, "reference evaluator, first image");
  return HL_OK;
}

static void mistrust(hl_record *record, const char *why) {
  hl_record_set_text(&record->outcome, hl_outcome_name(HL_MISTRUSTED));
  hl_record_set_text(&record->reason, why);
}

/* Rounding to 8 bits may move a single element far, but not the direction of the whole. */
static void judge_int8(hl_record *record) {
  if (isnan(record->output_error) || record->output_cosine >= HL_REFERENCE_COSINE) return;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("the cosine of an output and the float32 reference is %.4f; %.2f is asked "
                        "for int8",
                        record->output_cosine, HL_REFERENCE_COSINE);
  mistrust(record, why);
}

/* NaN equals NaN, so that a network of them would pass; it is faster than one of numbers, too. */
static bool judge_nan(const row *r) {
  if (r->session.not_a_number[0]) {
    mistrust(r->record, r->session.not_a_number);
    return true;
  }
  if (r->nan_output < 0) return false;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("output %d is NaN, by the reference evaluator too: look at the weights and "
                        "at the data",
                        r->nan_output);
  mistrust(r->record, why);
  return true;
}

/* MISTRUSTED if the outputs differ too much, or are no numbers. */
static void judge_outputs(const row *r) {
  hl_record *record = r->record;
  if (judge_nan(r)) return;
  if (strcmp(record->dtype, "int8") == 0) judge_int8(record);
  double tolerance = hl_reference_tolerance(record->dtype);
  if (!(record->output_error > tolerance)) return;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("outputs differ from the reference by %.2g of the largest value; %.0e is "
                        "allowed for %s",
                        record->output_error, tolerance, record->dtype);
  mistrust(record, why);
}

static uint64_t steps_per_pass(const row *r) {
  if (r->session.wraps || r->session.n_images < 1) return 1;
  int64_t batch = r->session.configuration->batch_size;
  return (uint64_t)((r->session.n_images + batch - 1) / batch);
}

/* One request of warming up; the first is a single step, the first call. */
static hl_status add_to_warmup(const row *r, hl_warmup *w, const hl_session_samples *s,
                               hl_error *error) {
  HL_CLEANUP(hl_free_pointer) uint64_t *full = malloc(s->count * sizeof *full);
  if (!full) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  hl_slice slice = make_slice(r, s, full, full_samples(r, s, full));
  return hl_warmup_add(w, &slice, error);
}

/* The first step of all: apart from warming up, and part of it unless no warm-up was asked for. */
static hl_status first_call(row *r, hl_warmup *w, hl_error *error) {
  const hl_run_environment *environment = r->context->environment;
  hl_run_info *info = r->context->info;
  hl_session_samples s;
  hl_slice_request request;
  hl_status status = hl_session_run(&r->session, 1, 1, 1, true, &s, error);
  if (status != HL_OK) return status;
  r->record->first_call_ms = (double)s.elapsed_ns / 1e6;
  if (environment->start_ns && isnan(info->first_step_ms))
    info->first_step_ms = (double)(hl_clock_ns() - environment->start_ns) / 1e6;
  if (hl_warmup_next(w, &request)) status = add_to_warmup(r, w, &s, error);
  hl_session_samples_release(&s);
  return status;
}

static hl_status warm_once(row *r, hl_warmup *w, const hl_slice_request *request, hl_error *error) {
  bool fixed = w->options.fixed_steps > 0;
  r->group = choose_group(w->step_ns, r->session.clock_read_ns);
  if (fixed && request->steps > 0 && r->group > request->steps) r->group = (uint32_t)request->steps;
  uint64_t samples = (request->steps + (fixed ? 0 : r->group - 1)) / r->group;
  hl_session_samples s;
  hl_status status =
      hl_session_run(&r->session, samples, request->max_ns, r->group, false, &s, error);
  if (status != HL_OK) return status;
  status = add_to_warmup(r, w, &s, error);
  hl_session_samples_release(&s);
  return status;
}

static hl_status warm_up(row *r, hl_warmup *w, hl_error *error) {
  const hl_method_options *m = r->context->method;
  int64_t fixed = m->warmup_iterations;
  if (m->warmup_runs) fixed = m->warmup_runs * (int64_t)steps_per_pass(r);
  hl_warmup_init(w,
                 &(hl_warmup_options){.fixed_steps = fixed, .row_ns = hl_budget_ns(m->max_time_s)});
  hl_status status = first_call(r, w, error);
  if (status == HL_OK) {
    phase(r->context, "checking outputs");
    status = check_outputs(r, error);
    phase(r->context, "warming up");
  }
  hl_slice_request request;
  while (status == HL_OK && hl_warmup_next(w, &request)) status = warm_once(r, w, &request, error);
  r->record->warmup_iterations = (int64_t)w->steps;
  r->record->warmup_ms = (double)w->elapsed_ns / 1e6;
  r->record->steady = hl_warmup_steady(w);
  char why[200];
  hl_warmup_explain(w, why, sizeof why);
  if (why[0]) hl_record_note(r->record, "%s", why);
  return status;
}

static hl_status reserve(row *r, size_t more, hl_error *error) {
  if (r->count + more <= r->capacity) return HL_OK;
  size_t capacity = r->capacity ? r->capacity : 1024;
  while (capacity < r->count + more) capacity *= 2;
  uint64_t *samples = realloc(r->samples, capacity * sizeof *samples);
  if (samples) r->samples = samples;
  uint64_t *full = realloc(r->full, capacity * sizeof *full);
  if (full) r->full = full;
  if (!samples || !full) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  r->capacity = capacity;
  return HL_OK;
}

static void add_counters(row *r, const json_t *reply) {
  r->minor += hl_json_get_real(reply, "minor_faults", 0);
  r->major += hl_json_get_real(reply, "major_faults", 0);
  r->user_ns += hl_json_get_real(reply, "user_ns", 0);
  r->system_ns += hl_json_get_real(reply, "system_ns", 0);
  r->steal_s += hl_json_get_real(reply, "steal_s", (double)NAN);
  r->cpu_s += hl_json_get_real(reply, "cpu_s", (double)NAN);
  hl_device_totals_add(&r->device, reply);
}

static hl_status measure_once(row *r, hl_stopping *stopping, const hl_slice_request *request,
                              hl_error *error) {
  hl_session_samples s;
  uint64_t group = r->group ? r->group : 1; /* measuring_group gives 1 at least */
  uint64_t samples = (request->steps + group - 1) / group;
  hl_status status =
      hl_session_run(&r->session, samples, request->max_ns, r->group, r->count == 0, &s, error);
  if (status != HL_OK) return status;
  status = reserve(r, s.count, error);
  if (status == HL_OK) {
    memcpy(r->samples + r->count, s.ns, s.count * sizeof *s.ns);
    r->count += s.count;
    size_t full = full_samples(r, &s, r->full + r->full_count);
    hl_slice slice = make_slice(r, &s, r->full + r->full_count, full);
    r->full_count += full;
    r->steps += slice.steps;
    add_counters(r, s.message.object);
    status = hl_stopping_add(stopping, &slice, r->full, r->full_count, error);
  }
  hl_session_samples_release(&s);
  return status;
}

/* The next larger group of which a whole number makes `steps`, within reason. */
static uint32_t fitting_group(uint32_t group, uint64_t steps) {
  if (steps <= group) return (uint32_t)steps;
  for (uint32_t g = group; g <= 4 * group && g <= steps; g++)
    if (steps % g == 0) return g;
  return group;
}

static uint32_t measuring_group(row *r, const hl_warmup *w) {
  const hl_method_options *m = r->context->method;
  if (m->num_runs) return 1; /* passes end with their last, perhaps partial, batch */
  uint32_t group = choose_group(w->step_ns, r->session.clock_read_ns);
  if (group == 1 || m->iterations == 0) return group;
  group = fitting_group(group, (uint64_t)m->iterations);
  if (m->iterations % group)
    hl_record_note(r->record, "the steps are rounded up to whole groups of %" PRIu32, group);
  return group;
}

static hl_status measure(row *r, const hl_warmup *w, hl_error *error) {
  const hl_method_options *m = r->context->method;
  uint64_t row_ns = hl_budget_ns(m->max_time_s);
  r->group = measuring_group(r, w);
  if (r->group == 0) return hl_error_set(error, HL_INTERNAL, "a group of no steps");
  hl_stopping stopping;
  hl_stopping_init(&stopping,
                   &(hl_stopping_options){.fixed_steps = (uint64_t)m->iterations,
                                          .fixed_passes = (uint64_t)m->num_runs,
                                          .steps_per_pass = r->group > 1 ? 1 : steps_per_pass(r),
                                          .max_ns = hl_budget_measure_ns(row_ns, w->elapsed_ns),
                                          .min_ns = hl_budget_ns(m->min_time_s),
                                          .budget_binds_fixed = m->max_time_given,
                                          .step_ns = w->step_ns,
                                          .steps_per_sample = r->group});
  phase(r->context, "measuring");
  hl_status status = HL_OK;
  hl_slice_request request;
  while (status == HL_OK && hl_stopping_next(&stopping, &request))
    status = measure_once(r, &stopping, &request, error);
  hl_record_set_text(&r->record->stop, hl_stopping_reason_name(stopping.reason));
  return status;
}

static hl_status summarise(row *r, hl_error *error) {
  hl_record *record = r->record;
  hl_step_rule rule =
      hl_step_rule_make(r->session.n_images, record->batch_size, r->session.wraps || r->group > 1);
  rule.steps_per_sample = r->group;
  /* Of models whose inputs are one pattern each, patterns are not worth a number of their own. */
  if (r->session.patterns_per_image > 1)
    rule.patterns_per_image = (double)r->session.patterns_per_image;
  hl_session_memory memory;
  hl_status status = hl_session_peak(&r->session, &memory, error);
  if (status != HL_OK) return status;
  record->memory_mb = memory.above_base_mb;
  record->engine_memory_mb = memory.engine_mb;
  hl_device_memory_fill(&memory.device, record);
  double steps = (double)r->steps;
  record->minor_faults_per_step = r->minor / steps;
  record->major_faults_per_step = r->major / steps;
  record->user_ms_per_step = r->user_ns / 1e6 / steps;
  record->system_ms_per_step = r->system_ns / 1e6 / steps;
  if (r->cpu_s > 0) record->steal_percent = 100 * r->steal_s / r->cpu_s;
  if (r->group > 1)
    hl_record_note(record,
                   "a step is too short for the clock: %" PRIu32 " steps a sample, full "
                   "batches only",
                   r->group);
  status = hl_row_summarise(record, r->samples, r->count, &rule, HL_PERCENTILE_LINEAR, error);
  if (status != HL_OK) return status;
  hl_device_fill(&r->device, record);
  return hl_session_device_time(&r->session, record, error);
}

static hl_status run_row(row *r, hl_error *error) {
  const hl_row_context *context = r->context;
  hl_warmup warmup;
  hl_session_memory memory = {0};
  phase(context, "loading");
  hl_status status = hl_session_load(&r->session, context, r->record, error);
  if (status == HL_OK) status = hl_session_peak(&r->session, &memory, error);
  if (status == HL_OK) {
    r->record->memory_load_mb = memory.above_base_mb;
    phase(context, "preparing");
    status = hl_session_prepare(&r->session, r->record, error);
  }
  if (status == HL_OK) status = hl_session_peak(&r->session, &memory, error);
  if (status == HL_OK) r->record->memory_prepare_mb = memory.above_base_mb;
  if (status == HL_OK) status = warm_up(r, &warmup, error);
  if (status == HL_OK) status = measure(r, &warmup, error);
  return status == HL_OK ? summarise(r, error) : status;
}

static bool is_bad_input(hl_status status) {
  return status == HL_NOT_FOUND || status == HL_BAD_DATA || status == HL_LIMIT ||
         status == HL_INVALID_ARGUMENT;
}

hl_status hl_row_measure(const hl_row_context *context, const hl_configuration *configuration,
                         hl_record *record, hl_error *error) {
  row r = {.context = context, .record = record, .group = 1, .nan_output = -1};
  hl_device_totals_init(&r.device);
  hl_error failure = {0};
  identify(configuration, context, record);
  hl_status status = hl_session_open(context, configuration, &r.session, record, &failure);
  bool bad_input = context->bad_input_ends && is_bad_input(status);
  if (status == HL_OK) status = run_row(&r, &failure);
  HL_CLEANUP(hl_free_pointer) char *whole = hl_process_take_whole(&r.session.process, &failure);
  status = hl_session_close(&r.session, status, &failure);
  if (isfinite(record->overhead_ns)) context->info->overhead_ns = record->overhead_ns;
  free(r.samples);
  free(r.full);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (bad_input) return hl_error_set(error, status, "%s", failure.msg);
  hl_record_set_text(&record->outcome, hl_outcome_name(hl_outcome_from_status(status)));
  if (status != HL_OK) hl_record_set_text(&record->reason, whole ? whole : failure.msg);
  if (status == HL_OK) judge_outputs(&r);
  char now[32];
  hl_clock_utc(now, sizeof now);
  hl_record_set_text(&record->timestamp, now);
  return HL_OK;
}

hl_status hl_row_probe(const hl_row_context *context, const hl_configuration *configuration,
                       uint64_t *ret_peak_bytes, hl_error *error) {
  /* A large batch may take long where rows are short. */
  static const double probe_budget_s = 300;
  /* What a probe is for is to see the size run: the plan's word does not count. */
  hl_method_options method = *context->method;
  method.predict = false;
  if (method.max_time_s < probe_budget_s) method.max_time_s = probe_budget_s;
  hl_row_context probe = *context;
  probe.method = &method;
  hl_session session;
  hl_session_samples samples = {0};
  hl_status status = hl_session_open(&probe, configuration, &session, NULL, error);
  if (status == HL_OK) status = hl_session_load(&session, &probe, NULL, error);
  if (status == HL_OK) status = hl_session_prepare(&session, NULL, error);
  if (status == HL_OK) status = hl_session_run(&session, 1, 1, 1, true, &samples, error);
  hl_session_samples_release(&samples);
  hl_session_memory memory = {0};
  if (status == HL_OK) status = hl_session_peak(&session, &memory, error);
  *ret_peak_bytes = memory.peak_bytes;
  return hl_session_close(&session, status, error);
}
