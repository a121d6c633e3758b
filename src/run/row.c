#include "run/row.h"
#include "run/fit.h"
#include "run/image.h"
#include "run/load.h"
#include "run/memory.h"
#include "run/train.h"

#include "base/clock.h"
#include "method/budget.h"
#include "run/outputs.h"
#include "run/row-internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl__row_phase(const hl_row_context *context, const char *text) {
  if (context->view->phase) context->view->phase(context->view->context, text);
}

static void identify(const hl_configuration *c, const hl_row_context *context, hl_record *r) {
  const char *framework = strcmp(c->engine, "torch") == 0 ? "pytorch" : c->engine;
  if (c->memory) hl_record_set_text(&r->mode, c->train ? "training" : "inference");
  hl_record_set_text(&r->workload, c->memory        ? HL_WORKLOAD_MEMORY
                                   : c->train       ? HL_WORKLOAD_TRAINING
                                   : c->load        ? HL_WORKLOAD_LOAD
                                   : c->pipeline    ? HL_WORKLOAD_PIPELINE
                                   : c->progressive ? HL_WORKLOAD_PROGRESSIVE
                                                    : HL_WORKLOAD_INFERENCE);
  hl_pipeline_identify(c, r);
  hl_progressive_identify(c, r);
  hl_record_set_text(&r->entry, c->entry);
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

void hl_row_init(hl_row *row, const hl_row_context *context, const hl_configuration *configuration,
                 hl_record *record) {
  *row = (hl_row){.context = context,
                  .configuration = configuration,
                  .record = record,
                  .group = 1,
                  .nan_output = -1,
                  .nan_output_own = -1};
  hl_device_totals_init(&row->device);
  hl_counter_totals_init(&row->counters);
  identify(configuration, context, record);
}

uint64_t hl__row_steps_per_pass(const hl_row *r) {
  if (r->session.wraps || r->session.n_images < 1 || r->configuration->pipeline ||
      r->configuration->progressive)
    return 1;
  int64_t batch = r->session.configuration->batch_size;
  return (uint64_t)((r->session.n_images + batch - 1) / batch);
}

/* One request of warming up; the first is a single step, the first call. */
static hl_status add_to_warmup(hl_row *r, const hl_session_samples *s, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) uint64_t *full = malloc(s->count * sizeof *full);
  if (!full) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  hl_slice slice = hl__row_slice(r, s, full, hl__row_full_samples(r, s, full));
  return hl_warmup_add(&r->warmup, &slice, error);
}

/* The first step of all: apart from warming up, and part of it unless no warm-up was asked for. Of
 * progressive imaging a sample, which goes through everything: a pass may take a minute. */
static hl_status first_call(hl_row *r, hl_error *error) {
  const hl_run_environment *environment = r->context->environment;
  hl_run_info *info = r->context->info;
  const hl_session_request one = {.max_samples = 1,
                                  .max_ns = 1,
                                  .group = 1,
                                  .restart = true,
                                  .part = r->configuration->progressive != NULL};
  hl_session_samples s;
  hl_slice_request request;
  hl_status status = hl_session_run(&r->session, &one, &s, error);
  if (status != HL_OK) return status;
  r->record->first_call_ms = (double)s.elapsed_ns / 1e6;
  if (environment->start_ns && isnan(info->first_step_ms))
    info->first_step_ms = (double)(hl_clock_ns() - environment->start_ns) / 1e6;
  if (!one.part && hl_warmup_next(&r->warmup, &request)) status = add_to_warmup(r, &s, error);
  hl_session_samples_release(&s);
  return status;
}

static hl_status warm_once(hl_row *r, const hl_slice_request *request, hl_error *error) {
  const hl_warmup *w = &r->warmup;
  bool fixed = w->options.fixed_steps > 0;
  r->group = hl__row_choose_group(w->step_ns, r->session.clock_grain_ns);
  if (fixed && request->steps > 0 && r->group > request->steps) r->group = (uint32_t)request->steps;
  uint64_t samples = (request->steps + (fixed ? 0 : r->group - 1)) / r->group;
  hl_session_samples s;
  const hl_session_request asked = {
      .max_samples = samples, .max_ns = request->max_ns, .group = r->group};
  hl_status status = hl_session_run(&r->session, &asked, &s, error);
  if (status != HL_OK) return status;
  status = add_to_warmup(r, &s, error);
  hl_session_samples_release(&s);
  return status;
}

bool hl__row_is_bad_input(hl_status status) {
  return status == HL_NOT_FOUND || status == HL_BAD_DATA || status == HL_LIMIT ||
         status == HL_INVALID_ARGUMENT;
}

hl_status hl__row_load(hl_row *r, hl_error *error) {
  hl_session_memory memory = {0};
  hl__row_phase(r->context, "loading");
  hl_status status = hl_session_load(&r->session, r->context, r->record, error);
  if (status == HL_OK) status = hl_session_peak(&r->session, &memory, error);
  if (status != HL_OK) return status;
  r->record->memory_load_mb = memory.above_base_mb;
  hl__row_phase(r->context, "preparing");
  status = hl_session_prepare(&r->session, r->record, error);
  if (status == HL_OK) status = hl_session_peak(&r->session, &memory, error);
  if (status == HL_OK) r->record->memory_prepare_mb = memory.above_base_mb;
  return status;
}

/* To the end of the first call. */
static hl_status begin(hl_row *r, hl_error *error) {
  hl_status status = hl_session_open(r->context, r->configuration, &r->session, r->record, error);
  r->bad_input = hl__row_is_bad_input(status);
  if (status == HL_OK) status = hl__row_load(r, error);
  if (status != HL_OK) return status;
  const hl_method_options *m = r->context->method;
  int64_t fixed = m->warmup_iterations;
  if (m->warmup_runs) fixed = m->warmup_runs * (int64_t)hl__row_steps_per_pass(r);
  hl_warmup_init(&r->warmup, &(hl_warmup_options){.fixed_steps = fixed,
                                                  .row_ns = hl_budget_ns(m->max_time_s),
                                                  .budget_binds_fixed = m->max_time_given});
  return first_call(r, error);
}

/* The same row again with the batches that may fit. */
static void begin_again(hl_row *r) {
  hl_fit *fit = r->fit;
  hl_record *record = r->record;
  hl_record_release(record);
  hl_row_init(r, fit->context, &fit->configuration, record);
  r->fit = fit;
}

/* Under a limit of memory: with smaller batches until the scan goes through. */
static hl_status begin_fitting(hl_row *r, hl_error *error) {
  r->fit = malloc(sizeof *r->fit);
  if (!r->fit) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  hl_fit_begin(r->fit, r->context, r->configuration);
  hl__row_phase(r->context, "planning");
  hl_status status = hl_fit_plan(r->fit, error);
  r->bad_input = hl__row_is_bad_input(status);
  while (status == HL_OK) {
    hl_session_memory memory;
    hl_error failure = {0};
    begin_again(r);
    status = begin(r, &failure);
    if (status == HL_OK) status = hl_session_peak(&r->session, &memory, &failure);
    if (status == HL_OK) break;
    status = hl_session_close(&r->session, status, &failure);
    if (status != HL_OUT_OF_MEMORY) return hl_error_set(error, status, "%s", failure.msg);
    status = hl_fit_smaller(r->fit, error);
  }
  if (status != HL_OK || !hl_fit_is_cut(r->fit)) return status;
  const hl_configuration *asked = r->fit->asked;
  hl_record_note(r->record,
                 "batches cut to keep to %" PRId64 " MB: asked for were %" PRId64 ", %" PRId64
                 " and %" PRId64 " (preprocess, predict, reassemble)",
                 r->context->method->memory_limit_mb, asked->pipeline->preprocess_batch,
                 asked->batch_size, asked->pipeline->reassemble_batch);
  return HL_OK;
}

hl_status hl_row_open(hl_row *r, hl_error *error) {
  hl_status status =
      hl_fit_applies(r->context, r->configuration) ? begin_fitting(r, error) : begin(r, error);
  if (status != HL_OK) return status;
  hl__row_phase(r->context, "checking outputs");
  return hl_row_check_outputs(r, error);
}

hl_status hl_row_warm_up(hl_row *r, hl_error *error) {
  const hl_warmup *w = &r->warmup;
  hl_slice_request request;
  hl_status status = HL_OK;
  hl__row_phase(r->context, "warming up");
  while (status == HL_OK && hl_warmup_next(&r->warmup, &request))
    status = warm_once(r, &request, error);
  r->record->warmup_iterations = (int64_t)w->steps;
  r->record->warmup_ms = (double)w->elapsed_ns / 1e6;
  r->record->steady = hl_warmup_steady(w);
  char why[200];
  hl_warmup_explain(w, why, sizeof why);
  if (why[0]) hl_record_note(r->record, "%s", why);
  return status == HL_OK ? hl__row_begin_measuring(r, error) : status;
}

static void set_outcome(hl_row *r, hl_status status, const char *reason) {
  hl_record *record = r->record;
  hl_record_set_text(&record->outcome, hl_outcome_name(hl_outcome_from_status(status)));
  if (status != HL_OK) hl_record_set_text(&record->reason, reason);
  if (status == HL_OK) hl_row_judge_outputs(r);
  if (status == HL_OK) hl_row_judge_image(record);
  if (status == HL_OK) hl_row_judge_pictures(record);
  char now[32];
  hl_clock_utc(now, sizeof now);
  hl_record_set_text(&record->timestamp, now);
}

hl_status hl_row_close(hl_row *r, hl_status status, hl_error *failure, hl_error *error) {
  const hl_row_context *context = r->context;
  HL_CLEANUP(hl_free_pointer) char *whole = hl_process_take_whole(&r->session.process, failure);
  status = hl_session_close(&r->session, status, failure);
  if (isfinite(r->record->overhead_ns)) context->info->overhead_ns = r->record->overhead_ns;
  free(r->samples);
  free(r->images);
  free(r->full);
  r->samples = r->images = r->full = NULL;
  free(r->fit); /* which `configuration` may lie in */
  r->fit = NULL;
  r->configuration = NULL;
  if (context->method->metric_plugin_count) hl_row_keep_outputs(r);
  hl_reference_release(&r->outputs);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (context->bad_input_ends && r->bad_input)
    return hl_error_set(error, status, "%s", failure->msg);
  set_outcome(r, status, whole ? whole : failure->msg);
  return HL_OK;
}

static hl_status measure_steps(hl_row *row, hl_error *error) {
  hl_status status = hl_row_warm_up(row, error);
  if (status == HL_OK) status = hl_row_run_all(row, error);
  return status == HL_OK ? hl_row_summary(row, error) : status;
}

/* A load test warms up by itself. */
static hl_status serve(hl_row *row, hl_error *error) {
  hl_status status = hl_load_measure(row->context, &row->session, row->record, error);
  return status == HL_OK ? hl_session_fill_peak(&row->session, row->record, error) : status;
}

/* Of an interrupted run what there was is a row, too: its checkpoint is there to go on from. */
static hl_status train(hl_row *row, hl_error *failure, hl_error *error) {
  hl_status status = hl_row_train(row, failure);
  bool salvaged = status == HL_INTERRUPTED && row->record->stop;
  hl_status closed = hl_row_close(row, status, failure, error);
  if (salvaged) set_outcome(row, HL_OK, NULL);
  return closed;
}

hl_status hl_row_measure(const hl_row_context *context, const hl_configuration *configuration,
                         hl_record *record, hl_error *error) {
  hl_row row;
  hl_error failure = {0};
  hl_row_init(&row, context, configuration, record);
  if (configuration->memory)
    return hl_row_close(&row, hl_row_memory(&row, &failure), &failure, error);
  if (configuration->train) return train(&row, &failure, error);
  hl_status status = hl_row_open(&row, &failure);
  if (status == HL_OK && configuration->load)
    status = serve(&row, &failure);
  else if (status == HL_OK)
    status = measure_steps(&row, &failure);
  return hl_row_close(&row, status, &failure, error);
}

hl_status hl_row_plan(const hl_row_context *context, const hl_configuration *configuration,
                      double *ret_bytes, hl_error *error) {
  hl_method_options method = *context->method;
  method.predict = false; /* what does not fit is an answer, too */
  hl_row_context asked = *context;
  asked.method = &method;
  hl_session session;
  hl_status status = hl_session_open(&asked, configuration, &session, NULL, error);
  if (status == HL_OK) status = hl_session_load(&session, &asked, NULL, error);
  double planned = session.planned_bytes;
  if (status == HL_OK) *ret_bytes = planned > 0 ? planned + (double)session.baseline_bytes : 0;
  return hl_session_close(&session, status, error);
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
  const hl_session_request one = {.max_samples = 1, .max_ns = 1, .group = 1, .restart = true};
  hl_session session;
  hl_session_samples samples = {0};
  hl_message trained = {0};
  hl_status status = hl_session_open(&probe, configuration, &session, NULL, error);
  if (status == HL_OK) status = hl_session_load(&session, &probe, NULL, error);
  if (status == HL_OK) status = hl_session_prepare(&session, NULL, error);
  if (status == HL_OK && configuration->train)
    status = hl_process_call(&session.process, "train", json_pack("{s:i}", "max_steps", 1),
                             session.step_timeout_s, &trained, error);
  else if (status == HL_OK)
    status = hl_session_run(&session, &one, &samples, error);
  hl_session_samples_release(&samples);
  hl_message_release(&trained);
  hl_session_memory memory = {0};
  if (status == HL_OK) status = hl_session_peak(&session, &memory, error);
  *ret_peak_bytes = memory.peak_bytes;
  return hl_session_close(&session, status, error);
}
