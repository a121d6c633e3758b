/* What rows measure, and which row of one run measures what a row of the other does. */
#include "analyse/stored-internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  KEY_WORKLOAD,
  KEY_MODEL,
  KEY_ENGINE,
  KEY_TYPE,
  KEY_BATCH,
  KEY_THREADS,
  KEY_DEVICE,
  KEY_PROVIDER,
  KEY_DATA,
  KEY_IMAGES,
  KEY_SEED,
  KEY_SHAPE,
  KEY_CLOCK
};

const hl__stored_key hl__stored_keys[HL__STORED_KEYS] = {
    [KEY_WORKLOAD] = {"workload", true}, [KEY_MODEL] = {"model", true},
    [KEY_ENGINE] = {"engine", false},    [KEY_TYPE] = {"type", false},
    [KEY_BATCH] = {"batch", false},      [KEY_THREADS] = {"threads", false},
    [KEY_DEVICE] = {"device", false},    [KEY_PROVIDER] = {"provider", false},
    [KEY_DATA] = {"data", true},         [KEY_IMAGES] = {"images", true},
    [KEY_SEED] = {"seed", true},         [KEY_SHAPE] = {"input shape", true},
    [KEY_CLOCK] = {"clock", true},
};

static char *int_text(int64_t value) {
  return value == HL_INT_NULL ? NULL : hl_format("%" PRId64, value);
}

/* "8 synthetic inputs (standard normal, seed 42)" without what other keys say. */
static char *data_of(const hl_record *r, bool *ret_synthetic) {
  *ret_synthetic = false;
  if (!r->data) return NULL;
  const char *words = r->data + strspn(r->data, "0123456789");
  if (words == r->data || strncmp(words, " synthetic", strlen(" synthetic")) != 0)
    return hl_strdup(r->data);
  *ret_synthetic = true;
  const char *kind = strchr(words, '('), *seed = kind ? strstr(kind, ", seed ") : NULL;
  if (!seed) return hl_strdup("synthetic");
  return hl_format("synthetic %.*s)", (int)(seed - kind), kind);
}

/* "8x1x64x64" at batch 8 -> "Bx1x64x64": of each input the first dimension if it is the batch. */
static char *shape_of(const hl_record *r) {
  if (!r->input_shape) return NULL;
  HL_CLEANUP(hl_free_pointer) char *batch = int_text(r->batch_size);
  size_t length = batch ? strlen(batch) : 0;
  hl_text text = HL_TEXT_INIT;
  bool first = true; /* of the dimensions of an input */
  for (const char *c = r->input_shape; *c; c++) {
    if (first && length && strncmp(c, batch, length) == 0 && (c[length] == 'x' || !c[length])) {
      hl_text_char(&text, 'B');
      c += length - 1;
    } else {
      hl_text_char(&text, *c);
    }
    first = strchr("=, ", *c) != NULL;
  }
  return hl_text_take(&text);
}

static const char *device_of(const hl_record *r) {
  return r->device_id ? r->device_id : r->device_type ? r->device_type : r->device;
}

bool hl__stored_is_simulated(const hl_record *r) {
  return r->reproduce && strstr(r->reproduce, " --simulated-clock ");
}

/* False without memory: a text that is known is NULL. */
static bool fill(hl__stored_row *row) {
  const hl_record *r = row->record;
  bool synthetic = false;
  char **v = row->values;
  v[KEY_WORKLOAD] = hl_strdup(r->workload);
  v[KEY_MODEL] = hl_strdup(r->model);
  v[KEY_ENGINE] = hl_strdup(r->engine);
  v[KEY_TYPE] = hl_strdup(r->dtype);
  v[KEY_BATCH] = int_text(r->batch_size);
  v[KEY_THREADS] = int_text(r->threads);
  v[KEY_DEVICE] = hl_strdup(device_of(r));
  v[KEY_PROVIDER] = hl_strdup(r->provider ? r->provider : "none");
  v[KEY_DATA] = data_of(r, &synthetic);
  if (r->data) /* else "a batch" is not known from a number */
    v[KEY_IMAGES] =
        synthetic && r->n_images == r->batch_size ? hl_strdup("a batch") : int_text(r->n_images);
  v[KEY_SEED] = int_text(r->seed);
  v[KEY_SHAPE] = shape_of(r);
  v[KEY_CLOCK] = hl_strdup(hl__stored_is_simulated(r) ? "simulated" : "real");
  const bool known[HL__STORED_KEYS] = {[KEY_WORKLOAD] = r->workload,
                                       [KEY_MODEL] = r->model,
                                       [KEY_ENGINE] = r->engine,
                                       [KEY_TYPE] = r->dtype,
                                       [KEY_DEVICE] = device_of(r),
                                       [KEY_BATCH] = r->batch_size != HL_INT_NULL,
                                       [KEY_SEED] = r->seed != HL_INT_NULL,
                                       [KEY_THREADS] = r->threads != HL_INT_NULL,
                                       [KEY_DATA] = r->data,
                                       [KEY_IMAGES] = r->data && r->n_images != HL_INT_NULL,
                                       [KEY_SHAPE] = r->input_shape,
                                       [KEY_PROVIDER] = true,
                                       [KEY_CLOCK] = true};
  for (size_t k = 0; k < HL__STORED_KEYS; k++)
    if (known[k] && !v[k]) return false;
  return true;
}

hl_status hl__stored_rows_make(const hl_stored_run *run, hl__stored_rows *ret_rows,
                               hl_error *error) {
  if (run->row_count > HL_STORED_ROWS)
    return hl_error_set(error, HL_LIMIT,
                        "%s: %zu rows; at most %d are compared. Select some: run:%s batch=8",
                        run->info->id, run->row_count, HL_STORED_ROWS, run->info->id);
  hl__stored_rows rows = {calloc(run->row_count + 1, sizeof *rows.items), run->row_count};
  bool ok = rows.items != NULL;
  for (size_t i = 0; i < rows.count && ok; i++) {
    rows.items[i].row = run->rows[i];
    rows.items[i].record = &run->records->items[run->rows[i]];
    ok = fill(&rows.items[i]);
  }
  if (ok) {
    *ret_rows = rows;
    return HL_OK;
  }
  hl__stored_rows_release(&rows);
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the rows of a run");
}

void hl__stored_rows_release(hl__stored_rows *rows) {
  for (size_t i = 0; rows->items && i < rows->count; i++)
    for (size_t k = 0; k < HL__STORED_KEYS; k++) free(rows->items[i].values[k]);
  free(rows->items);
  *rows = (hl__stored_rows){0};
}

void hl__stored_differ(hl_text *out, const char *name, const char *a, const char *b) {
  hl_text_format(out, "%s%s (%.120s, %.120s)", out->length ? ", " : "", name, a, b);
}

/* What is not known is like everything. */
static bool alike(const char *a, const char *b) {
  return !a || !b || strcmp(a, b) == 0;
}

/* The first known value; `ret_common` whether all others are like it. */
static const char *first_of(const hl__stored_rows *rows, size_t key, bool *ret_common) {
  const char *first = NULL;
  *ret_common = true;
  for (size_t i = 0; i < rows->count; i++) {
    const char *value = rows->items[i].values[key];
    if (!first) first = value;
    *ret_common = *ret_common && alike(first, value);
  }
  return first;
}

static bool are_apart(const hl__stored_rows *a, const hl__stored_rows *b, size_t key) {
  for (size_t i = 0; i < a->count; i++)
    for (size_t j = 0; j < b->count; j++)
      if (alike(a->items[i].values[key], b->items[j].values[key])) return false;
  return true;
}

hl_status hl__stored_differences_make(const hl__stored_rows *a, const hl__stored_rows *b,
                                      hl__stored_differences *ret_differences, hl_error *error) {
  hl__stored_differences d = {0};
  hl_text compared = HL_TEXT_INIT, work = HL_TEXT_INIT;
  for (size_t k = 0; k < HL__STORED_KEYS; k++) {
    bool a_common, b_common;
    const char *left = first_of(a, k, &a_common), *right = first_of(b, k, &b_common);
    d.apart[k] = are_apart(a, b, k);
    d.common[k] = d.apart[k] && a_common && b_common;
    if (!d.apart[k]) continue;
    if (hl__stored_keys[k].is_work) hl__stored_differ(&work, hl__stored_keys[k].name, left, right);
    if (!hl__stored_keys[k].is_work && d.common[k])
      hl__stored_differ(&compared, hl__stored_keys[k].name, left, right);
  }
  d.compared = hl_text_take(&compared);
  d.work = hl_text_take(&work);
  if (!d.compared || !d.work) {
    hl__stored_differences_release(&d);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for what rows differ in");
  }
  *ret_differences = d;
  return HL_OK;
}

void hl__stored_differences_release(hl__stored_differences *differences) {
  free(differences->compared);
  free(differences->work);
  *differences = (hl__stored_differences){0};
}

bool hl__stored_alike(const hl__stored_row *a, const hl__stored_row *b,
                      const bool ignored[HL__STORED_KEYS]) {
  for (size_t k = 0; k < HL__STORED_KEYS; k++)
    if (!ignored[k] && !alike(a->values[k], b->values[k])) return false;
  return true;
}
