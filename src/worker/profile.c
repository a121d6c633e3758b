#include "worker/profile.h"

#include "base/clock.h"
#include "base/text.h"
#include "protocol/channel.h"
#include "record/profile-log.h"
#include "workloads/layer-costs.h"
#include "workloads/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_steps = 100000 };

/* What stands between the workload and its engine. The hooks of an engine have no context. */
static struct {
  hl_engine_ops real;
  hl_profile_log *log;
  int32_t step;
  bool has_spans;
  /* For an engine that tells layers and not what they do; NULL: not known. */
  hl_layer_costs *costs;
  hl_request *request;     /* of the last step; it lives as long as the workload's program */
  uint64_t *step_start_ns; /* of the steps so far, for spans that come later */
  size_t step_count;
  bool late; /* spans of `spans_end` came */
  /* Of a training step: the run of operators of one phase, which becomes a span. */
  int32_t phase;
  uint64_t phase_start_ns, phase_end_ns;
  /* The last submit of an engine that tells nothing. */
  uint64_t submitted_ns;
} tap;

static const char *phase_name(int32_t phase) {
  static const char *const names[HL_PHASE_COUNT] = {"forward", "loss", "backward", "optimizer"};
  return phase >= 0 && phase < HL_PHASE_COUNT ? names[phase] : "";
}

static void note_span(const char *name, uint64_t start_ns, uint64_t end_ns) {
  const hl_profile_operator o = {.name = name,
                                 .kind = HL_PROFILE_SPAN,
                                 .phase = name,
                                 .flops = (double)NAN,
                                 .bytes = (double)NAN,
                                 .memory_bytes = (double)NAN};
  hl_profile_log_event(tap.log, &o, tap.step, 0, start_ns, end_ns - start_ns);
}

static void end_phase(void) {
  if (tap.phase >= 0) note_span(phase_name(tap.phase), tap.phase_start_ns, tap.phase_end_ns);
  tap.phase = -1;
}

/* Operators come in order where an engine has phases; where they do not, phases are cut finer. */
static void follow_phase(const hl_span *span) {
  if (span->phase < 0 || span->phase >= HL_PHASE_COUNT || span->thread != 0) return;
  uint64_t end = span->start_ns + span->duration_ns;
  if (span->phase != tap.phase || span->start_ns < tap.phase_start_ns) {
    end_phase();
    tap.phase = span->phase;
    tap.phase_start_ns = span->start_ns;
    tap.phase_end_ns = end;
  }
  if (end > tap.phase_end_ns) tap.phase_end_ns = end;
}

/* What moves a layer's values to and fro is not the layer. */
static bool is_move(const char *kind) {
  static const char *const moves[] = {"eorder", "emcpy", "copy_", "clone", "contiguous", "Convert"};
  for (size_t i = 0; i < HL_COUNT(moves); i++)
    if (strstr(kind, moves[i])) return true;
  return false;
}

/* The model's own account of a layer, where the engine gives none: of forward only. */
static void fill_costs(const hl_span *span, hl_profile_operator *o) {
  bool wanted = isnan(o->flops) && isnan(o->bytes) && o->layer && o->layer[0];
  bool forward = span->phase < 0 || span->phase == HL_PHASE_FORWARD;
  if (!wanted || !forward || is_move(span->kind)) return;
  const hl_layer_cost *cost = hl_layer_costs_take(tap.costs, o->layer);
  if (!cost) return;
  o->flops = cost->flops;
  o->bytes = cost->bytes;
}

static void see(void *context, const hl_span *span) {
  (void)context;
  hl_profile_operator o = {.name = span->name,
                           .kind = span->kind,
                           .layer = span->layer,
                           .phase = phase_name(span->phase),
                           .flops = span->flops,
                           .bytes = span->bytes,
                           .memory_bytes = span->memory_bytes};
  const char *known =
      hl_layer_costs_layer(tap.costs, o.layer && o.layer[0] ? o.layer : o.name, o.kind);
  if (known) o.layer = known;
  fill_costs(span, &o);
  follow_phase(span);
  hl_profile_log_event(tap.log, &o, tap.step, span->thread, span->start_ns, span->duration_ns);
}

/* A span of an engine that tells them at its end: of the last step that began before it. */
static void see_late(void *context, const hl_span *span) {
  size_t low = 0, high = tap.step_count; /* there is none for the first one, which is not kept */
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (tap.step_start_ns[middle] <= span->start_ns)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low) return;
  int32_t step = (int32_t)low - 1;
  if (step != tap.step || !tap.late) {
    end_phase();
    hl_layer_costs_again(tap.costs);
  }
  tap.late = true;
  tap.step = step;
  see(context, span);
}

static hl_status see_end(hl_error *error) {
  if (!tap.has_spans || !tap.real.spans_end || !tap.request) return HL_OK;
  tap.phase = -1;
  tap.late = false;
  hl_status status = tap.real.spans_end(tap.request, see_late, NULL, error);
  end_phase();
  return status;
}

static hl_status tapped_submit(hl_request *request, hl_error *error) {
  if (tap.has_spans) {
    hl_layer_costs_again(tap.costs);
    tap.request = request;
    hl_status status = tap.real.spans(request, see, NULL, error);
    end_phase();
    if (status != HL_UNIMPLEMENTED) return status;
    tap.has_spans = false; /* this program's, or this engine's under the same table */
  }
  tap.submitted_ns = hl_clock_ns();
  return tap.real.submit(request, error);
}

/* The phases of the last step, which an engine may tell that tells no operators. */
static bool note_phases(hl_request *request) {
  uint64_t ns[HL_PHASE_COUNT], at = tap.submitted_ns;
  if (!tap.real.phases || tap.real.phases(request, ns, NULL) != HL_OK) return false;
  for (int32_t p = 0; p < HL_PHASE_COUNT; at += ns[p++])
    if (ns[p]) note_span(phase_name(p), at, at + ns[p]);
  return true;
}

static hl_status tapped_wait(hl_request *request, hl_error *error) {
  if (tap.has_spans) return HL_OK; /* `spans` is both */
  hl_status status = tap.real.wait(request, error);
  uint64_t end = hl_clock_ns();
  if (status != HL_OK || note_phases(request)) return status;
  const hl_profile_operator o = {.name = "the whole call",
                                 .kind = "engine",
                                 .flops = (double)NAN,
                                 .bytes = (double)NAN,
                                 .memory_bytes = (double)NAN};
  hl_profile_log_event(tap.log, &o, tap.step, 0, tap.submitted_ns, end - tap.submitted_ns);
  return status;
}

static void hear_stage(void *context, const char *name, uint64_t start_ns, uint64_t end_ns) {
  (void)context;
  note_span(name, start_ns, end_ns);
}

static void hear_number(void *context, const char *name, int64_t step, double value) {
  (void)context;
  hl_profile_log_scalar(tap.log, name, step, value);
}

static void hear_picture(void *context, const char *name, int64_t step, int64_t height,
                         int64_t width, const float *pixels) {
  (void)context;
  const hl_profile_picture p = {
      .name = name, .step = step, .height = height, .width = width, .pixels = pixels};
  hl_profile_log_picture(tap.log, &p);
}

/* -- steps ------------------------------------------------------------------------------------- */

typedef struct run {
  const hl_worker_profile *what;
  hl_engine_ops *ops; /* of the workload: `submit` and `wait` are others while it is profiled */
  uint64_t max_steps, max_ns;
  bool compares; /* with plain steps, by turns */
  bool sends_log;
  uint64_t *profiled_ns, *plain_ns;
  size_t profiled, plain;
} run;

static hl_status take_step(const hl_worker_profile *what, hl_error *error) {
  int64_t images;
  hl_train_step sample;
  hl_pipeline_times times = {0};
  hl_progressive_times stages = {0};
  if (what->training) return hl_training_step(what->training, &sample, error);
  if (what->progressive)
    return hl_progressive_pass(what->progressive, hl_progressive_samples(what->progressive),
                               &stages, error);
  if (what->pipeline) return hl_pipeline_pass(what->pipeline, &times, error);
  return hl_inference_step(what->inference, &images, error);
}

static bool is_over(const hl_worker_profile *what) {
  return what->training && what->training->stop != HL_TRAINING_GOES_ON;
}

static hl_status plain_step(run *r, hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_status status = take_step(r->what, error);
  if (status == HL_OK) r->plain_ns[r->plain++] = hl_clock_ns() - start;
  return status;
}

static hl_status profiled_step(run *r, hl_error *error) {
  static const hl_stage_listener listener = {
      .stage = hear_stage, .number = hear_number, .picture = hear_picture};
  tap.step = (int32_t)r->profiled;
  tap.phase = -1;
  r->ops->submit = tapped_submit;
  r->ops->wait = tapped_wait;
  hl_stage_listen(&listener);
  uint64_t start = hl_clock_ns();
  tap.step_start_ns[r->profiled] = start;
  tap.step_count = r->profiled + 1;
  hl_status status = take_step(r->what, error);
  uint64_t duration = hl_clock_ns() - start;
  hl_stage_listen(NULL);
  r->ops->submit = tap.real.submit;
  r->ops->wait = tap.real.wait;
  if (status != HL_OK) return status;
  hl_profile_log_step(tap.log, start, duration);
  r->profiled_ns[r->profiled++] = duration;
  return status;
}

/* A profiler of the engine's library starts with a first step, which is not kept. */
static hl_status start_profiler(run *r, hl_error *error) {
  if (!tap.has_spans || !tap.real.spans_end || is_over(r->what)) return HL_OK;
  tap.step = 0;
  tap.phase = -1;
  r->ops->submit = tapped_submit;
  r->ops->wait = tapped_wait;
  hl_status status = take_step(r->what, error);
  r->ops->submit = tap.real.submit;
  r->ops->wait = tap.real.wait;
  return status;
}

static bool goes_on(const run *r, uint64_t start) {
  if (r->profiled >= r->max_steps || (r->profiled && hl_clock_ns() - start >= r->max_ns))
    return false;
  return !is_over(r->what);
}

/* Which of a pair comes first changes, so that what drifts hits both alike. */
static hl_status run_steps(run *r, hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_status status = HL_OK;
  while (status == HL_OK && goes_on(r, start)) {
    bool plain_first = r->compares && r->profiled % 2 == 0;
    if (plain_first) status = plain_step(r, error);
    if (status == HL_OK) status = profiled_step(r, error);
    if (status == HL_OK && r->compares && !plain_first && !is_over(r->what))
      status = plain_step(r, error);
  }
  return status;
}

static hl_status warm_up(const hl_worker_profile *what, int64_t steps, hl_error *error) {
  hl_status status = HL_OK;
  for (int64_t i = 0; i < steps && status == HL_OK && !is_over(what); i++)
    status = take_step(what, error);
  return status;
}

static hl_status attach(const run *r, json_t *reply, void **ret_bytes, size_t *ret_byte_count,
                        hl_error *error) {
  size_t first = r->profiled * sizeof(uint64_t), second = r->plain * sizeof(uint64_t);
  hl_json_set_int(reply, "profiled_steps", r->profiled);
  hl_json_set_int(reply, "plain_steps", r->plain);
  hl_json_set_bool(reply, "operators", tap.has_spans);
  size_t log_bytes = 0;
  const void *log = r->sends_log ? hl_profile_log_whole(tap.log, &log_bytes) : NULL;
  if (log) hl_json_set_int(reply, "log_bytes", log_bytes);
  if (first + second + log_bytes == 0) return HL_OK;
  char *bytes = malloc(first + second + log_bytes);
  if (!bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  memcpy(bytes, r->profiled_ns, first);
  memcpy(bytes + first, r->plain_ns, second);
  if (log) memcpy(bytes + first + second, log, log_bytes);
  *ret_bytes = bytes;
  *ret_byte_count = first + second + log_bytes;
  return HL_OK;
}

/* None where they are not known: that is no failure of the profile. */
static hl_layer_costs *costs_of(const hl_worker_profile *what) {
  hl_layer_costs *costs = NULL;
  const hl_inference *in = what->inference;
  const hl_training *t = what->training;
  const hl_model_file *file = t ? t->file : in->file;
  const hl_configuration *c = t ? t->configuration : in->configuration;
  hl_layer_costs_new(file, c, t ? c->batch_size : in->full.images, &costs, NULL);
  return costs;
}

static hl_status run_all(run *r, int64_t warmup, hl_error *error) {
  r->profiled_ns = calloc(r->max_steps, sizeof *r->profiled_ns);
  r->plain_ns = calloc(r->max_steps, sizeof *r->plain_ns);
  tap.step_start_ns = calloc(r->max_steps, sizeof *tap.step_start_ns);
  if (!r->profiled_ns || !r->plain_ns || !tap.step_start_ns)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  hl_status status = warm_up(r->what, warmup, error);
  if (status == HL_OK) status = start_profiler(r, error);
  if (status != HL_OK) return status;
  status = run_steps(r, error);
  hl_status told = see_end(status == HL_OK ? error : NULL); /* also of steps before a failure */
  return status == HL_OK ? told : status;
}

/* The runner's, or, where it is on another machine and names none, one of this process. */
static hl_status open_log(const char *path, hl_error *error) {
  if (path) return hl_profile_log_open(path, &tap.log, error);
  int fd = -1;
  hl_status status = hl_profile_log_create(HL_PROFILE_LOG_BYTES, &fd, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *own = hl_format("/proc/self/fd/%d", fd);
  status = own ? hl_profile_log_open(own, &tap.log, error)
               : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  close(fd);
  return status;
}

hl_status hl_worker_profile_run(const hl_worker_profile *what, const json_t *request, json_t *reply,
                                void **ret_bytes, size_t *ret_byte_count, hl_error *error) {
  const char *path = hl_json_get_text(request, "log", NULL);
  int64_t steps = hl_json_get_int(request, "max_steps", 1);
  int64_t max_ns = hl_json_get_int(request, "max_ns", INT64_MAX);
  int64_t warmup = hl_json_get_int(request, "warmup", 1);
  if (steps < 1 || steps > most_steps || max_ns < 1 || warmup < 0 || warmup > most_steps)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "profile: a member is out of range");
  hl_status status = open_log(path, error);
  if (status != HL_OK) return status;
  run r = {.what = what,
           .ops = what->training ? &what->training->ops : &what->inference->ops,
           .max_steps = (uint64_t)steps,
           .max_ns = (uint64_t)max_ns,
           .sends_log = path == NULL,
           .compares = hl_json_get_bool(request, "compare", false)};
  tap.real = *r.ops;
  tap.has_spans = r.ops->spans != NULL;
  tap.costs = tap.has_spans && strcmp(r.ops->name, "native") != 0 ? costs_of(what) : NULL;
  if (what->inference) what->inference->full_only = true;
  status = run_all(&r, warmup, error);
  if (status == HL_OK) status = attach(&r, reply, ret_bytes, ret_byte_count, error);
  free(r.profiled_ns);
  free(r.plain_ns);
  hl_layer_costs_free(tap.costs);
  tap.costs = NULL;
  free(tap.step_start_ns);
  tap.step_start_ns = NULL;
  tap.step_count = 0;
  tap.request = NULL;
  hl_profile_log_free(tap.log);
  tap.log = NULL;
  return status;
}
