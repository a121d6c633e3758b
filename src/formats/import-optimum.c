/*
 * optimum-benchmark: benchmark_report.json {target: {latency: {values, ...}, throughput, ...}}, or
 * benchmark.json with that under "report" and the configuration under "config".
 *
 * Each target with latencies is a row, but for the loading of the model, which is a fact of all
 * rows. The throughput is samples divided by the mean latency.
 */
#include "formats/import-internal.h"

#include <math.h>
#include <string.h>

/* What the configuration says of all rows; NULL and HL_INT_NULL where there is none. */
typedef struct setup {
  const char *model, *backend, *version, *device, *dtype, *task;
  int64_t batch_size, threads;
  double load_ns;
} setup;

static bool is_load(const char *target) {
  return strcmp(target, "load") == 0 || strcmp(target, "load_model") == 0;
}

static hl_status read_setup(hl_importer *importer, const json_t *config, setup *ret_setup,
                            hl_error *error) {
  const json_t *backend = json_object_get(config, "backend");
  const json_t *shapes = json_object_get(json_object_get(config, "scenario"), "input_shapes");
  *ret_setup = (setup){.batch_size = HL_INT_NULL, .threads = HL_INT_NULL, .load_ns = (double)NAN};
  setup *s = ret_setup;
  hl__import_place(importer, "config.backend");
  hl_status status = hl__import_text(importer, backend, "model", &s->model, error);
  if (status == HL_OK) status = hl__import_text(importer, backend, "name", &s->backend, error);
  if (status == HL_OK) status = hl__import_text(importer, backend, "version", &s->version, error);
  if (status == HL_OK) status = hl__import_text(importer, backend, "device", &s->device, error);
  if (status == HL_OK) status = hl__import_text(importer, backend, "task", &s->task, error);
  if (status == HL_OK) status = hl__import_text(importer, backend, "torch_dtype", &s->dtype, error);
  if (status == HL_OK && !s->dtype)
    status = hl__import_text(importer, backend, "dtype", &s->dtype, error);
  if (status == HL_OK)
    status = hl__import_int(importer, backend, "intra_op_num_threads", &s->threads, error);
  hl__import_place(importer, "config.scenario.input_shapes");
  if (status == HL_OK)
    status = hl__import_int(importer, shapes, "batch_size", &s->batch_size, error);
  if (status == HL_OK && s->batch_size != HL_INT_NULL &&
      (s->batch_size < 1 || s->batch_size > 1000000000))
    status = hl__import_wrong(importer, "batch_size", error, "expected 1 to 10^9");
  return status;
}

static hl_status read_machine(hl_importer *importer, const json_t *config, hl_error *error) {
  hl_run_info *info = &importer->import->info;
  const json_t *environment = json_object_get(config, "environment");
  const json_t *gpus = json_object_get(environment, "gpu");
  const char *cpu, *platform, *gpu = json_string_value(json_array_get(gpus, 0));
  double ram_mb;
  hl__import_place(importer, "config.environment");
  hl_status status = hl__import_text(importer, environment, "cpu", &cpu, error);
  if (status == HL_OK)
    status = hl__import_text(importer, environment, "platform", &platform, error);
  if (status == HL_OK)
    status = hl__import_int(importer, environment, "cpu_count", &info->cores, error);
  if (status == HL_OK)
    status = hl__import_number(importer, environment, "cpu_ram_mb", &ram_mb, error);
  if (status != HL_OK) return status;
  if (ram_mb > 0 && ram_mb < 1e9) info->memory_bytes = (int64_t)llround(ram_mb * 1e6);
  if (cpu) cpu += strspn(cpu, " ");
  HL_CLEANUP(hl_free_pointer) char *kernel = platform ? hl__import_clean(platform) : NULL;
  hl_record_set_text(&info->kernel, kernel);
  hl__import_machine(importer, (const char *const[]){cpu, gpu, platform}, 3);
  return HL_OK;
}

/* -- a target ---------------------------------------------------------------------------------- */

static hl_status latencies(hl_importer *importer, const json_t *latency,
                           hl_import_samples *ret_samples, hl_error *error) {
  const char *unit;
  hl_status status = hl__import_text(importer, latency, "unit", &unit, error);
  if (status != HL_OK) return status;
  if (unit && strcmp(unit, "s") != 0)
    return hl__import_wrong(importer, "unit", error, "expected s, not '%.20s'", unit);
  return hl__import_durations(importer, latency, "values", 1e9, ret_samples, error);
}

static hl_status throughput(hl_importer *importer, const json_t *object, hl_record *record,
                            hl_error *error) {
  const char *unit;
  double value;
  hl_status status = hl__import_text(importer, object, "unit", &unit, error);
  if (status == HL_OK) status = hl__import_number(importer, object, "value", &value, error);
  if (status != HL_OK || isnan(value)) return status;
  if (!(value >= 0)) return hl__import_wrong(importer, "value", error, "it is negative");
  if (unit && (strcmp(unit, "samples/s") == 0 || strcmp(unit, "images/s") == 0)) {
    record->throughput_ips = value;
    hl_record_note(record, "throughput is samples by the mean latency");
    return HL_OK;
  }
  HL_CLEANUP(hl_free_pointer) char *clean = hl__import_clean(unit ? unit : "of no unit");
  hl_record_note(record, "%.6g %.60s, which is no throughput of inputs", value, clean ? clean : "");
  return HL_OK;
}

/* Peaks of optimum-benchmark's polling: of the whole process, which is not memory less a baseline.
 */
static hl_status memory(hl_importer *importer, const json_t *object, hl_record *record,
                        hl_error *error) {
  double ram_mb, process_mb, allocated_mb;
  hl_status status = hl__import_number(importer, object, "max_ram", &ram_mb, error);
  if (status == HL_OK)
    status = hl__import_number(importer, object, "max_process_vram", &process_mb, error);
  if (status == HL_OK)
    status = hl__import_number(importer, object, "max_allocated", &allocated_mb, error);
  if (status != HL_OK) return status;
  if (ram_mb >= 0)
    hl_record_note(record, "peak resident memory of the whole process %.6g MB", ram_mb);
  if (process_mb >= 0) record->device_memory_peak_mb = process_mb;
  if (allocated_mb >= 0) record->engine_device_memory_mb = allocated_mb;
  return HL_OK;
}

static hl_status fill(hl_importer *importer, const char *target, const json_t *object,
                      const setup *s, hl_import_row *row, hl_error *error) {
  hl_record *r = &row->record;
  HL_CLEANUP(hl_free_pointer)
  char *name = hl_format("%s %s", s->model ? s->model : "unknown model", target);
  if (!name) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  hl__import_row_name(row, name);
  hl_record_set_text(&r->framework, s->backend);
  hl_record_set_text(&r->engine_version, s->version);
  hl_record_set_text(&r->device_type, s->device);
  hl_record_set_text(&r->dtype, s->dtype);
  r->threads = s->threads;
  r->load_ms = s->load_ns / 1e6;
  row->batch_size = s->batch_size;
  if (!s->model)
    hl_record_note(r, "no readable " HL_IMPORT_CONFIG_NAME " beside the report: model unknown");
  hl__import_place(importer, "report.%.150s.latency", target);
  hl_status status = latencies(importer, json_object_get(object, "latency"), &row->samples, error);
  hl__import_place(importer, "report.%.150s.throughput", target);
  if (status == HL_OK)
    status = throughput(importer, json_object_get(object, "throughput"), r, error);
  hl__import_place(importer, "report.%.150s.memory", target);
  if (status == HL_OK) status = memory(importer, json_object_get(object, "memory"), r, error);
  return status;
}

static hl_status add_target(hl_importer *importer, const char *target, const json_t *object,
                            const setup *s, hl_error *error) {
  hl__import_place(importer, "report.%.150s", target);
  if (!json_is_object(object))
    return hl__import_wrong(importer, NULL, error, "expected an object, a target's measurements");
  if (json_is_object(json_object_get(object, "energy")))
    hl__import_lose(importer, "energies of a target", 1);
  if (json_is_object(json_object_get(object, "efficiency")))
    hl__import_lose(importer, "efficiencies (samples/kWh)", 1);
  hl_import_row row;
  hl__import_row_init(&row);
  HL_CLEANUP(hl_free_pointer)
  char *variant =
      hl_format("%s %s %s batch=%lld", s->backend ? s->backend : "-", s->device ? s->device : "-",
                s->dtype ? s->dtype : "-", (long long)s->batch_size);
  row.variant = s->batch_size == HL_INT_NULL ? NULL : variant;
  hl_status status = fill(importer, target, object, s, &row, error);
  if (status == HL_OK && row.samples.count)
    status = hl__import_row(importer, &row, error);
  else if (status == HL_OK)
    hl__import_lose(importer, "targets without latencies", 1);
  hl__import_row_release(&row);
  return status;
}

/* The mean time to load, which the report lists as a target. */
static hl_status read_load(hl_importer *importer, const json_t *report, double *ret_ns,
                           hl_error *error) {
  const char *target;
  json_t *object;
  hl_status status = HL_OK;
  json_object_foreach((json_t *)(uintptr_t)report, target, object) {
    if (!is_load(target) || status != HL_OK) continue;
    hl__import_place(importer, "report.%s.latency", target);
    status = hl__import_duration(importer, json_object_get(object, "latency"), "mean", 1e9, ret_ns,
                                 error);
  }
  return status;
}

/* The configuration that lies beside the report. */
static hl_status parse_config(hl_importer *importer, json_t **ret_config, hl_error *error) {
  const hl_import_source *report = importer->source;
  hl_import_source beside = *report;
  beside.name = HL_IMPORT_CONFIG_NAME;
  importer->source = &beside; /* for the messages */
  hl_status status =
      hl__import_parse(importer, beside.config, beside.config_bytes, 1, ret_config, error);
  importer->source = report;
  return status;
}

hl_status hl__import_optimum(hl_importer *importer, const json_t *root, hl_error *error) {
  const json_t *report = json_object_get(root, "report"), *config = json_object_get(root, "config");
  json_t *beside = NULL;
  const char *target;
  json_t *object;
  setup s;
  if (!json_is_object(root))
    return hl__import_wrong(importer, NULL, error, "expected an object, a report");
  if (!report) report = root;
  hl_status status = HL_OK;
  if (!config && importer->source->config) status = parse_config(importer, &beside, error);
  if (status == HL_OK) status = read_setup(importer, config ? config : beside, &s, error);
  if (status == HL_OK) status = read_machine(importer, config ? config : beside, error);
  if (status == HL_OK) status = read_load(importer, report, &s.load_ns, error);
  if (status == HL_OK) {
    json_object_foreach((json_t *)(uintptr_t)report, target, object) {
      if (status == HL_OK && !is_load(target))
        status = add_target(importer, target, object, &s, error);
    }
  }
  json_decref(beside);
  return status;
}
