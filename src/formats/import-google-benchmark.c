/*
 * google-benchmark: {"context": {...}, "benchmarks": [...]}.
 *
 * Entries of one run_name are the repetitions of one row: each a sample of `iterations` steps.
 * Aggregates count only where the file has nothing else (--benchmark_report_aggregates_only).
 */
#include "formats/import-internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row while its entries are gathered. */
typedef struct group {
  const char *name;
  size_t *entries; /* indices into the list, `count` of them */
  size_t count, capacity;
} group;

typedef struct groups {
  group *items;
  size_t count, capacity;
  json_t *index; /* name -> place in items */
} groups;

static void groups_release(groups *g) {
  for (size_t i = 0; i < g->count; i++) free(g->items[i].entries);
  free(g->items);
  json_decref(g->index);
}

static group *group_of(groups *g, const char *name) {
  const json_t *place = json_object_get(g->index, name);
  if (place) return &g->items[json_integer_value(place)];
  if (g->count == g->capacity) {
    size_t capacity = g->capacity ? 2 * g->capacity : 64;
    group *items = realloc(g->items, capacity * sizeof *items);
    if (!items) return NULL;
    g->items = items;
    g->capacity = capacity;
  }
  if (json_object_set_new(g->index, name, json_integer((json_int_t)g->count)) != 0) return NULL;
  g->items[g->count] = (group){.name = name};
  return &g->items[g->count++];
}

static bool group_add(group *g, size_t entry) {
  if (g->count == g->capacity) {
    size_t capacity = g->capacity ? 2 * g->capacity : 8;
    size_t *entries = realloc(g->entries, capacity * sizeof *entries);
    if (!entries) return false;
    g->entries = entries;
    g->capacity = capacity;
  }
  g->entries[g->count++] = entry;
  return true;
}

static const char *text_of(const json_t *entry, const char *key) {
  const char *text = json_string_value(json_object_get(entry, key));
  return text ? text : "";
}

static bool is_aggregate(const json_t *entry) {
  return strcmp(text_of(entry, "run_type"), "aggregate") == 0;
}

/* -- a row ------------------------------------------------------------------------------------- */

static hl_status unit_of(hl_importer *importer, const json_t *entry, double *ret_ns,
                         hl_error *error) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const char *unit;
  hl_status status = hl__import_text(importer, entry, "time_unit", &unit, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < HL_COUNT(units); i++)
    if (strcmp(unit ? unit : "ns", units[i].name) == 0) { /* versions before 1.0 write ns alone */
      *ret_ns = units[i].ns;
      return HL_OK;
    }
  return hl__import_wrong(importer, "time_unit", error, "expected ns, us, ms or s, not '%.20s'",
                          unit);
}

static hl_status time_of(hl_importer *importer, const json_t *entry, double *ret_ns,
                         hl_error *error) {
  double unit_ns = 1;
  hl_status status = unit_of(importer, entry, &unit_ns, error);
  return status == HL_OK ? hl__import_duration(importer, entry, "real_time", unit_ns, ret_ns, error)
                         : status;
}

/* An entry that measured nothing: the row's outcome says so. */
static bool take_failure(const json_t *entry, hl_record *record) {
  bool failed = json_is_true(json_object_get(entry, "error_occurred"));
  bool skipped = json_is_true(json_object_get(entry, "skipped"));
  if (!failed && !skipped) return false;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl__import_clean(text_of(entry, failed ? "error_message" : "skip_message"));
  hl_record_set_text(&record->outcome, hl_outcome_name(failed ? HL_FAILED : HL_SKIPPED));
  hl_record_set_text(&record->reason, why && why[0] ? why : "the benchmark says no reason");
  return true;
}

/* The times of all repetitions, each of `steps` steps: all have as many iterations, or the mean of
 * each stands for the least of them. */
static hl_status repetitions(hl_importer *importer, const json_t *list, const group *g,
                             hl_import_row *row, hl_error *error) {
  double *ns = malloc(g->count * sizeof *ns);
  if (!ns) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for repetitions");
  row->samples.ns = ns;
  int64_t least = HL_IMPORT_MAX_STEPS, most = 1, steps = 0;
  size_t n = 0;
  hl_status status = HL_OK;
  /* hotlap's own: a repetition is the median of samples that are each of so many steps. */
  if (row->own) status = hl__import_int(importer, row->own, "steps_per_sample", &steps, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < g->count; i++) {
    const json_t *entry = json_array_get(list, g->entries[i]);
    int64_t iterations;
    double mean_ns;
    hl__import_place(importer, "benchmarks[%zu]", g->entries[i]);
    if (is_aggregate(entry) || take_failure(entry, &row->record)) continue;
    status = time_of(importer, entry, &mean_ns, error);
    if (status == HL_OK) status = hl__import_int(importer, entry, "iterations", &iterations, error);
    if (status != HL_OK) return status;
    if (isnan(mean_ns)) {
      hl__import_lose(importer, "repetitions without a real_time", 1);
      continue;
    }
    if (iterations < 1) iterations = 1; /* absent: nothing is said of it */
    if (iterations < least) least = iterations;
    if (iterations > most) most = iterations;
    ns[n++] = mean_ns;
  }
  if (steps >= 1 && steps <= HL_IMPORT_MAX_STEPS) least = most = steps;
  for (size_t i = 0; i < n; i++) {
    ns[i] *= (double)least;
    if (ns[i] > 1e18) return hl__import_wrong(importer, "iterations", error, "more than 31 years");
  }
  row->samples.count = n;
  row->samples.steps = (uint32_t)least;
  if (n && most != least)
    hl_record_note(&row->record,
                   "repetitions of different lengths, %lld to %lld iterations, "
                   "count alike",
                   (long long)least, (long long)most);
  return HL_OK;
}

/* --benchmark_report_aggregates_only: the rows "mean", "median" and "stddev" of the repetitions. */
static hl_status aggregates(hl_importer *importer, const json_t *list, const group *g,
                            hl_record *record, hl_error *error) {
  for (size_t i = 0; i < g->count; i++) {
    const json_t *entry = json_array_get(list, g->entries[i]);
    const char *which = text_of(entry, "aggregate_name");
    double ns;
    int64_t n;
    hl__import_place(importer, "benchmarks[%zu]", g->entries[i]);
    bool mean = strcmp(which, "mean") == 0, median = strcmp(which, "median") == 0;
    bool deviation = strcmp(which, "stddev") == 0;
    if (!mean && !median && !deviation) continue;
    hl_status status = time_of(importer, entry, &ns, error);
    if (status == HL_OK) status = hl__import_int(importer, entry, "iterations", &n, error);
    if (status != HL_OK) return status;
    if (mean) record->latency_mean_ms = ns / 1e6;
    if (median) record->latency_p50_ms = ns / 1e6;
    /* of the means of repetitions, which is not that of steps: told, not kept */
    if (deviation && n > 1)
      hl_record_note(record, "%lld repetitions, deviation of their means %.6g ms", (long long)n,
                     ns / 1e6);
  }
  hl_record_note(record, "no single repetitions: numbers are google-benchmark's aggregates");
  return HL_OK;
}

/* What entries say beyond times: the file's own members are counted as lost. */
static void extras(hl_importer *importer, const json_t *entry, bool *ret_cpu_time) {
  static const char *const known[] = {"name",
                                      "family_index",
                                      "per_family_instance_index",
                                      "run_name",
                                      "run_type",
                                      "repetitions",
                                      "repetition_index",
                                      "threads",
                                      "iterations",
                                      "real_time",
                                      "cpu_time",
                                      "time_unit",
                                      "label",
                                      "items_per_second",
                                      "error_occurred",
                                      "error_message",
                                      "skipped",
                                      "skip_message",
                                      "aggregate_name",
                                      "aggregate_unit",
                                      "hotlap"};
  const char *key;
  json_t *value;
  size_t counters = 0;
  json_object_foreach((json_t *)(uintptr_t)entry, key, value) {
    size_t i = 0;
    while (i < HL_COUNT(known) && strcmp(known[i], key) != 0) i++;
    counters += i == HL_COUNT(known);
  }
  hl__import_lose(importer, "user counters", counters);
  *ret_cpu_time = json_object_get(entry, "cpu_time") != NULL;
}

static bool is_wall_time(const char *name) {
  return strstr(name, "/real_time") || strstr(name, "/manual_time");
}

/* Of the first entry: what all repetitions share. */
static hl_status shared(hl_importer *importer, const json_t *entry, const char *name,
                        hl_record *record, hl_error *error) {
  const char *label;
  double items;
  bool cpu_time = false;
  hl_status status = hl__import_int(importer, entry, "threads", &record->threads, error);
  if (status == HL_OK) status = hl__import_text(importer, entry, "label", &label, error);
  if (status == HL_OK)
    status = hl__import_number(importer, entry, "items_per_second", &items, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *clean = label ? hl__import_clean(label) : NULL;
  if (clean && clean[0]) hl_record_note(record, "label: %.300s", clean);
  /* Without /real_time in its name a benchmark divides its items by CPU time. */
  if (isfinite(items) && is_wall_time(name)) {
    record->throughput_ips = items;
    hl_record_note(record, "throughput is items_per_second");
  } else if (isfinite(items)) {
    hl__import_lose(importer, "items_per_second by CPU time", 1);
  }
  extras(importer, entry, &cpu_time);
  if (cpu_time) hl__import_lose(importer, "cpu_time of a row", 1);
  return HL_OK;
}

/* hotlap's own row, which the median's entry of its files holds. */
static const json_t *find_own(const json_t *list, const group *g) {
  const json_t *own = NULL;
  for (size_t i = 0; i < g->count && !own; i++)
    own = json_object_get(json_array_get(list, g->entries[i]), "hotlap");
  return json_is_object(own) ? own : NULL;
}

static hl_status fill(hl_importer *importer, const json_t *list, const group *g, hl_import_row *row,
                      hl_error *error) {
  const json_t *first = json_array_get(list, g->entries[0]);
  row->own = find_own(list, g);
  if (row->own) row->variant = g->name;
  hl__import_place(importer, "benchmarks[%zu]", g->entries[0]);
  hl__import_row_name(row, g->name);
  hl_status status = shared(importer, first, g->name, &row->record, error);
  if (status == HL_OK) status = repetitions(importer, list, g, row, error);
  if (status != HL_OK || row->samples.count || row->record.outcome) return status;
  return aggregates(importer, list, g, &row->record, error);
}

/* Names the statistics that were left alone; true if the row is nothing but a fit. */
static bool count_aggregates(hl_importer *importer, const json_t *list, const group *g) {
  size_t aggregated = 0, fits = 0;
  for (size_t i = 0; i < g->count; i++) {
    const json_t *entry = json_array_get(list, g->entries[i]);
    const char *which = text_of(entry, "aggregate_name");
    bool fit = strcmp(which, "BigO") == 0 || strcmp(which, "RMS") == 0;
    fits += fit;
    aggregated += is_aggregate(entry) && !fit;
  }
  hl__import_lose(importer, "rows of big-O fits", fits);
  if (aggregated && aggregated + fits < g->count)
    hl__import_lose(importer, "aggregates, which follow from the repetitions", aggregated);
  return fits == g->count;
}

/* -- the file ---------------------------------------------------------------------------------- */

static hl_status gather(hl_importer *importer, const json_t *list, groups *ret_groups,
                        hl_error *error) {
  ret_groups->index = json_object();
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *entry = json_array_get(list, i);
    const char *name = NULL;
    hl__import_place(importer, "benchmarks[%zu]", i);
    if (!json_is_object(entry))
      return hl__import_wrong(importer, NULL, error, "expected an object");
    hl_status status = hl__import_text(importer, entry, "run_name", &name, error);
    if (status == HL_OK && !name) status = hl__import_text(importer, entry, "name", &name, error);
    if (status != HL_OK) return status;
    if (!name) return hl__import_wrong(importer, "name", error, "it is missing");
    group *g = group_of(ret_groups, name);
    if (!g || !group_add(g, i))
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for benchmarks");
  }
  return HL_OK;
}

static hl_status read_context(hl_importer *importer, const json_t *context, const char **ret_commit,
                              const char **ret_version, hl_error *error) {
  hl_run_info *info = &importer->import->info;
  const char *host = NULL, *date = NULL;
  hl__import_place(importer, "context");
  hl_status status = hl__import_text(importer, context, "host_name", &host, error);
  if (status == HL_OK) status = hl__import_text(importer, context, "date", &date, error);
  if (status == HL_OK) status = hl__import_int(importer, context, "num_cpus", &info->cores, error);
  if (status == HL_OK) status = hl__import_text(importer, context, "git_commit", ret_commit, error);
  if (status == HL_OK)
    status = hl__import_text(importer, context, "library_version", ret_version, error);
  if (status != HL_OK) return status;
  char utc[32], cpus[48] = "";
  bool zoned;
  if (date && hl__import_time(date, utc, &zoned)) hl_record_set_text(&info->created, utc);
  if (info->cores != HL_INT_NULL && host)
    snprintf(cpus, sizeof cpus, "%lld CPUs", (long long)info->cores);
  hl__import_machine(importer, (const char *const[]){host, cpus}, 2);
  return HL_OK;
}

static hl_status add_rows(hl_importer *importer, const json_t *list, const groups *g,
                          const char *commit, const char *version, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < g->count && status == HL_OK; i++) {
    if (!g->items[i].entries) continue; /* each has one, which the analyzer cannot know */
    if (count_aggregates(importer, list, &g->items[i])) continue;
    hl_import_row row;
    hl__import_row_init(&row);
    hl_record_set_text(&row.record.git_commit, commit);
    hl_record_set_text(&row.record.engine_version, version);
    status = fill(importer, list, &g->items[i], &row, error);
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
  }
  return status;
}

hl_status hl__import_google_benchmark(hl_importer *importer, const json_t *root, hl_error *error) {
  const json_t *list = json_object_get(root, "benchmarks");
  const json_t *context = json_object_get(root, "context");
  const char *commit = NULL, *version = NULL;
  if (!json_is_array(list))
    return hl__import_wrong(importer, "benchmarks", error, "expected a list of benchmarks");
  hl_status status = read_context(importer, context, &commit, &version, error);
  if (status != HL_OK) return status;
  groups g = {0};
  status = gather(importer, list, &g, error);
  if (status == HL_OK) status = add_rows(importer, list, &g, commit, version, error);
  groups_release(&g);
  return status;
}
