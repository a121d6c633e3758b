/*
 * Profiles: OpenVINO counts the time of each node where a model is compiled for that (PERF_COUNT),
 * which slows it down a little. So profiled steps run in a program and a request of their own over
 * the same inputs, made in the first call. It tells how long a node took, in microseconds, and not
 * when: nodes are laid out one after the other from the step's start, in the order in which they
 * are told.
 */
#include "openvino.h"

#include "common/fail.h"
#include "common/profile.h"
#include <math.h>

static hl_status begin(hl_request *request, hl_error *error) {
  if (request->profiling) return HL_OK;
  hl_status status = HL_OK;
  if (!request->counting) status = hl_ov_counting(request->program, &request->counting, error);
  return status == HL_OK ? hl_ov_request(request->counting, &request->profiling, error) : status;
}

/* The nodes of one infer request. */
static hl_status visit_part(const hl_request *request, size_t part, uint64_t start_ns,
                            hl_span_visit visit, void *context, hl_error *error) {
  const hl_engine *engine = request->program->model->engine;
  hl_ov_node_times times = {0};
  hl_status status = hl_ov_check(
      engine, engine->api->infer_request_get_profiling_info(request->parts[part], &times),
      "reading its profile", error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < times.count; i++) {
    const hl_ov_node_time *node = &times.nodes[i];
    if (node->status != HL_OV_EXECUTED || node->real_us < 0) continue;
    const hl_span span = {.size = sizeof span,
                          .name = node->name ? node->name : "",
                          .kind = node->type ? node->type : "",
                          .layer = node->name ? node->name : "",
                          .phase = -1,
                          .thread = (int32_t)part,
                          .start_ns = start_ns,
                          .duration_ns = (uint64_t)node->real_us * 1000,
                          .flops = (double)NAN,
                          .bytes = (double)NAN,
                          .memory_bytes = (double)NAN};
    visit(context, &span);
    start_ns += span.duration_ns;
  }
  engine->api->profiling_info_list_free(&times);
  return HL_OK;
}

hl_status hl_ov_spans(hl_request *request, hl_span_visit visit, void *context, hl_error *error) {
  hl_status status = begin(request, error);
  hl_request *profiling = request->profiling;
  if (status == HL_OK)
    status = hl_engine_bind_again(profiling, request->bound, request->program->input_bytes,
                                  request->program->input_count, hl_ov_bind, error);
  uint64_t start = hl_engine_now_ns();
  if (status == HL_OK) status = hl_ov_submit(profiling, error);
  if (status == HL_OK) status = hl_ov_wait(profiling, error);
  for (size_t i = 0; status == HL_OK && i < profiling->program->parts; i++)
    status = visit_part(profiling, i, start, visit, context, error);
  return status;
}
