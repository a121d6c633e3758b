#include "models/spec.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- values by key ---------------------------------------------------------------------------- */

static int find_parameter(const hl_model_row *row, const char *key, size_t length) {
  const hl_model_parameter *list = row->model.parameters;
  for (int i = 0; list[i].key; i++) {
    const char *names[] = {list[i].key, list[i].alias};
    for (size_t j = 0; j < HL_COUNT(names); j++)
      if (names[j] && strlen(names[j]) == length && memcmp(names[j], key, length) == 0) return i;
  }
  return -1;
}

static int index_of(const hl_model_spec *spec, const char *key) {
  int index = find_parameter(spec->row, key, strlen(key));
  return index < 0 ? 0 : index;
}

const char *hl_model_text(const hl_model_spec *spec, const char *key) {
  return spec->text[index_of(spec, key)];
}

int64_t hl_model_int(const hl_model_spec *spec, const char *key) {
  return strtoll(hl_model_text(spec, key), NULL, 10);
}

double hl_model_real(const hl_model_spec *spec, const char *key) {
  return strtod(hl_model_text(spec, key), NULL);
}

bool hl_model_switch(const hl_model_spec *spec, const char *key) {
  return strcmp(hl_model_text(spec, key), "on") == 0;
}

bool hl_model_given(const hl_model_spec *spec, const char *key) {
  return spec->given[index_of(spec, key)];
}

size_t hl_model_sizes(const hl_model_spec *spec, const char *key,
                      int64_t ret_sizes[HL_MODEL_SIZE_COUNT]) {
  size_t count = 0;
  char *at = (char *)hl_model_text(spec, key);
  while (*at >= '0' && *at <= '9') {
    int64_t size = strtoll(at, &at, 10);
    if (count < HL_MODEL_SIZE_COUNT) ret_sizes[count] = size;
    count++;
    if (*at) at++;
  }
  return count;
}

void hl_model_set(hl_model_spec *spec, const char *key, const char *text) {
  snprintf(spec->text[index_of(spec, key)], HL_MODEL_TEXT, "%s", text);
}

/* -- refusals --------------------------------------------------------------------------------- */

static hl_status refuse(const hl_model_row *row, const char *key, const char *value,
                        const char *possible, hl_error *error) {
  return hl_error_set(error, HL_INVALID_ARGUMENT, "model '%s': %s cannot be '%.60s'; possible: %s",
                      row->model.name, key, value, possible);
}

hl_status hl_model_refuse(const hl_model_spec *spec, const char *key, const char *possible,
                          hl_error *error) {
  return refuse(spec->row, key, hl_model_text(spec, key), possible, error);
}

hl_status hl_model_limit(const hl_model_spec *spec, double weights, hl_error *error) {
  if (weights <= HL_MODEL_MAX_WEIGHTS) return HL_OK;
  return hl_error_set(error, HL_LIMIT,
                      "model '%s': these sizes give %.3g million weights; at most %.0f million fit "
                      "an ONNX file. Use smaller sizes",
                      spec->row->model.name, weights / 1e6, HL_MODEL_MAX_WEIGHTS / 1e6);
}

/* What a parameter may be, in words. */
static void possible_values(const hl_model_parameter *parameter, char *ret, size_t capacity) {
  switch (parameter->kind) {
  case HL_MODEL_INT:
    snprintf(ret, capacity, "a whole number from %.0f to %.0f", parameter->min, parameter->max);
    break;
  case HL_MODEL_REAL:
    snprintf(ret, capacity, "a number from %g to %g", parameter->min, parameter->max);
    break;
  case HL_MODEL_CHOICE:
    snprintf(ret, capacity, "%s", parameter->choices);
    break;
  case HL_MODEL_SWITCH:
    snprintf(ret, capacity, "on, off");
    break;
  case HL_MODEL_SIZES:
    snprintf(ret, capacity, "2 to %d whole numbers from %.0f to %.0f joined by '%c'%s%s",
             HL_MODEL_SIZE_COUNT, parameter->min, parameter->max, parameter->joint,
             parameter->choices ? ", or " : "", parameter->choices ? parameter->choices : "");
    break;
  }
}

/* -- one value -------------------------------------------------------------------------------- */

static bool read_int(const char *value, const hl_model_parameter *parameter, int64_t *ret) {
  return hl_parse_int(value, (int64_t)parameter->min, (int64_t)parameter->max, parameter->key, ret,
                      NULL) == HL_OK;
}

/* True if `value` is one of the names in "a, b, c". */
static bool is_choice(const char *choices, const char *value) {
  size_t length = strlen(value);
  for (const char *at = choices; at && *at && length;) {
    size_t size = strcspn(at, ",");
    if (size == length && memcmp(at, value, length) == 0) return true;
    at += size;
    at += strspn(at, ", ");
  }
  return false;
}

static bool read_switch(const char *value, bool *ret) {
  static const char *const on[] = {"on", "true", "yes", "1"};
  static const char *const off[] = {"off", "false", "no", "0"};
  for (size_t i = 0; i < HL_COUNT(on); i++) {
    *ret = strcmp(value, on[i]) == 0;
    if (*ret || strcmp(value, off[i]) == 0) return true;
  }
  return false;
}

static bool read_sizes(const char *value, const hl_model_parameter *parameter, char *ret) {
  char copy[HL_MODEL_TEXT];
  if (parameter->choices && is_choice(parameter->choices, value)) {
    snprintf(ret, HL_MODEL_TEXT, "%s", value);
    return true;
  }
  snprintf(copy, sizeof copy, "%s", value);
  size_t count = 0, used = 0;
  for (char *at = copy; at; count++) {
    char *joint = strchr(at, parameter->joint);
    int64_t size;
    if (joint) *joint = '\0';
    if (count == HL_MODEL_SIZE_COUNT || *at == '-' || !read_int(at, parameter, &size)) return false;
    char before[2] = {count ? parameter->joint : '\0', '\0'};
    int length = snprintf(ret + used, HL_MODEL_TEXT - used, "%s%" PRId64, before, size);
    if (length < 0 || (size_t)length >= HL_MODEL_TEXT - used) return false;
    used += (size_t)length;
    at = joint ? joint + 1 : NULL;
  }
  return count >= 2;
}

/* Checks `value` and writes its canonical text to `ret` (HL_MODEL_TEXT bytes). */
static bool read_value(const char *value, const hl_model_parameter *parameter, char *ret) {
  int64_t integer;
  double real;
  bool on;
  switch (parameter->kind) {
  case HL_MODEL_INT:
    if (!read_int(value, parameter, &integer)) return false;
    snprintf(ret, HL_MODEL_TEXT, "%" PRId64, integer);
    return true;
  case HL_MODEL_REAL:
    if (hl_parse_real(value, parameter->min, parameter->max, parameter->key, &real, NULL) != HL_OK)
      return false;
    snprintf(ret, HL_MODEL_TEXT, "%.9g", real);
    return true;
  case HL_MODEL_CHOICE:
    if (!is_choice(parameter->choices, value)) return false;
    snprintf(ret, HL_MODEL_TEXT, "%s", value);
    return true;
  case HL_MODEL_SWITCH:
    if (!read_switch(value, &on)) return false;
    snprintf(ret, HL_MODEL_TEXT, "%s", on ? "on" : "off");
    return true;
  case HL_MODEL_SIZES:
    return read_sizes(value, parameter, ret);
  }
  return false;
}

/* -- the whole specification ------------------------------------------------------------------ */

static hl_status unknown_model(const char *name, size_t length, hl_error *error) {
  const char *nearest[3] = {NULL};
  size_t distances[3] = {0};
  for (size_t i = 0; hl_model_row_at(i); i++) {
    const char *candidate = hl_model_row_at(i)->model.name;
    size_t d = hl_edit_distance(name, length, candidate);
    for (size_t j = 0; j < HL_COUNT(nearest); j++) {
      if (nearest[j] && distances[j] <= d) continue;
      const char *displaced = nearest[j];
      size_t further = distances[j];
      nearest[j] = candidate;
      distances[j] = d;
      candidate = displaced;
      d = further;
      if (!candidate) break;
    }
  }
  return hl_error_set(error, HL_NOT_FOUND,
                      "no built-in model is named '%.*s'; the nearest names are %s, %s and %s. "
                      "`hotlap models` lists all; a model file ends in .onnx",
                      (int)(length > 60 ? 60 : length), name, nearest[0], nearest[1], nearest[2]);
}

static hl_status unknown_parameter(const hl_model_row *row, const char *key, size_t length,
                                   hl_error *error) {
  char keys[192] = "";
  size_t used = 0;
  const hl_model_parameter *list = row->model.parameters;
  for (size_t i = 0; list[i].key && used < sizeof keys; i++)
    used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s", i ? ", " : "", list[i].key);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "model '%s' has no parameter '%.*s'; possible: %s", row->model.name,
                      (int)(length > 60 ? 60 : length), key,
                      list[0].key ? keys : "none, it takes no parameters");
}

/* Reads `item`, "key=value" of `length` bytes, into `spec`. */
static hl_status read_item(hl_model_spec *spec, const char *item, size_t length, hl_error *error) {
  const char *equals = memchr(item, '=', length);
  size_t key_length = equals ? (size_t)(equals - item) : length;
  int index = find_parameter(spec->row, item, key_length);
  if (index < 0) return unknown_parameter(spec->row, item, key_length, error);
  const hl_model_parameter *parameter = &spec->row->model.parameters[index];
  char value[HL_MODEL_TEXT], possible[256];
  possible_values(parameter, possible, sizeof possible);
  if (!equals)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "model '%s': %s has no value; write %s=VALUE, possible: %s",
                        spec->row->model.name, parameter->key, parameter->key, possible);
  if (spec->given[index])
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "model '%s': %s is given more than once; give it once",
                        spec->row->model.name, parameter->key);
  size_t value_length = length - key_length - 1;
  bool fits = value_length < sizeof value;
  snprintf(value, sizeof value, "%.*s", (int)(fits ? value_length : sizeof value - 1), equals + 1);
  if (!fits || !read_value(value, parameter, spec->text[index]))
    return refuse(spec->row, parameter->key, value, possible, error);
  spec->given[index] = true;
  return HL_OK;
}

hl_status hl_model_spec_parse(const char *text, hl_model_spec *ret_spec, hl_error *error) {
  if (!text || strnlen(text, HL_MODEL_SPEC_TEXT) == HL_MODEL_SPEC_TEXT)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a model specification has at most %d characters", HL_MODEL_SPEC_TEXT - 1);
  size_t length = strcspn(text, ":");
  hl_model_spec spec = {.row = hl_model_row_find(text)};
  if (!spec.row) return unknown_model(text, length, error);
  const hl_model_parameter *list = spec.row->model.parameters;
  for (size_t i = 0; list[i].key; i++) snprintf(spec.text[i], HL_MODEL_TEXT, "%s", list[i].value);
  for (const char *at = text[length] ? text + length + 1 : NULL; at;) {
    size_t size = strcspn(at, ",");
    hl_status status = read_item(&spec, at, size, error);
    if (status != HL_OK) return status;
    at = at[size] ? at + size + 1 : NULL;
  }
  hl_status status = spec.row->check ? spec.row->check(&spec, error) : HL_OK;
  if (status == HL_OK) *ret_spec = spec;
  return status;
}
