#include "run/run.h"

#include "machine/roofline.h"
#include "method/pairing.h"
#include "record/requirement.h"
#include "run/custom.h"
#include "run/elsewhere.h"
#include "run/interleave.h"
#include "run/order.h"
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
  bool *done;      /* of each row of the plan */
  size_t *order;   /* in which they are measured */
  size_t *places;  /* of each record: its row in the plan */
  bool incomplete; /* the store lacks something of this run */
} runner;

/* Whether a resumed run has the row already. */
static hl_status is_done(const runner *r, size_t index, bool *ret_done, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(&r->plan->items[index]);
  if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  return hl_store_row_exists(r->store, r->context.info->id, key, ret_done, error);
}

/* Rows are shown as they end, and kept in the order of the plan. */
static hl_status take_record(runner *r, size_t place, hl_record *record, hl_error *error) {
  size_t count = r->records->count;
  size_t *places = realloc(r->places, (count + 1) * sizeof *places);
  if (!places) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  r->places = places;
  hl_status status = hl_records_take(r->records, record, error);
  if (status != HL_OK) return status;
  hl_record *items = r->records->items, last = items[count];
  size_t at = count;
  for (; at > 0 && places[at - 1] > place; at--) {
    items[at] = items[at - 1];
    places[at] = places[at - 1];
  }
  items[at] = last;
  places[at] = place;
  return HL_OK;
}

/* Of a write to the store: a run goes on without it where the view can say so. */
static hl_status kept(runner *r, hl_status status, const hl_error *inner, hl_error *error) {
  const hl_run_view *view = r->context.view;
  if (status == HL_OK) return HL_OK;
  if (!view->not_kept || status == HL_OUT_OF_MEMORY)
    return hl_error_set(error, status, "%s", inner->msg);
  view->not_kept(view->context, inner);
  r->incomplete = true;
  return HL_OK;
}

static hl_status keep_row(runner *r, size_t index, hl_record *record, hl_error *error) {
  const hl_run_view *view = r->context.view;
  HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(&r->plan->items[index]);
  if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  const hl_method_options *method = hl_plan_method(r->plan, &r->plan->items[index]);
  hl_status status = hl_custom_compute(method, r->context.environment->wake_fd, record, error);
  bool interrupted = status == HL_INTERRUPTED; /* what was measured is kept */
  if (status == HL_OK || interrupted)
    status = hl_record_require(record, method->requirements, method->requirement_count, error);
  if (status != HL_OK) return status;
  hl_error inner = {0};
  if (r->store)
    status = hl_store_row_add(r->store, r->context.info->id, key, (int64_t)index, record, &inner);
  status = kept(r, status, &inner, error);
  if (status == HL_OK && view->row_end) view->row_end(view->context, record);
  r->done[index] = true;
  if (status == HL_OK) status = take_record(r, index, record, error);
  if (status == HL_OK && interrupted) return hl_error_set(error, HL_INTERRUPTED, "interrupted");
  return status;
}

static void show_begin(const runner *r, size_t index) {
  const hl_run_view *view = r->context.view;
  if (view->row_begin)
    view->row_begin(view->context, &r->plan->items[index], r->records->count, r->plan->count);
}

static hl_status run_row(runner *r, size_t index, const char *note, hl_error *error) {
  show_begin(r, index);
  hl_record record;
  hl_record_init(&record);
  hl_status status = hl_row_measure(&r->context, &r->plan->items[index], &record, error);
  if (status == HL_INTERRUPTED && record.outcome) (void)keep_row(r, index, &record, NULL);
  if (status == HL_OK && note) hl_record_note(&record, "%s", note);
  if (status == HL_OK) status = keep_row(r, index, &record, error);
  hl_record_release(&record);
  return status;
}

/* -- rows in turns -------------------------------------------------------------------------- */

static bool same_work(const hl_configuration *a, const hl_configuration *b) {
  bool same_entry = hl_text_same(a->entry, b->entry);
  return same_entry && a->method == b->method && strcmp(a->model, b->model) == 0 &&
         a->batch_size == b->batch_size && a->threads == b->threads;
}

/* The rows that differ from this one in engine, type or device, and are not done, itself among
 * them. */
static size_t find_group(const runner *r, size_t first, size_t *ret_indices) {
  size_t count = 0;
  for (size_t i = 0; i < r->plan->count && count < HL_PAIRING_MEMBERS; i++)
    if (!r->done[i] && same_work(&r->plan->items[first], &r->plan->items[i]))
      ret_indices[count++] = i;
  return count;
}

static hl_status keep_pair(runner *r, const size_t *indices, hl_interleaved_pair *pair,
                           hl_error *error) {
  HL_CLEANUP(hl_free_pointer)
  char *a = hl_configuration_key(&r->plan->items[indices[pair->a]]);
  HL_CLEANUP(hl_free_pointer)
  char *b = hl_configuration_key(&r->plan->items[indices[pair->b]]);
  if (!a || !b) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison");
  hl_status status = HL_OK;
  hl_error inner = {0};
  if (r->store)
    status =
        hl_store_comparison_add(r->store, r->context.info->id, a, b, &pair->comparison, &inner);
  status = kept(r, status, &inner, error);
  return status == HL_OK ? hl_comparisons_take(r->comparisons, &pair->comparison, error) : status;
}

static hl_status keep_group(runner *r, const size_t *indices, hl_interleaved *group,
                            hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < group->count && status == HL_OK; i++)
    status = group->alone[i] ? run_row(r, indices[i],
                                       "not measured in turns: it did not fit in memory beside "
                                       "the other rows of this batch",
                                       error)
                             : keep_row(r, indices[i], &group->records[i], error);
  for (size_t i = 0; i < group->pair_count && status == HL_OK; i++)
    status = keep_pair(r, indices, &group->pairs[i], error);
  return status;
}

/* What an interrupt left of the group; a resumed run measures it again, all in turns. */
static hl_status keep_interrupted(runner *r, const size_t *indices, hl_interleaved *group,
                                  hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < group->count && status == HL_OK; i++)
    if (group->records[i].outcome) status = keep_row(r, indices[i], &group->records[i], error);
  return status == HL_OK ? hl_error_set(error, HL_INTERRUPTED, "interrupted") : status;
}

static hl_status run_group(runner *r, const size_t *indices, size_t count, hl_error *error) {
  const hl_configuration *configurations[HL_PAIRING_MEMBERS];
  hl_record records[HL_PAIRING_MEMBERS];
  bool alone[HL_PAIRING_MEMBERS] = {0};
  for (size_t i = 0; i < count; i++) {
    configurations[i] = &r->plan->items[indices[i]];
    hl_record_init(&records[i]);
  }
  hl_interleaved group = {.configurations = configurations,
                          .count = count,
                          .seed = (uint64_t)r->plan->items[indices[0]].seed + indices[0],
                          .records = records,
                          .alone = alone};
  show_begin(r, indices[0]);
  hl_status status = hl_interleave_measure(&r->context, &group, error);
  if (status == HL_OK)
    status = keep_group(r, indices, &group, error);
  else if (status == HL_INTERRUPTED)
    status = keep_interrupted(r, indices, &group, error);
  for (size_t i = 0; i < count; i++) hl_record_release(&records[i]);
  hl_interleaved_release(&group);
  return status;
}

static hl_status run_next(runner *r, size_t index, hl_error *error) {
  size_t indices[HL_PAIRING_MEMBERS] = {0};
  if (r->done[index]) return HL_OK;
  r->context.method = hl_plan_method(r->plan, &r->plan->items[index]);
  bool alone =
      r->context.method->sequence || r->plan->items[index].load || r->plan->items[index].train;
  size_t count = alone ? 1 : find_group(r, index, indices);
  return count > 1 ? run_group(r, indices, count, error) : run_row(r, index, NULL, error);
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
    hl_error inner = {0};
    if (r->store)
      status = hl_store_row_set_boundary(r->store, r->context.info->id, key, boundary, &inner);
    status = kept(r, status, &inner, error);
  }
  return status;
}

static hl_status search_all(runner *r, hl_error *error) {
  for (size_t i = 0; i < r->plan->count; i++) {
    const hl_configuration *c = &r->plan->items[i];
    r->context.method = hl_plan_method(r->plan, c);
    if (!r->context.method->adaptive || !is_first_of_group(r->plan, i)) continue;
    int64_t boundary = HL_INT_NULL;
    hl_status status = hl_run_search(&r->context, c, r->records, &boundary, error);
    if (status == HL_OK) status = set_boundary(r, c, boundary, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* The limits of the roofline, measured in the same run on an idle machine. */
static void measure_limits(const runner *r) {
  if (r->context.environment->without_limits) return;
  size_t first = 0; /* row with steps of a real clock */
  while (first < r->plan->count && (r->plan->items[first].simulated || r->plan->items[first].load ||
                                    r->plan->items[first].memory || r->plan->items[first].train))
    first++;
  if (first == r->plan->count) return;
  hl_roofline roofline;
  const hl_configuration *c = &r->plan->items[first];
  hl_status status = c->launcher ? hl_elsewhere_limits(r->context.environment, c->launcher,
                                                       (int)c->threads, &roofline, NULL)
                                 : hl_roofline_measure((int)c->threads, &roofline, NULL);
  if (status != HL_OK) return;
  r->context.info->peak_gflops = roofline.compute_gflops;
  r->context.info->peak_bfloat16_gflops = roofline.bfloat16_gflops;
  r->context.info->peak_bandwidth_gbs = roofline.bandwidth_gbs;
}

static hl_status run_all(runner *r, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < r->plan->count && status == HL_OK; i++)
    status = run_next(r, r->order[i], error);
  if (status == HL_OK) status = search_all(r, error);
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

/* A row of an interrupted group is there to be looked at, and is measured again. */
static bool is_complete(const hl_record *record) {
  return !record->stop || strcmp(record->stop, hl_stopping_reason_name(HL_STOP_INTERRUPTED)) != 0;
}

/* Rows of the run that is resumed come first. */
static hl_status load_earlier(runner *r, hl_error *error) {
  if (!r->store || !r->context.environment->resume) return HL_OK;
  hl_run_info info;
  hl_records earlier = {0};
  hl_status status = hl_store_run_load(r->store, r->context.info->id, &info, &earlier, error);
  if (status != HL_OK) return status;
  status = keep_origin(r->context.info, &info, error);
  size_t taken = 0; /* the store gives rows in the order of the plan */
  for (size_t i = 0; i < r->plan->count && status == HL_OK; i++) {
    status = is_done(r, i, &r->done[i], error);
    if (status != HL_OK || !r->done[i] || taken == earlier.count) continue;
    hl_record *record = &earlier.items[taken++];
    r->done[i] = is_complete(record);
    if (r->done[i]) status = take_record(r, i, record, error);
  }
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
  for (size_t i = 0; i < plan->count; i++)
    if (plan->items[i].entry || strcmp(plan->items[i].model, plan->items[0].model) != 0)
      r.context.bad_input_ends = false; /* an entry of a plan costs its own rows only */
  char hash[17];
  hl_plan_hash(plan, hash);
  r.done = calloc(plan->count + 1, sizeof *r.done);
  r.order = calloc(plan->count + 1, sizeof *r.order);
  hl_status status = r.done && r.order ? load_earlier(&r, error)
                                       : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  if (r.order) hl_run_order(plan, r.order);
  hl_error inner = {0};
  if (status == HL_OK && store)
    status = kept(&r, hl_store_run_begin(store, info, hash, &inner), &inner, error);
  bool begun = status == HL_OK;
  if (r.incomplete) store = r.store = NULL; /* it has no place for the rows */
  if (begun) status = run_all(&r, error);
  hl_reference_cache_release(&references);
  free(r.done);
  free(r.order);
  free(r.places);
  if (!store || !begun) return status; /* a run that was not begun is not ended either */
  /* A run of which something is missing can be resumed. */
  bool whole = status == HL_OK && !r.incomplete;
  inner = (hl_error){0};
  hl_status ended =
      hl_store_run_end(store, info, whole ? HL_RUN_FINISHED : HL_RUN_INTERRUPTED, &inner);
  return status == HL_OK ? kept(&r, ended, &inner, error) : status;
}
