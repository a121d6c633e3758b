#include "formats/import.h"

#include "base/file.h"
#include "base/hash.h"
#include "formats/import-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef hl_status (*reader)(hl_importer *importer, const json_t *root, hl_error *error);

static const struct {
  const char *name;
  reader read;
} formats[HL_IMPORT_FORMATS] = {
    [HL_IMPORT_GOOGLE_BENCHMARK] = {"google-benchmark", hl__import_google_benchmark},
    [HL_IMPORT_OPTIMUM_BENCHMARK] = {"optimum-benchmark", hl__import_optimum},
    [HL_IMPORT_HYPERFINE] = {"hyperfine", hl__import_hyperfine},
    [HL_IMPORT_LLAMA_BENCH] = {"llama-bench", hl__import_llama_bench},
    [HL_IMPORT_ASV] = {"asv", hl__import_asv},
    [HL_IMPORT_BENCH594] = {"bench594", hl__import_bench594},
    [HL_IMPORT_MEASURE] = {"hotlap-measure", hl__import_measure},
};

const char *hl_import_format_name(hl_import_format format) {
  return (size_t)format < HL_IMPORT_FORMATS ? formats[format].name : "unknown";
}

static void append_names(hl_text *out) {
  for (size_t i = 0; i < HL_IMPORT_FORMATS; i++)
    hl_text_format(out, "%s%s", i ? ", " : "", formats[i].name);
}

hl_status hl_import_format_from_name(const char *name, hl_import_format *ret_format,
                                     hl_error *error) {
  for (size_t i = 0; i < HL_IMPORT_FORMATS; i++)
    if (strcmp(formats[i].name, name) == 0) {
      *ret_format = (hl_import_format)i;
      return HL_OK;
    }
  hl_text names = HL_TEXT_INIT;
  append_names(&names);
  hl_status status =
      hl_error_set(error, HL_INVALID_ARGUMENT, "unknown import format '%.60s'; expected one of %s",
                   name, names.data);
  hl_text_release(&names);
  return status;
}

void hl_import_release(hl_import *import) {
  for (size_t i = 0; i < import->records.count; i++) free(import->keys[i]);
  free(import->keys);
  free(import->host);
  hl_records_release(&import->records);
  hl_run_info_release(&import->info);
  *import = (hl_import){0};
}

/* -- which format ------------------------------------------------------------------------------ */

static bool is_llama_test(const json_t *object) {
  return json_object_get(object, "model_filename") && json_object_get(object, "avg_ns");
}

/* A target of a report has one of these. */
static bool is_report(const json_t *object) {
  const char *key;
  json_t *target;
  json_object_foreach((json_t *)(uintptr_t)object, key, target) {
    if (json_is_object(target) &&
        (json_object_get(target, "latency") || json_object_get(target, "throughput")))
      return true;
  }
  return false;
}

static bool detect(const json_t *root, hl_import_format *ret_format) {
  const json_t *results = json_object_get(root, "results");
  if (json_is_array(root) && is_llama_test(json_array_get(root, 0)))
    *ret_format = HL_IMPORT_LLAMA_BENCH;
  else if (json_object_get(root, "benchmarks") && json_object_get(root, "context"))
    *ret_format = HL_IMPORT_GOOGLE_BENCHMARK;
  else if (json_object_get(root, "schema") && json_is_array(json_object_get(root, "steps")))
    *ret_format = HL_IMPORT_MEASURE;
  else if (json_is_object(results) && json_object_get(root, "commit_hash"))
    *ret_format = HL_IMPORT_ASV;
  else if (json_is_array(results) && json_object_get(json_array_get(results, 0), "command"))
    *ret_format = HL_IMPORT_HYPERFINE;
  else if (is_report(json_object_get(root, "report")) || is_report(root))
    *ret_format = HL_IMPORT_OPTIMUM_BENCHMARK;
  else
    return false;
  return true;
}

static hl_status unknown_format(const hl_import_source *source, const json_t *root,
                                hl_error *error) {
  const char *what = "results of no tool that is known here";
  if (json_object_get(root, "backend") && json_object_get(root, "scenario"))
    what = "the configuration of optimum-benchmark; name the benchmark_report.json beside it";
  else if (json_object_get(root, "machine") && json_object_get(root, "num_cpu"))
    what = "asv's facts about a machine; name the COMMIT-ENVIRONMENT.json beside it";
  hl_text names = HL_TEXT_INIT;
  append_names(&names);
  hl_status status =
      hl_error_set(error, HL_BAD_DATA, "%s: %s. Read are %s; --import-format says which it is",
                   source->name, what, names.data);
  hl_text_release(&names);
  return status;
}

/* -- the document ------------------------------------------------------------------------------ */

/* Lines that each are an object, as a list. */
static hl_status parse_lines(hl_importer *importer, json_t **ret_root, hl_error *error) {
  const char *at = importer->source->data, *end = at + importer->source->bytes;
  json_t *root = json_array();
  hl_status status = HL_OK;
  for (size_t line = 1; at < end && status == HL_OK; line++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    json_t *object = NULL;
    const char *first = at;
    while (first < stop && memchr(" \t\r", *first, 3)) first++;
    bool empty = first == stop;
    if (json_array_size(root) >= HL_IMPORT_MAX_ROWS)
      status = hl_error_set(error, HL_LIMIT, "%s: more than %d rows. Import it in parts",
                            importer->source->name, HL_IMPORT_MAX_ROWS);
    else if (!empty)
      status = hl__import_parse(importer, at, (size_t)(stop - at), line, &object, error);
    if (object && json_array_append_new(root, object) != 0)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a document");
    at = stop < end ? stop + 1 : end;
  }
  if (status == HL_OK)
    *ret_root = root;
  else
    json_decref(root);
  return status;
}

static bool begins_with(const char *at, const char *end, const char *word) {
  size_t length = strlen(word);
  return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

/* A document of several lines each of which is whole: the first ends before the text does. */
static bool is_lines(const char *at, const char *end) {
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  if (at == end || *at != '{' || !stop || stop[-1] == '{') return false;
  while (stop > at && (stop[-1] == '\r' || stop[-1] == ' ')) stop--;
  return stop > at && stop[-1] == '}' && begins_with(at, stop, "{\"build_commit\"");
}

/* The format of a text that says so before it is parsed; HL_IMPORT_FORMATS: it does not. */
static hl_status parse(hl_importer *importer, json_t **ret_root, hl_import_format *ret_told,
                       hl_error *error) {
  const hl_import_source *source = importer->source;
  const char *at = source->data, *end = at + source->bytes;
  while (at < end && memchr(" \t\r\n", *at, 4)) at++;
  *ret_told = HL_IMPORT_LLAMA_BENCH;
  if (at == end)
    return hl_error_set(error, HL_BAD_DATA, "%s: the file is empty. Write it again", source->name);
  if (begins_with(at, end, "build_commit,"))
    return hl__import_csv(importer, source->data, source->bytes, ret_root, error);
  if ((source->format && *source->format == HL_IMPORT_BENCH594) ||
      (!source->format && *at != '{' && *at != '[' &&
       (hl_text_ends(source->name, ".csv") || hl__import_is_bench594(at, (size_t)(end - at))))) {
    *ret_told = HL_IMPORT_BENCH594;
    return hl__import_csv(importer, source->data, source->bytes, ret_root, error);
  }
  if (begins_with(at, end, "CREATE TABLE") || begins_with(at, end, "INSERT INTO") || *at == '|')
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: llama-bench's Markdown or SQL; of its outputs json, jsonl and csv are "
                        "read. Write it again with -o json",
                        source->name);
  if (is_lines(at, end)) return parse_lines(importer, ret_root, error);
  *ret_told = HL_IMPORT_FORMATS;
  return hl__import_parse(importer, source->data, source->bytes, 1, ret_root, error);
}

/* A single test is a list of one. */
static hl_status as_list(json_t **root, hl_error *error) {
  if (json_is_array(*root)) return HL_OK;
  json_t *list = json_array();
  if (!list || json_array_append_new(list, *root) != 0) {
    if (!list) json_decref(*root);
    json_decref(list);
    *root = NULL;
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a document");
  }
  *root = list;
  return HL_OK;
}

/* -- the run ----------------------------------------------------------------------------------- */

/* A configuration that is there twice is numbered: "... #2". */
static hl_status number_keys(hl_import *import, hl_error *error) {
  json_t *seen = json_object();
  bool whole = seen != NULL;
  for (size_t i = 0; i < import->records.count && whole; i++) {
    json_int_t n = json_integer_value(json_object_get(seen, import->keys[i])) + 1;
    whole = json_object_set_new(seen, import->keys[i], json_integer(n)) == 0;
    if (n == 1 || !whole) continue;
    char *numbered = hl_format("%s #%" JSON_INTEGER_FORMAT, import->keys[i], n);
    if ((whole = numbered != NULL)) {
      free(import->keys[i]);
      import->keys[i] = numbered;
    }
  }
  json_decref(seen);
  return whole ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for rows");
}

static hl_status finish(hl_importer *importer, hl_error *error) {
  const hl_import_source *source = importer->source;
  hl_import *import = importer->import;
  hl_run_info *info = &import->info;
  if (!import->records.count)
    return hl_error_set(error, HL_BAD_DATA, "%s: no results with times in it. Is it whole?",
                        source->name);
  if (!info->created) {
    hl_record_set_text(&info->created, source->modified);
    for (size_t i = 0; i < import->records.count; i++)
      hl_record_note(&import->records.items[i], "no date in the file: the run's is the file's own");
  }
  for (size_t i = 0; i < import->records.count; i++) {
    hl_record *r = &import->records.items[i];
    if (!r->timestamp) hl_record_set_text(&r->timestamp, info->created);
  }
  if (!import->machine_known) {
    hl_import_set_machine(import, "unknown machine");
    import->machine_known = false;
  }
  hl_record_set_text(&info->percentiles, "linear");
  hl_record_set_text(&info->hotlap_version, HL_VERSION);
  uint64_t hash = hl_hash_bytes(HL_HASH_START, source->data, source->bytes);
  snprintf(import->hash, sizeof import->hash, "import:%016" PRIx64, hash);
  bool whole = info->machine_id && info->percentiles && info->hotlap_version;
  return whole ? number_keys(import, error)
               : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the run's facts");
}

static hl_status read_document(hl_importer *importer, json_t **root, hl_import_format told,
                               hl_error *error) {
  const hl_import_source *source = importer->source;
  if (source->format)
    importer->format = *source->format;
  else if (told < HL_IMPORT_FORMATS)
    importer->format = told;
  else if (is_llama_test(*root))
    importer->format = HL_IMPORT_LLAMA_BENCH;
  else if (!detect(*root, &importer->format))
    return unknown_format(source, *root, error);
  importer->import->format = importer->format;
  hl_status status = importer->format == HL_IMPORT_LLAMA_BENCH ? as_list(root, error) : HL_OK;
  if (status == HL_OK) status = formats[importer->format].read(importer, *root, error);
  return status == HL_OK ? finish(importer, error) : status;
}

hl_status hl_import_memory(const hl_import_source *source, hl_import *ret_import, hl_error *error) {
  if (source->bytes > HL_IMPORT_MAX_BYTES || source->config_bytes > HL_IMPORT_MAX_BYTES)
    return hl_error_set(error, HL_LIMIT, "%s: larger than %zu MiB. Import it in parts",
                        source->name, HL_IMPORT_MAX_BYTES >> 20);
  hl_import import = {0};
  hl_importer importer = {.source = source, .import = &import};
  hl_run_info_init(&import.info);
  json_t *root = NULL;
  hl_import_format told = HL_IMPORT_FORMATS;
  hl_status status = parse(&importer, &root, &told, error);
  if (status == HL_OK) status = read_document(&importer, &root, told, error);
  json_decref(root);
  if (status == HL_OK)
    *ret_import = import;
  else
    hl_import_release(&import);
  return status;
}

/* benchmark_config.json beside the file, where it can be read: a report without one says so in its
 * rows, other files do not need it. */
static bool map_config(const char *path, hl_mapping *ret_mapping) {
  const char *slash = strrchr(path, '/');
  HL_CLEANUP(hl_free_pointer)
  char *config = hl_format("%.*s" HL_IMPORT_CONFIG_NAME, slash ? (int)(slash + 1 - path) : 0, path);
  return config && hl_file_map(config, HL_IMPORT_MAX_BYTES, ret_mapping, NULL) == HL_OK;
}

hl_status hl_import_file(const char *path, const hl_import_format *format, hl_import *ret_import,
                         hl_error *error) {
  hl_mapping file, config = {0};
  struct stat facts;
  char modified[32];
  hl_status status = hl_file_map(path, HL_IMPORT_MAX_BYTES, &file, error);
  if (status != HL_OK) return status;
  bool has_config = map_config(path, &config);
  bool dated =
      stat(path, &facts) == 0 && hl__import_time_ms((double)facts.st_mtim.tv_sec * 1e3, modified);
  const hl_import_source source = {.name = path,
                                   .modified = dated ? modified : NULL,
                                   .data = (const char *)file.data,
                                   .bytes = file.bytes,
                                   .config = has_config ? (const char *)config.data : NULL,
                                   .config_bytes = has_config ? config.bytes : 0,
                                   .format = format};
  status = hl_import_memory(&source, ret_import, error);
  if (has_config) hl_file_unmap(&config);
  hl_file_unmap(&file);
  return status;
}
