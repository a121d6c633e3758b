#include "formats/chrome-trace.h"

#include "base/file.h"
#include "base/json-writer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* hotlap is the only process of a trace, and its number means nothing to a reader. */
enum { process = 1, flush_bytes = 1 << 16 };

typedef struct writer {
  hl_json json;
  hl_text text;
  int fd;
  hl_status status;
  hl_error *error;
} writer;

/* Empties the text into the file, if there is enough of it. */
static void flush(writer *w, size_t enough) {
  if (w->text.failed && w->status == HL_OK)
    w->status = hl_error_set(w->error, HL_OUT_OF_MEMORY, "no memory for a trace");
  if (w->text.length < enough) return;
  if (w->status == HL_OK)
    w->status = hl_write_all(w->fd, w->text.data, w->text.length, "a trace", w->error);
  hl_text_clear(&w->text);
}

/* Opens an event; a line each, for those who look into the file. */
static void begin(writer *w, const char *phase, const char *name, int32_t thread) {
  flush(w, flush_bytes);
  hl_json_object(&w->json, NULL);
  hl_json_text(&w->json, "ph", phase);
  hl_json_text(&w->json, "name", name);
  hl_json_int(&w->json, "pid", process);
  hl_json_int(&w->json, "tid", thread);
}

static void end(writer *w) {
  hl_json_end(&w->json);
  hl_text_char(&w->text, '\n');
}

/* Nanoseconds as microseconds: of up to 100 days a double keeps each of them. */
static void put_us(writer *w, const char *key, uint64_t ns) {
  hl_json_real(&w->json, key, (double)ns / 1e3);
}

static void put_name(writer *w, const char *what, int32_t thread, const char *name) {
  begin(w, "M", what, thread);
  hl_json_object(&w->json, "args");
  hl_json_text(&w->json, "name", name);
  hl_json_end(&w->json);
  end(w);
}

static void put_names(writer *w, const hl_profile *p) {
  int32_t threads = 1;
  char name[48];
  hl_text process_name = HL_TEXT_INIT;
  hl_text_format(&process_name, "hotlap: %s, %s", p->model, p->engine);
  put_name(w, "process_name", 0, process_name.data);
  hl_text_release(&process_name);
  for (size_t i = 0; i < p->event_count; i++)
    if (p->events[i].thread >= threads && p->events[i].thread < INT32_MAX)
      threads = p->events[i].thread + 1;
  if (threads > 4096) threads = 4096; /* the others go without a name */
  for (int32_t t = 0; t < threads; t++) {
    snprintf(name, sizeof name, t ? "thread %d" : "thread %d, submits", (int)t);
    put_name(w, "thread_name", t, name);
    begin(w, "M", "thread_sort_index", t);
    hl_json_object(&w->json, "args");
    hl_json_int(&w->json, "sort_index", t);
    hl_json_end(&w->json);
    end(w);
  }
}

static void put_step(writer *w, const hl_profile *p, size_t step) {
  char name[48];
  snprintf(name, sizeof name, "ProfilerStep#%zu", step);
  begin(w, "X", name, 0);
  hl_json_text(&w->json, "cat", "user_annotation");
  put_us(w, "ts", p->step_start_ns[step]);
  put_us(w, "dur", p->step_ns[step]);
  end(w);
}

static void put_known(writer *w, const char *key, double value) {
  if (isfinite(value)) hl_json_real(&w->json, key, value);
}

static void put_event(writer *w, const hl_profile *p, const hl_profile_event *e) {
  int32_t at = e->operator;
  if (at < 0 || (size_t)at >= p->operator_count) return;
  const hl_profile_operator *o = &p->operators[at];
  begin(w, "X", o->name, e->thread);
  hl_json_text(&w->json, "cat", strcmp(o->kind, "span") == 0 ? "user_annotation" : "cpu_op");
  put_us(w, "ts", e->start_ns);
  put_us(w, "dur", e->duration_ns);
  hl_json_object(&w->json, "args");
  hl_json_text(&w->json, "kind", o->kind);
  if (*o->layer) hl_json_text(&w->json, "layer", o->layer);
  if (*o->phase) hl_json_text(&w->json, "phase", o->phase);
  hl_json_int(&w->json, "step", e->step);
  put_known(w, "flops", o->flops);
  put_known(w, "bytes", o->bytes);
  put_known(w, "memory_bytes", o->memory_bytes);
  hl_json_end(&w->json);
  end(w);
}

/* At the end of its step; where there is no such step, the number stands in the place of the time.
 */
static void put_scalar(writer *w, const hl_profile *p, const hl_profile_scalar *s) {
  if (!isfinite(s->value)) return; /* a counter must be a number */
  uint64_t at = s->step < 0 ? 0 : (uint64_t)s->step;
  if (at < p->step_count) at = p->step_start_ns[at] + p->step_ns[at];
  begin(w, "C", s->name, 0);
  put_us(w, "ts", at);
  hl_json_object(&w->json, "args");
  hl_json_real(&w->json, "value", s->value);
  hl_json_end(&w->json);
  end(w);
}

static void put_other(writer *w, const hl_profile *p) {
  hl_json *j = &w->json;
  hl_json_object(j, "otherData");
  hl_json_text(j, "producer", "hotlap");
  hl_json_text(j, "workload", p->workload);
  hl_json_text(j, "model", p->model);
  hl_json_text(j, "engine", p->engine);
  hl_json_text(j, "engine_version", p->engine_version);
  hl_json_text(j, "dtype", p->dtype);
  hl_json_text(j, "device", p->device);
  hl_json_text(j, "source", p->source);
  hl_json_int(j, "batch_size", p->batch_size);
  hl_json_int(j, "threads", p->threads);
  hl_json_bool(j, "complete", p->complete);
  if (!p->complete) hl_json_text(j, "reason", p->reason);
  hl_json_int(j, "dropped_events", (int64_t)p->dropped_events);
  if (p->wall_start_us) hl_json_int(j, "wall_start_us", (int64_t)p->wall_start_us);
  put_known(w, "peak_gflops", p->peak_gflops);
  put_known(w, "bandwidth_gbs", p->bandwidth_gbs);
  hl_json_end(j);
}

hl_status hl_chrome_trace_write(const hl_profile *profile, int fd, hl_error *error) {
  const hl_profile *p = profile;
  writer w = {.text = HL_TEXT_INIT, .fd = fd, .status = HL_OK, .error = error};
  hl_json_init(&w.json, &w.text, HL_JSON_COMPACT);
  hl_json_object(&w.json, NULL);
  hl_json_int(&w.json, "schemaVersion", 1); /* of Kineto, whose reader asks for it */
  hl_json_text(&w.json, "displayTimeUnit", "ns");
  hl_json_array(&w.json, "deviceProperties"); /* none: no times of a GPU's kernels */
  hl_json_end(&w.json);
  put_other(&w, p);
  hl_json_array(&w.json, "traceEvents");
  put_names(&w, p);
  for (size_t i = 0; i < p->step_count; i++) put_step(&w, p, i);
  for (size_t i = 0; i < p->event_count; i++) put_event(&w, p, &p->events[i]);
  for (size_t i = 0; i < p->scalar_count; i++) put_scalar(&w, p, &p->scalars[i]);
  hl_json_end(&w.json);
  hl_json_end(&w.json);
  hl_text_char(&w.text, '\n');
  flush(&w, 0);
  hl_text_release(&w.text);
  return w.status;
}
