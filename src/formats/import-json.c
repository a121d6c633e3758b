#include "formats/import-internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double longest_ns = 1e18; /* 31 years */

static const char *const remedies[HL_IMPORT_FORMATS] = {
    [HL_IMPORT_GOOGLE_BENCHMARK] = "Write it again with --benchmark_out=FILE",
    [HL_IMPORT_OPTIMUM_BENCHMARK] = "Run optimum-benchmark again",
    [HL_IMPORT_HYPERFINE] = "Write it again with hyperfine --export-json FILE",
    [HL_IMPORT_LLAMA_BENCH] = "Write it again with llama-bench -o json",
    [HL_IMPORT_ASV] = "Write it again with asv run, or bring it up to date with asv update",
    [HL_IMPORT_BENCH594] = "Mend or remove the row",
    [HL_IMPORT_MEASURE] = "Mend or remove the step",
};

void hl__import_place(hl_importer *importer, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(importer->place, sizeof importer->place, format, args);
  va_end(args);
}

hl_status hl__import_wrong(const hl_importer *importer, const char *key, hl_error *error,
                           const char *format, ...) {
  char what[192];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const char *place = importer->place;
  HL_CLEANUP(hl_free_pointer) char *clean = hl__import_clean(place);
  return hl_error_set(error, HL_BAD_DATA, "%s: %.160s%s%.60s: %s. %s", importer->source->name,
                      clean ? clean : "", place[0] && key ? "." : "", key ? key : "", what,
                      remedies[importer->format]);
}

/* -- from bytes to a document ------------------------------------------------------------------ */

/* Length of a bare number that JSON does not have, which starts at `at`; 0: there is none. */
static size_t odd_number(const char *at, const char *end) {
  static const char *const words[] = {"NaN", "-NaN", "nan", "-nan", "Infinity", "-Infinity"};
  for (size_t i = 0; i < HL_COUNT(words); i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - at) >= length && memcmp(at, words[i], length) == 0) return length;
  }
  return 0;
}

/* What is checked before a tree is built. */
typedef struct scan {
  size_t values, odd, line;
  bool too_deep;
} scan;

/* Copies the document with its odd numbers as null. Strings are left alone. */
static size_t copy_sane(const char *data, size_t bytes, char *to, scan *s) {
  const char *end = data + bytes;
  size_t n = 0, depth = 0;
  bool in_text = false;
  for (const char *c = data; c < end && !s->too_deep && s->values <= HL_IMPORT_MAX_VALUES; c++) {
    size_t odd = in_text ? 0 : odd_number(c, end);
    if (odd) {
      memcpy(to + n, "null", 4);
      n += 4;
      c += odd - 1;
      s->odd++;
      continue;
    }
    to[n++] = *c;
    if (*c == '\n') s->line++;
    if (in_text && *c == '\\' && c + 1 < end)
      to[n++] = *++c;
    else if (*c == '"')
      in_text = !in_text;
    else if (!in_text && (*c == '[' || *c == '{'))
      s->too_deep = ++depth > HL_IMPORT_MAX_DEPTH;
    else if (!in_text && (*c == ']' || *c == '}') && depth)
      depth--;
    if (!in_text && (*c == ',' || *c == '[' || *c == '{')) s->values++;
  }
  return n;
}

hl_status hl__import_parse(hl_importer *importer, const char *data, size_t bytes, size_t line,
                           json_t **ret_root, hl_error *error) {
  const char *name = importer->source->name;
  scan s = {.line = line};
  /* The shortest odd number, with a separator, has as many bytes as null. */
  HL_CLEANUP(hl_free_pointer) char *sane = calloc(bytes + bytes / 3 + 8, 1);
  if (!sane) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory to read it", name);
  size_t length = copy_sane(data, bytes, sane, &s);
  if (s.too_deep)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: line %zu: nested deeper than %d levels. No benchmark writes that; is "
                        "it the right file?",
                        name, s.line, HL_IMPORT_MAX_DEPTH);
  if (s.values > HL_IMPORT_MAX_VALUES)
    return hl_error_set(error, HL_LIMIT, "%s: line %zu: more than %d values. Import it in parts",
                        name, s.line, HL_IMPORT_MAX_VALUES);
  json_error_t fault;
  json_t *root = json_loadb(sane, length, JSON_REJECT_DUPLICATES, &fault);
  if (!root) {
    HL_CLEANUP(hl_free_pointer) char *why = hl__import_clean(fault.text);
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: line %zu: no valid JSON: %.160s. Is it whole? Write it again", name,
                        line + (size_t)(fault.line > 0 ? fault.line - 1 : 0), why ? why : "");
  }
  if (s.odd) hl__import_lose(importer, "values that are NaN or infinite", s.odd);
  *ret_root = root;
  return HL_OK;
}

/* -- members ----------------------------------------------------------------------------------- */

static const char *type_name(const json_t *value) {
  static const char *const names[] = {
      [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "text",
      [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
      [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
  return value ? names[json_typeof(value)] : "nothing";
}

hl_status hl__import_number(const hl_importer *importer, const json_t *object, const char *key,
                            double *ret_value, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  double number = (double)NAN;
  if (json_is_number(value))
    number = json_number_value(value);
  else if (json_is_string(value) &&
           hl_parse_real(json_string_value(value), -1e300, 1e300, key, &number, NULL) == HL_OK)
    ; /* cells of a table, and asv's facts about a machine */
  else if (value && !json_is_null(value))
    return hl__import_wrong(importer, key, error, "expected a number, not %s", type_name(value));
  *ret_value = number;
  return HL_OK;
}

hl_status hl__import_int(const hl_importer *importer, const json_t *object, const char *key,
                         int64_t *ret_value, hl_error *error) {
  double number = NAN;
  hl_status status = hl__import_number(importer, object, key, &number, error);
  if (status != HL_OK) return status;
  *ret_value = HL_INT_NULL;
  if (isnan(number)) return HL_OK;
  const json_t *value = json_object_get(object, key);
  if (fabs(number) > 9e15 || number != floor(number)) /* all whole doubles below are exact */
    return hl__import_wrong(importer, key, error, "expected a whole number below 9e15");
  *ret_value = json_is_integer(value) ? (int64_t)json_integer_value(value) : (int64_t)number;
  return HL_OK;
}

hl_status hl__import_text(const hl_importer *importer, const json_t *object, const char *key,
                          const char **ret_text, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  if (value && !json_is_null(value) && !json_is_string(value))
    return hl__import_wrong(importer, key, error, "expected text, not %s", type_name(value));
  *ret_text = json_string_value(value);
  return HL_OK;
}

static const char *duration_fault(double ns) {
  if (!isfinite(ns)) return "is no number";
  if (ns < 0) return "is negative";
  return ns > longest_ns ? "is more than 31 years" : NULL;
}

hl_status hl__import_duration(const hl_importer *importer, const json_t *object, const char *key,
                              double unit_ns, double *ret_ns, hl_error *error) {
  double value = NAN;
  hl_status status = hl__import_number(importer, object, key, &value, error);
  if (status != HL_OK) return status;
  const char *fault = isnan(value) ? NULL : duration_fault(value * unit_ns);
  if (fault) return hl__import_wrong(importer, key, error, "a time of %g %s", value, fault);
  *ret_ns = value * unit_ns;
  return HL_OK;
}

hl_status hl__import_durations(const hl_importer *importer, const json_t *object, const char *key,
                               double unit_ns, hl_import_samples *ret_samples, hl_error *error) {
  const json_t *list = json_object_get(object, key);
  *ret_samples = (hl_import_samples){.steps = 1};
  if (!list || json_is_null(list)) return HL_OK;
  if (!json_is_array(list))
    return hl__import_wrong(importer, key, error, "expected a list of times, not %s",
                            type_name(list));
  size_t count = json_array_size(list);
  if (!count) return HL_OK;
  double *ns = malloc(count * sizeof *ns);
  if (!ns) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu times", count);
  for (size_t i = 0; i < count; i++) {
    const json_t *item = json_array_get(list, i);
    ns[i] = json_is_number(item) ? json_number_value(item) * unit_ns : (double)NAN;
    const char *fault = duration_fault(ns[i]);
    if (!fault) continue;
    free(ns);
    char place[96];
    snprintf(place, sizeof place, "%.60s[%zu]", key, i);
    if (!json_is_number(item))
      return hl__import_wrong(importer, place, error, "expected a time, not %s", type_name(item));
    return hl__import_wrong(importer, place, error, "a time of %g %s", json_number_value(item),
                            fault);
  }
  ret_samples->ns = ns;
  ret_samples->count = count;
  return HL_OK;
}
