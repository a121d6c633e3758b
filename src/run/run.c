#include "run/run.h"

#include "machine/roofline.h"
#include "run/row.h"
#include "run/search.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct runner {
  const hl_plan *plan;
  hl_row_context context;
  hl_store *store;
  hl_records *records;
  hl_comparisons *comparisons;
} runner;

/* Whether a resumed run has the row already. */
static hl_status is_done(const runner *r, const char *key, bool *ret_done, hl_error *error) {
  *ret_done = false;
  if (!r->store || !r->context.environment->resume) return HL_OK;
  return hl_store_row_exists(r->store, r->context.info->id, key, ret_done, error);
}

static hl_status run_row(runner *r, size_t index, hl_error *error) {
  const hl_configuration *c = &r->plan->items[index];
  const hl_run_view *view = r->context.view;
  HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(c);
  if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  bool done = false;
  hl_status status = is_done(r, key, &done, error);
  if (status != HL_OK || done) return status;
  if (view->row_begin) view->row_begin(view->context, c, index, r->plan->count);
  hl_record record;
  hl_record_init(&record);
  status = hl_row_measure(&r->context, c, &record, error);
  if (status == HL_OK && r->store)
    status = hl_store_row_add(r->store, r->context.info->id, key, (int64_t)index, &record, error);
  if (status == HL_OK && view->row_end) view->row_end(view->context, &record);
  if (status == HL_OK) status = hl_records_take(r->records, &record, error);
  hl_record_release(&record);
  return status;
}

/* The first configuration of each group of sizes: same but for the batch. */
static bool is_first_of_group(const hl_plan *plan, size_t index) {
  return index == 0 || !hl_run_same_groups(&plan->items[index - 1], &plan->items[index]);
}

/* Writes the boundary into every row of the group, in the store too. */
static hl_status set_boundary(runner *r, const hl_configuration *c, int64_t boundary,
                              hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < r->records->count && status == HL_OK; i++) {
    hl_record *record = &r->records->items[i];
    if (!hl_run_same_group(record, c)) continue;
    record->max_batch_size = boundary;
    hl_configuration row = hl_configuration_with_batch(c, record->batch_size);
    HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(&row);
    if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
    if (r->store)
      status = hl_store_row_set_boundary(r->store, r->context.info->id, key, boundary, error);
  }
  return status;
}

static hl_status search_all(runner *r, hl_error *error) {
  for (size_t i = 0; i < r->plan->count; i++) {
    if (!is_first_of_group(r->plan, i)) continue;
    const hl_configuration *c = &r->plan->items[i];
    int64_t boundary = HL_INT_NULL;
    hl_status status = hl_run_search(&r->context, c, r->records, &boundary, error);
    if (status == HL_OK) status = set_boundary(r, c, boundary, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* The limits of the roofline, measured in the same run on an idle machine. */
static void measure_limits(const runner *r) {
  if (r->plan->items[0].simulated) return;
  hl_roofline roofline;
  if (hl_roofline_measure((int)r->plan->items[0].threads, &roofline, NULL) != HL_OK) return;
  r->context.info->peak_gflops = roofline.compute_gflops;
  r->context.info->peak_bfloat16_gflops = roofline.bfloat16_gflops;
  r->context.info->peak_bandwidth_gbs = roofline.bandwidth_gbs;
}

static hl_status run_all(runner *r, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < r->plan->count && status == HL_OK; i++) status = run_row(r, i, error);
  if (status == HL_OK && r->plan->method.adaptive) status = search_all(r, error);
  if (status == HL_OK && r->records->count)
    measure_limits(r); /* last: it heats the machine and delays the first step */
  return status;
}

static void keep_text(char **field, char **earlier) {
  if (!*earlier) return;
  char *later = *field;
  *field = *earlier;
  *earlier = later;
}

static void keep_real(double *field, double earlier) {
  if (isnan(*field)) *field = earlier;
}

/* A resumed run stays the run that it was: begun then, by that command. What is not measured again
 * is kept as well. */
static hl_status keep_origin(hl_run_info *info, hl_run_info *earlier, hl_error *error) {
  const char *now = info->created ? info->created : "";
  char *resumed = hl_format("%s%s%s", earlier->resumed ? earlier->resumed : "",
                            earlier->resumed ? "\n" : "", now);
  if (!resumed) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a run");
  free(info->resumed);
  info->resumed = resumed;
  keep_text(&info->created, &earlier->created);
  keep_text(&info->command, &earlier->command);
  keep_real(&info->first_step_ms, earlier->first_step_ms);
  keep_real(&info->overhead_ns, earlier->overhead_ns);
  keep_real(&info->clock_read_ns, earlier->clock_read_ns);
  keep_real(&info->clock_resolution_ns, earlier->clock_resolution_ns);
  return HL_OK;
}

/* Rows of the run that is resumed come first. */
static hl_status load_earlier(runner *r, hl_error *error) {
  if (!r->store || !r->context.environment->resume) return HL_OK;
  hl_run_info info;
  hl_records earlier = {0};
  hl_status status = hl_store_run_load(r->store, r->context.info->id, &info, &earlier, error);
  if (status != HL_OK) return status;
  status = keep_origin(r->context.info, &info, error);
  for (size_t i = 0; i < earlier.count && status == HL_OK; i++)
    status = hl_records_take(r->records, &earlier.items[i], error);
  if (status == HL_OK)
    status = hl_store_comparisons_load(r->store, r->context.info->id, r->comparisons, error);
  hl_run_info_release(&info);
  hl_records_release(&earlier);
  return status;
}

hl_status hl_run_execute(const hl_plan *plan, const hl_run_environment *environment,
                         const hl_run_view *view, hl_store *store, hl_run_info *info,
                         hl_records *records, hl_comparisons *comparisons, hl_error *error) {
  hl_reference_cache references = {0};
  runner r = {.plan = plan,
              .context = {.environment = environment,
                          .view = view,
                          .method = &plan->method,
                          .references = &references,
                          .info = info},
              .store = store,
              .records = records,
              .comparisons = comparisons};
  r.context.bad_input_ends = true;
  for (size_t i = 1; i < plan->count; i++)
    if (strcmp(plan->items[i].model, plan->items[0].model) != 0) r.context.bad_input_ends = false;
  char hash[17];
  hl_plan_hash(plan, hash);
  hl_status status = load_earlier(&r, error);
  if (status == HL_OK && store) status = hl_store_run_begin(store, info, hash, error);
  if (status != HL_OK) return status; /* a run that was not begun is not ended either */
  status = run_all(&r, error);
  hl_reference_cache_release(&references);
  if (!store) return status;
  hl_run_state state = status == HL_OK ? HL_RUN_FINISHED : HL_RUN_INTERRUPTED;
  hl_status ended = hl_store_run_end(store, info, state, status == HL_OK ? error : NULL);
  return status == HL_OK ? ended : status;
}
