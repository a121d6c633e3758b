/* The hooks of the engine ABI. */
#include "compile/allocations.h"
#include "compile/training.h"
#include "options.h"
#include "run/request.h"
#include "run/trim.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char version_text[64];

static const char *version(void) {
  if (!version_text[0]) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(version_text, sizeof(version_text), "native %s (oneDNN %d.%d.%d)", HL_VERSION,
             v->major, v->minor, v->patch);
  }
  return version_text;
}

static hl_status probe(const hl_host *host, hl_error *error) {
  (void)host;
  const dnnl_version_t *v = dnnl_version();
  if (v->major != 3 || v->minor < 2)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "oneDNN %d.%d was found, 3.2 or later of version 3 is needed. Remedy: run "
                        "tools/install-dependencies and build again",
                        v->major, v->minor);
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.1"))
    return hl_error_set(error, HL_UNAVAILABLE,
                        "oneDNN needs SSE4.1, which this processor lacks; use another engine");
#endif
  return HL_OK;
}

/* libgomp's; clang has no <omp.h> for it. */
void omp_set_num_threads(int threads);

void hl_native_threads(int threads) {
  omp_set_num_threads(threads);
}

void hl_native_log(const hl_engine *engine, const char *format, ...) {
  if (!engine->host || !engine->host->log) return;
  char line[512];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof(line), format, list);
  va_end(list);
  engine->host->log("native", line);
}

hl_status hl_native_dnnl(dnnl_status_t status, const char *what, hl_error *error) {
  switch (status) {
  case dnnl_success:
    return HL_OK;
  case dnnl_out_of_memory:
    return hl_error_set(error, HL_OUT_OF_MEMORY, "oneDNN has no memory (%s)", what);
  case dnnl_unimplemented:
    return hl_error_set(error, HL_UNIMPLEMENTED, "oneDNN does not implement this (%s)", what);
  default:
    return hl_error_set(error, HL_INTERNAL, "oneDNN failed with status %d (%s)", (int)status, what);
  }
}

static void engine_close(hl_engine *engine) {
  if (!engine) return;
  if (engine->stream) dnnl_stream_destroy(engine->stream);
  if (engine->dnnl) dnnl_engine_destroy(engine->dnnl);
  free(engine);
}

static hl_status engine_open(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  hl_engine *engine = calloc(1, sizeof(*engine));
  if (!engine) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the native engine");
  engine->host = host;
  hl_status status = hl_native_options_read(engine, config, error);
  if (status == HL_OK)
    status = hl_native_dnnl(dnnl_engine_create(&engine->dnnl, dnnl_cpu, 0), "creating its engine",
                            error);
  if (status == HL_OK)
    status =
        hl_native_dnnl(dnnl_stream_create(&engine->stream, engine->dnnl, dnnl_stream_default_flags),
                       "creating its stream", error);
  if (status != HL_OK) {
    engine_close(engine);
    return status;
  }
  hl_native_trim();
  *ret_engine = engine;
  return HL_OK;
}

static hl_status plan(hl_model *model, const hl_program_spec *spec, hl_program_plan *ret_plan,
                      hl_error *error) {
  hl_program *program;
  hl_status status = hl_native_compile(model, spec, &program, error);
  if (status != HL_OK) return status;
  const hl_native_list *list = &program->list;
  hl_program_plan result = {.size = ret_plan->size};
  for (int32_t i = 0; i < list->weight_count; i++)
    result.weight_bytes += hl_native_rounded(list->weights[i].bytes);
  result.weight_bytes += list->state_bytes;
  result.arena_bytes = list->arena_bytes;
  result.io_bytes = list->output_bytes;
  result.executed_flops = list->flops;
  result.traffic_bytes = list->traffic_bytes;
  memcpy(ret_plan, &result, ret_plan->size < sizeof(result) ? ret_plan->size : sizeof(result));
  hl_native_program_free(program);
  return HL_OK;
}

/* What `threads` of a row does not say. */
static void note_threads(const hl_program *program) {
  const hl_engine *engine = program->model->engine;
  const hl_native_list *list = &program->list;
  if (engine->threads == 1 || list->single_count == 0) return;
  if (list->single_count < list->step_count) {
    hl_native_log(engine, "%d of %d steps are too small for more than one thread",
                  list->single_count, list->step_count);
    return;
  }
  char note[160];
  snprintf(note, sizeof(note),
           "all steps ran on one of the %d threads: they are too small for another one to pay",
           engine->threads);
  if (HL_HOST_HAS(engine->host, note)) engine->host->note("native", note);
}

static void note_saturable(const hl_program *program) {
  const hl_host *host = program->model->engine->host;
  char note[200];
  if (program->list.saturable_count == 0 || !HL_HOST_HAS(host, note)) return;
  snprintf(note, sizeof(note),
           "%d 8-bit products ran in float32: without VNNI their sums would saturate (weights "
           "beyond 64, or signed inputs)",
           program->list.saturable_count);
  host->note("native", note);
}

static hl_status prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error) {
  hl_program *program;
  hl_status status = hl_native_compile(model, spec, &program, error);
  if (status != HL_OK) return status;
  hl_native_trim();
  status = hl_native_weights_make(model, program->graph, program->list.weights,
                                  program->list.weight_count, error);
  if (status == HL_OK) status = hl_native_training_start(program, error);
  if (status != HL_OK) {
    hl_native_program_free(program);
    return status;
  }
  hl_native_model_forget(model);
  hl_native_trim();
  const hl_host *host = model->engine->host;
  if (spec->dtype == HL_BFLOAT16 && !model->engine->fast_bfloat16 && HL_HOST_HAS(host, note))
    host->note("native", "bfloat16 is emulated, more slowly than float32: no products of it "
                         "are used");
  if (model->engine->isa_note && HL_HOST_HAS(host, note))
    host->note("native", model->engine->isa_note);
  note_saturable(program);
  note_threads(program);
  if (program->list.fallback_count > 0)
    hl_native_log(model->engine, "%d steps run on the reference evaluator",
                  program->list.fallback_count);
  *ret_program = program;
  return HL_OK;
}

static hl_status memory(hl_engine *engine, hl_engine_memory *ret_memory, hl_error *error) {
  (void)error;
  hl_engine_memory result = {.size = ret_memory->size,
                             .allocated_bytes = engine->account.allocated_bytes,
                             .reserved_bytes = engine->account.allocated_bytes,
                             .peak_bytes = engine->account.peak_bytes};
  memcpy(ret_memory, &result,
         ret_memory->size < sizeof(result) ? ret_memory->size : sizeof(result));
  return HL_OK;
}

__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {
      .abi = HL_ENGINE_ABI,
      .size = sizeof(hl_engine_ops),
      .name = "native",
      .version = version,
      .probe = probe,
      .open = engine_open,
      .load = hl_native_model_load,
      .describe = hl_native_model_describe,
      .plan = plan,
      .prepare = prepare,
      .request = hl_native_request_new,
      .bind = hl_native_request_bind,
      .submit = hl_native_request_submit,
      .wait = hl_native_request_wait,
      .output = hl_native_request_output,
      .request_free = hl_native_request_free,
      .program_free = hl_native_program_free,
      .model_free = hl_native_model_free,
      .close = engine_close,
      .memory = memory,
      .profile = hl_native_request_profile,
      .spans = hl_native_request_spans,
      .state_read = hl_native_state_read,
      .state_write = hl_native_state_write,
      .states = hl_native_states,
      .phases = hl_native_request_phases,
      .trace = hl_native_request_trace,
      .allocations = hl_native_allocations,
      .option_table = hl_native_option_table,
  };
  return &ops;
}
