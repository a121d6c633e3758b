/*
 * Profiles: ONNX Runtime's own profiler, which belongs to a session and writes a JSON file when it
 * ends. So profiled steps run in another session of the same model and options, with a request of
 * its own over the same inputs; the first call makes both.
 */
#include "onnxruntime.h"

#include "common/fail.h"
#include "common/profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_bytes = 1 << 30 };

struct hl_ort_profiler {
  hl_model model; /* the request's, with a session of its own; names are borrowed */
  hl_program program;
  hl_request *request;
  char folder[64];
  uint64_t *step_start_ns;
  size_t step_count, step_capacity;
  bool is_over; /* the session's profiler */
};

static hl_status make_session(hl_ort_profiler *p, hl_error *error) {
  const hl_engine *engine = p->model.engine;
  char prefix[96];
  hl_ort_session_options *options = NULL;
  snprintf(prefix, sizeof prefix, "%s/profile", p->folder);
  hl_status status =
      hl_ort_check(engine, engine->api->CreateSessionOptions(&options), "setting options", error);
  if (status == HL_OK) status = hl_ort_set_options(engine, options, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, engine->api->EnableProfiling(options, prefix),
                          "starting its profiler", error);
  if (status == HL_OK)
    status = hl_ort_check(
        engine, engine->api->CreateSession(engine->env, p->model.path, options, &p->model.session),
        p->model.path, error);
  if (options) engine->api->ReleaseSessionOptions(options);
  return status;
}

static hl_status make_profiler(hl_request *request, hl_error *error) {
  hl_ort_profiler *p = calloc(1, sizeof *p);
  if (!p) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory for a profile");
  request->profiler = p;
  p->model = *request->program->model;
  p->model.session = NULL;
  p->program = *request->program;
  p->program.model = &p->model;
  snprintf(p->folder, sizeof p->folder, "%s", P_tmpdir "/hotlap-onnxruntime-XXXXXX");
  if (!mkdtemp(p->folder)) {
    p->folder[0] = '\0';
    return hl_engine_fail(error, HL_IO, "onnxruntime: no folder for its profile in " P_tmpdir);
  }
  hl_status status = make_session(p, error);
  return status == HL_OK ? hl_ort_request(&p->program, &p->request, error) : status;
}

static hl_status note_step(hl_ort_profiler *p, hl_error *error) {
  if (p->step_count == p->step_capacity) {
    size_t wanted = p->step_capacity ? 2 * p->step_capacity : 64;
    uint64_t *grown = realloc(p->step_start_ns, wanted * sizeof *grown);
    if (!grown) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory for a step");
    p->step_start_ns = grown;
    p->step_capacity = wanted;
  }
  p->step_start_ns[p->step_count++] = hl_engine_now_ns();
  return HL_OK;
}

hl_status hl_ort_spans(hl_request *request, hl_span_visit visit, void *context, hl_error *error) {
  (void)visit; /* its profiler tells when it ends */
  (void)context;
  if (!HL_HOST_HAS(request->program->model->engine->host, read_profile))
    return hl_engine_fail(error, HL_UNIMPLEMENTED, "onnxruntime: this host reads no profile");
  hl_status status = request->profiler ? HL_OK : make_profiler(request, error);
  if (status != HL_OK || !request->profiler) return status;
  status = hl_engine_bind_again(request->profiler->request, request->bound,
                                request->program->input_bytes, request->program->input_count,
                                hl_ort_bind, error);
  if (status == HL_OK) status = note_step(request->profiler, error);
  return status == HL_OK ? hl_ort_submit(request->profiler->request, error) : status;
}

static hl_status read_file(const char *path, char **ret_text, size_t *ret_bytes, hl_error *error) {
  FILE *file = fopen(path, "rb");
  long bytes = -1;
  if (file && fseek(file, 0, SEEK_END) == 0) bytes = ftell(file);
  if (bytes >= 0 && bytes <= most_bytes && fseek(file, 0, SEEK_SET) == 0)
    *ret_text = malloc((size_t)bytes + 1);
  bool done = *ret_text && fread(*ret_text, 1, (size_t)bytes, file) == (size_t)bytes;
  if (file) fclose(file);
  if (!done)
    return hl_engine_fail(error, HL_IO, "onnxruntime: its profile '%s' cannot be read%s", path,
                          bytes > most_bytes ? ": it has more than 1 GiB; take fewer --steps" : "");
  (*ret_text)[bytes] = '\0';
  *ret_bytes = (size_t)bytes;
  return HL_OK;
}

/* Ends the profiler; its file is read where `visit` is given, and removed. */
static hl_status end_profile(hl_ort_profiler *p, hl_span_visit visit, void *context,
                             hl_error *error) {
  const hl_engine *engine = p->model.engine;
  char *path = NULL, *text = NULL;
  p->is_over = true;
  size_t bytes = 0;
  hl_status status = hl_ort_check(
      engine, engine->api->SessionEndProfiling(p->model.session, engine->allocator, &path),
      "ending its profile", error);
  if (status != HL_OK) return status;
  if (visit) status = read_file(path, &text, &bytes, error);
  if (visit && status == HL_OK)
    status = engine->host->read_profile(text, bytes, p->step_start_ns, p->step_count, visit,
                                        context, error);
  free(text);
  if (path) {
    unlink(path);
    hl_ort_check(engine, engine->api->AllocatorFree(engine->allocator, path), "", NULL);
  }
  return status;
}

hl_status hl_ort_spans_end(hl_request *request, hl_span_visit visit, void *context,
                           hl_error *error) {
  hl_ort_profiler *p = request->profiler;
  if (!p) return HL_OK;
  hl_status status =
      p->model.session && p->step_count ? end_profile(p, visit, context, error) : HL_OK;
  hl_ort_profiler_free(p);
  request->profiler = NULL;
  return status;
}

void hl_ort_profiler_free(hl_ort_profiler *profiler) {
  hl_ort_profiler *p = profiler;
  if (!p) return;
  if (p->model.session && !p->is_over) end_profile(p, NULL, NULL, NULL);
  hl_ort_request_free(p->request);
  if (p->model.session) p->model.engine->api->ReleaseSession(p->model.session);
  if (p->folder[0]) rmdir(p->folder);
  free(p->step_start_ns);
  free(p);
}
