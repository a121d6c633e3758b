#include "run/reference.h"

#include "base/file.h"
#include "base/hash.h"
#include "protocol/messages.h"
#include "run/process.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { evaluate_s = 1800 };
static const char magic[8] = "hlref03";

void hl_reference_release(hl_reference *reference) {
  free(reference->values);
  *reference = (hl_reference){0};
}

void hl_reference_cache_release(hl_reference_cache *cache) {
  hl_reference_release(&cache->current);
  hl_reconstruction_free(cache->image);
  free(cache->image_key);
  cache->image = NULL;
  cache->image_key = NULL;
}

static char *file_path(const char *directory, const char *key) {
  return directory ? hl_format("%s/reference/%s.bin", directory, key) : NULL;
}

static uint64_t checksum(const char *data, size_t bytes) {
  return hl_hash_bytes(HL_HASH_START, data, bytes);
}

/* Whether the file ends with the checksum of what is before it: damage must not look like a wrong
 * engine. */
static bool is_whole(const char *data, size_t bytes) {
  uint64_t stored;
  if (bytes < 16 + sizeof stored || memcmp(data, magic, 8) != 0) return false;
  memcpy(&stored, data + bytes - sizeof stored, sizeof stored);
  return stored == checksum(data, bytes - sizeof stored);
}

/* Elements and, in the highest bit, whether they are to be equal. */
static const uint64_t exact_bit = UINT64_C(1) << 63;

/* File: magic, number of outputs, elements of each (u64), the floats, a checksum (u64). A file that
 * is not exactly so is ignored and written anew. */
static bool read_file(const char *path, hl_reference *ret_reference) {
  char *data = NULL;
  size_t bytes = 0;
  if (!path || hl_file_read(path, HL_CHANNEL_BYTES, &data, &bytes, NULL) != HL_OK) return false;
  hl_reference r = {0};
  uint64_t count = 0, elements;
  bool ok = is_whole(data, bytes);
  if (ok) {
    bytes -= sizeof(uint64_t);
    memcpy(&count, data + 8, 8);
  }
  ok = ok && count <= HL_REFERENCE_OUTPUTS && bytes >= 16 + 8 * count;
  for (size_t i = 0; ok && i < count; i++) {
    memcpy(&elements, data + 16 + 8 * i, 8);
    r.exact[i] = (elements & exact_bit) != 0;
    elements &= ~exact_bit;
    ok = elements <= bytes / sizeof(float);
    r.counts[i] = (size_t)elements;
    r.total += (size_t)elements;
  }
  r.count = (size_t)count;
  ok = ok && bytes == 16 + 8 * count + r.total * sizeof(float);
  if (ok) r.values = malloc(r.total * sizeof(float) + 1);
  ok = ok && r.values;
  if (ok) {
    memcpy(r.values, data + 16 + 8 * count, r.total * sizeof(float));
    *ret_reference = r;
  }
  free(data);
  return ok;
}

/* Failing to write costs time in the next run, nothing else. */
static void write_file(const char *directory, const char *path, const hl_reference *r) {
  HL_CLEANUP(hl_free_pointer) char *folder = hl_format("%s/reference", directory);
  if (!path || !folder || hl_directory_make(folder, NULL) != HL_OK) return;
  hl_text text = HL_TEXT_INIT;
  text.cap_bytes = HL_CHANNEL_BYTES * 2;
  uint64_t count = r->count;
  hl_text_append_n(&text, magic, 8);
  hl_text_append_n(&text, (const char *)&count, 8);
  for (size_t i = 0; i < r->count; i++) {
    uint64_t elements = r->counts[i] | (r->exact[i] ? exact_bit : 0);
    hl_text_append_n(&text, (const char *)&elements, 8);
  }
  hl_text_append_n(&text, (const char *)r->values, r->total * sizeof(float));
  uint64_t sum = checksum(text.data, text.length);
  hl_text_append_n(&text, (const char *)&sum, sizeof sum);
  if (!text.failed) hl_file_write(path, text.data, text.length, NULL);
  hl_text_release(&text);
}

hl_status hl_reference_counts(const hl_message *reply, size_t ret_counts[HL_REFERENCE_OUTPUTS],
                              size_t *ret_count, hl_error *error) {
  const json_t *list = json_object_get(reply->object, "elements");
  size_t count = json_array_size(list), left = reply->byte_count / sizeof(float);
  bool good = count <= HL_REFERENCE_OUTPUTS && reply->byte_count % sizeof(float) == 0;
  for (size_t i = 0; i < count && good; i++) {
    json_int_t elements = json_integer_value(json_array_get(list, i));
    good = elements >= 0 && (size_t)elements <= left;
    if (!good) break;
    ret_counts[i] = (size_t)elements;
    left -= ret_counts[i];
  }
  if (!good || left) return hl_error_set(error, HL_BAD_DATA, "the worker's outputs do not add up");
  *ret_count = count;
  return HL_OK;
}

/* A shape whose product is not the number of elements is none. */
static void take_shape(const json_t *shape, size_t elements, int *ret_rank, int64_t *ret_dims) {
  size_t rank = json_array_size(shape), product = 1;
  *ret_rank = 0;
  if (rank == 0 || rank > HL_RECORD_OUTPUT_RANK) return;
  for (size_t i = 0; i < rank; i++) {
    json_int_t dim = json_integer_value(json_array_get(shape, i));
    if (dim < 1 || (size_t)dim > elements / product) return;
    ret_dims[i] = dim;
    product *= (size_t)dim;
  }
  if (product == elements) *ret_rank = (int)rank;
}

hl_status hl_reference_take(hl_message *reply, hl_reference *r, hl_error *error) {
  hl_status status = hl_reference_counts(reply, r->counts, &r->count, error);
  if (status != HL_OK) return status;
  const json_t *exact = json_object_get(reply->object, "exact");
  for (size_t i = 0; i < r->count; i++) r->exact[i] = json_is_true(json_array_get(exact, i));
  const json_t *shapes = json_object_get(reply->object, "shapes");
  for (size_t i = 0; i < r->count; i++)
    take_shape(json_array_get(shapes, i), r->counts[i], &r->ranks[i], r->dims[i]);
  r->total = reply->byte_count / sizeof(float);
  r->values = (float *)(void *)reply->bytes; /* malloc'ed: aligned for floats */
  reply->bytes = NULL;
  return HL_OK;
}

/* A foreign model as its framework runs it by itself: its engine, in float32 on the processor, with
 * no option but the interpreter. */
static hl_configuration plainly(const hl_configuration *configuration, int64_t batch,
                                hl_option *interpreter) {
  hl_configuration c = hl_configuration_with_batch(configuration, batch);
  c.dtype = "float32";
  c.device = "cpu";
  c.engine_option_count = 0;
  c.engine_options = interpreter;
  for (size_t i = 0; i < configuration->engine_option_count; i++)
    if (strcmp(configuration->engine_options[i].key, "python") == 0) {
      *interpreter = configuration->engine_options[i];
      c.engine_option_count = 1;
    }
  return c;
}

static hl_status evaluate(const hl_configuration *configuration, int64_t batch,
                          const hl_run_environment *environment, hl_reference *r, hl_error *error) {
  hl_option interpreter;
  bool foreign = configuration->is_foreign;
  hl_configuration c = foreign ? plainly(configuration, batch, &interpreter)
                               : hl_configuration_without_engine(configuration, batch);
  c.model_file = NULL; /* the model is the reference of its 8-bit copy */
  if (!c.test_data && !c.n_images) c.n_images = configuration->batch_size;
  hl_process process;
  hl_message reply = {0};
  hl_status status = hl_process_start_guarded(environment, configuration, &process, error);
  if (status != HL_OK) return status;
  status =
      hl_process_configure(&process, &c, environment->cache_directory, evaluate_s, &reply, error);
  hl_message_release(&reply);
  const char *const steps[] = {foreign ? "load" : NULL, foreign ? "prepare" : NULL,
                               foreign ? "output" : "reference"};
  for (size_t i = 0; status == HL_OK && i < HL_COUNT(steps); i++) {
    if (!steps[i]) continue;
    hl_message_release(&reply);
    status = hl_process_call(&process, steps[i], NULL, evaluate_s, &reply, error);
  }
  if (status == HL_OK) status = hl_reference_take(&reply, r, error);
  hl_message_release(&reply);
  return hl_process_end(&process, status, error);
}

hl_status hl_reference_find(hl_reference_cache *cache, const char *key,
                            const hl_configuration *configuration, int64_t batch,
                            const hl_run_environment *environment, const hl_run_view *view,
                            const hl_reference **ret_reference, hl_error *error) {
  *ret_reference = &cache->current;
  if (cache->current.values && strcmp(cache->current.key, key) == 0) return HL_OK;
  hl_reference_release(&cache->current);
  /* Code that a foreign model is made of may change without a trace in the key. */
  HL_CLEANUP(hl_free_pointer)
  char *path = configuration->is_foreign ? NULL : file_path(environment->cache_directory, key);
  hl_reference fresh = {0};
  if (!read_file(path, &fresh)) {
    if (view->phase) view->phase(view->context, "computing reference outputs");
    hl_status status = evaluate(configuration, batch, environment, &fresh, error);
    if (status != HL_OK) {
      hl_reference_release(&fresh);
      return status;
    }
    if (path) write_file(environment->cache_directory, path, &fresh);
  }
  memcpy(fresh.key, key, strnlen(key, sizeof fresh.key - 1));
  cache->current = fresh;
  return HL_OK;
}

/* 1 for two vectors of zeros, NaN where only one is or where there are other things than numbers.
 */
static double cosine_of(const float *a, const float *b, size_t count) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < count; i++) {
    ab += (double)a[i] * (double)b[i];
    aa += (double)a[i] * (double)a[i];
    bb += (double)b[i] * (double)b[i];
  }
  return aa == 0 && bb == 0 ? 1 : ab / sqrt(aa * bb);
}

static const char *why_no_cosine(const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(a[i]) || !isfinite(b[i])) return "an output holds NaN or infinity";
  return "an output is all zeros on one side only";
}

static bool adds_nan(const float *values, const float *reference, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i]) && !isnan(reference[i])) return true;
  return false;
}

static size_t largest(const float *values, size_t count) {
  size_t at = 0;
  for (size_t i = 1; i < count; i++)
    if (values[i] > values[at]) at = i;
  return at;
}

/* `n`: elements of the first output that were given. */
static bool same_largest(const hl_reference *reference, const float *values, size_t n) {
  return n == 0 || n != reference->counts[0] || largest(values, n) == largest(reference->values, n);
}

/* max|a-b| / max|b| of one output; raises `max_abs` to max|a-b|. */
static double relative_error(const float *values, const float *reference, size_t count,
                             double *max_abs) {
  double difference = 0, scale = 0;
  for (size_t k = 0; k < count; k++) {
    double found = values[k], expected = reference[k];
    bool same = found == expected || (isnan(found) && isnan(expected)); /* infinities too */
    double d = same ? 0 : fabs(found - expected);
    if (!(d <= difference)) difference = isnan(d) ? (double)INFINITY : d;
    if (isfinite(expected) && fabs(expected) > scale) scale = fabs(expected);
  }
  if (difference > *max_abs) *max_abs = difference;
  return difference == 0 ? 0 : scale > 0 ? difference / scale : (double)INFINITY;
}

static double share_that_differs(const float *values, const float *reference, size_t count) {
  size_t different = 0;
  for (size_t k = 0; k < count; k++) different += values[k] != reference[k];
  return (double)different / (double)count;
}

static void compare_output(const float *values, const float *expected, size_t count, bool exact,
                           hl_agreement *result) {
  double found = exact ? share_that_differs(values, expected, count)
                       : relative_error(values, expected, count, &result->max_abs);
  double cosine = cosine_of(values, expected, count);
  if (found > result->error) result->error = found;
  if (exact || result->cosine_reason) return;
  if (isnan(cosine)) result->cosine_reason = why_no_cosine(values, expected, count);
  if (!(cosine >= result->cosine)) result->cosine = isnan(cosine) ? (double)NAN : cosine;
}

hl_status hl_reference_compare(const hl_reference *reference, const float *values,
                               const size_t *counts, size_t count, hl_agreement *ret_agreement,
                               hl_error *error) {
  if (count != reference->count)
    return hl_error_set(error, HL_BAD_DATA, "%zu outputs; the reference has %zu", count,
                        reference->count);
  hl_agreement result = {.cosine = 1,
                         .nan_output = -1,
                         .top1 = same_largest(reference, values, count ? counts[0] : 0)};
  const float *expected = reference->values;
  size_t compared = 0;
  for (size_t i = 0; i < count; i++) {
    if (counts[i] && counts[i] != reference->counts[i])
      return hl_error_set(error, HL_BAD_DATA, "output %zu has %zu elements; the reference has %zu",
                          i, counts[i], reference->counts[i]);
    if (counts[i]) compare_output(values, expected, counts[i], reference->exact[i], &result);
    if (result.nan_output < 0 && adds_nan(values, expected, counts[i])) result.nan_output = (int)i;
    values += counts[i];
    expected += reference->counts[i];
    compared += counts[i];
  }
  if (compared == 0) return hl_error_set(error, HL_UNAVAILABLE, "no output belongs to one image");
  *ret_agreement = result;
  return HL_OK;
}

int hl_reference_nan(const hl_reference *reference) {
  const float *value = reference->values;
  for (size_t i = 0; i < reference->count; i++)
    for (size_t k = 0; k < reference->counts[i]; k++)
      if (isnan(*value++)) return (int)i;
  return -1;
}

double hl_reference_tolerance(const char *dtype) {
  if (strcmp(dtype, "float16") == 0) return 5e-3;
  if (strcmp(dtype, "bfloat16") == 0) return 3e-2;
  if (strcmp(dtype, "int8") == 0) return (double)INFINITY;
  return 1e-4;
}
