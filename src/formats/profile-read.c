#include "formats/profile-read-internal.h"

#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_depth = 64, most_values = 1 << 24 };
static const uint64_t most_bytes = (uint64_t)256 << 20;
static const double longest_us = 1e16; /* 317 years: torch counts from 1970 */

hl_status hl__profile_wrong(const hl_profile_reader *reader, const char *key, const char *what,
                            hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: %s%s%s: %s. Write it again with the profiler that made it", reader->name,
                      reader->place, key ? "." : "", key ? key : "", what);
}

const char *hl__profile_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

double hl__profile_number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  double number = (double)NAN;
  if (json_is_number(value))
    number = json_number_value(value);
  else if (json_is_string(value) &&
           hl_parse_real(json_string_value(value), 0, 1e18, key, &number, NULL) != HL_OK)
    number = (double)NAN;
  return number >= 0 && number <= 1e18 ? number : (double)NAN;
}

hl_status hl__profile_times(const hl_profile_reader *reader, const json_t *event,
                            hl_read_call *call, hl_error *error) {
  const char *const keys[] = {"ts", "dur"};
  double *const values[] = {&call->start_us, &call->duration_us};
  for (size_t i = 0; i < HL_COUNT(keys); i++) {
    const json_t *value = json_object_get(event, keys[i]);
    if (!json_is_number(value))
      return hl__profile_wrong(reader, keys[i], "a number of microseconds is missing", error);
    *values[i] = json_number_value(value);
    if (!(fabs(*values[i]) <= longest_us))
      return hl__profile_wrong(reader, keys[i], "no time", error);
  }
  if (call->duration_us < 0) return hl__profile_wrong(reader, "dur", "it is negative", error);
  call->thread_key = hl__profile_number(event, "tid");
  if (isnan(call->thread_key)) call->thread_key = -1;
  return HL_OK;
}

/* What could make a tree too large or too deep is looked for before one is made. */
static hl_status check_size(const char *name, const char *data, size_t bytes, hl_error *error) {
  size_t depth = 0, values = 0, line = 1;
  bool in_text = false;
  for (size_t i = 0; i < bytes; i++) {
    char c = data[i];
    line += c == '\n';
    if (in_text && c == '\\')
      i++;
    else if (c == '"')
      in_text = !in_text;
    if (in_text) continue;
    if (c == '[' || c == '{') depth++;
    if ((c == ']' || c == '}') && depth) depth--;
    values += c == ',' || c == '[' || c == '{';
    if (depth > most_depth)
      return hl_error_set(error, HL_BAD_DATA,
                          "%s: line %zu: nested deeper than %d levels. No profiler writes that; is "
                          "it the right file?",
                          name, line, most_depth);
    if (values > most_values)
      return hl_error_set(error, HL_LIMIT, "%s: line %zu: more than %d values. Profile fewer steps",
                          name, line, most_values);
  }
  return HL_OK;
}

static hl_status parse(const char *name, const char *data, size_t bytes, json_t **ret_root,
                       hl_error *error) {
  hl_status status = check_size(name, data, bytes, error);
  if (status != HL_OK) return status;
  json_error_t fault;
  /* Numbers of threads and flows may be beyond 64 bits. */
  *ret_root = json_loadb(data, bytes, JSON_DECODE_INT_AS_REAL, &fault);
  if (*ret_root) return HL_OK;
  char why[JSON_ERROR_TEXT_LENGTH];
  snprintf(why, sizeof why, "%s", fault.text);
  for (char *c = why; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: line %d: no valid JSON: %s. Is it whole? Write it again", name,
                      fault.line, why);
}

static hl_status read_root(hl_profile_reader *reader, const json_t *root, hl_error *error) {
  const json_t *first = json_array_get(root, 0);
  if (json_is_object(first) && json_object_get(first, "cat"))
    return hl__profile_read_onnxruntime(reader, root, error);
  if (json_is_array(json_object_get(root, "traceEvents")))
    return hl__profile_read_trace(reader, root, error);
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: neither ONNX Runtime's profile, nor a Chrome trace of torch.profiler or "
                      "hotlap (an object with traceEvents)",
                      reader->name);
}

hl_status hl_profile_read_memory(const char *name, const char *data, size_t bytes,
                                 hl_profile **ret_profile, hl_error *error) {
  hl_profile_reader reader = {.name = name};
  json_t *root = NULL;
  hl_status status =
      bytes > most_bytes
          ? hl_error_set(error, HL_LIMIT, "%s: more than 256 MiB. Profile fewer steps", name)
          : parse(name, data, bytes, &root, error);
  if (status == HL_OK) status = hl_profile_new(&reader.profile, error);
  if (status == HL_OK) {
    reader.profile->complete = true;
    status = read_root(&reader, root, error);
  }
  if (status == HL_OK) status = hl__profile_finish(&reader, error);
  json_decref(root);
  free(reader.calls);
  free(reader.table);
  if (status != HL_OK) {
    hl_profile_free(reader.profile);
    return status;
  }
  *ret_profile = reader.profile;
  return HL_OK;
}

hl_status hl_profile_read_file(const char *path, hl_profile **ret_profile, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(path, most_bytes, &mapping, error);
  if (status != HL_OK) return status;
  status =
      hl_profile_read_memory(path, (const char *)mapping.data, mapping.bytes, ret_profile, error);
  hl_file_unmap(&mapping);
  return status;
}
