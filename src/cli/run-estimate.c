#include "cli/run-estimate.h"

#include "analyse/duration.h"
#include "cli/cli.h"
#include "machine/gpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_runs = 20 };

/* Rows of the newest runs on this machine. */
static hl_status load(const hl_sweep *s, hl_records *records, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_store *store = NULL;
  hl_store_runs runs = {0};
  const hl_store_filter filter = {.machine = s->machine.id, .limit = most_runs};
  hl_status status = hl_cli_store_path(&s->options, &path, error);
  if (status != HL_OK || !path) return status;
  status = hl_store_open(path, HL_STORE_READ, &store, error);
  if (status == HL_OK) status = hl_store_runs_list(store, &filter, &runs, error);
  for (size_t i = 0; i < runs.count && status == HL_OK; i++) {
    hl_run_info info;
    hl_records of_run = {0};
    status = hl_store_run_load(store, runs.items[i].id, &info, &of_run, error);
    if (status != HL_OK) break;
    for (size_t k = 0; k < of_run.count && status == HL_OK; k++)
      status = hl_records_take(records, &of_run.items[k], error);
    hl_run_info_release(&info);
    hl_records_release(&of_run);
  }
  hl_store_runs_release(&runs);
  hl_store_free(store);
  return status;
}

/* A GPU of the row is not here: it will be SKIPPED at once. */
static bool is_absent(const hl_configuration *c, int gpus) {
  int ordinals[HL_DEVICE_MOST];
  size_t count = hl_device_ordinals(c->device, ordinals);
  for (size_t i = 0; i < count; i++)
    if (ordinals[i] >= gpus) return true;
  return false;
}

static double duration(const hl_configuration *c, const hl_method_options *m,
                       const hl_records *stored) {
  bool steps = !c->load && !c->train && !c->memory && !c->pipeline && !c->progressive;
  int64_t images = c->n_images > 0 ? c->n_images : c->batch_size;
  int64_t per_pass = (images + c->batch_size - 1) / c->batch_size;
  int64_t warmup = m->warmup_runs ? m->warmup_runs * per_pass : m->warmup_iterations;
  bool fixed = m->iterations || m->num_runs;
  const hl_duration_query q = {.model = c->model,
                               .engine = c->engine,
                               .dtype = c->dtype,
                               .device = c->device,
                               .threads = c->threads,
                               .batch_size = c->batch_size,
                               .steps = m->iterations ? m->iterations : m->num_runs * per_pass,
                               .warmup_steps = warmup,
                               .min_time_s = m->min_time_s,
                               .max_time_s =
                                   fixed && !m->max_time_given ? (double)INFINITY : m->max_time_s};
  /* How many inputs a file has is not known yet. */
  bool known = steps && !(m->num_runs && c->test_data && !c->n_images);
  return known ? hl_duration_estimate(stored, &q) : (double)NAN;
}

void hl_cli_estimate_make(const hl_sweep *sweep, hl_cli_estimate *ret_estimate) {
  hl_records stored = {0};
  hl_error ignored = {0}; /* nothing is known then */
  (void)load(sweep, &stored, &ignored);
  *ret_estimate = (hl_cli_estimate){.stored = stored.count};
  int gpus = hl_gpu_visible(&sweep->machine.gpus, getenv("CUDA_VISIBLE_DEVICES"));
  for (size_t i = 0; i < sweep->plan.count; i++) {
    const hl_configuration *c = &sweep->plan.items[i];
    if (is_absent(c, gpus)) {
      ret_estimate->absent++;
      continue;
    }
    double seconds = duration(c, hl_plan_method(&sweep->plan, c), &stored);
    if (!isfinite(seconds)) continue;
    ret_estimate->known++;
    ret_estimate->seconds += seconds;
  }
  hl_records_release(&stored);
}
