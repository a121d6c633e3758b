#include "plan/configuration.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *sizes;
} presets[] = {
    {"comprehensive", "1-512*2"},
    {"quick", "8,16,32,64,128"},
    {"memory_test", "1,256,512,1024"},
};

typedef struct sizes {
  int64_t *items;
  size_t count;
} sizes;

enum { most_sizes = 4096 };

static hl_status add(sizes *s, int64_t size, hl_error *error) {
  for (size_t i = 0; i < s->count; i++)
    if (s->items[i] == size) return HL_OK; /* "8,8" is measured once */
  if (s->count == most_sizes)
    return hl_error_set(error, HL_LIMIT, "--batch-sizes: more than %d sizes", most_sizes);
  int64_t *items = realloc(s->items, (s->count + 1) * sizeof *items);
  if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for batch sizes");
  s->items = items;
  s->items[s->count++] = size;
  return HL_OK;
}

static hl_status parse_size(const char *text, int64_t *ret_size, hl_error *error) {
  return hl_parse_int(text, 1, HL_BATCH_LIMIT, "--batch-sizes", ret_size, error);
}

/* FIRST-LAST*FACTOR or FIRST-LAST+STEP; without a step, every size. */
static hl_status add_range(sizes *s, char *text, char *dash, hl_error *error) {
  *dash = '\0';
  char *last = dash + 1, *sign = strpbrk(last, "*+"), kind = '+';
  int64_t first_size, last_size, step = 1;
  if (sign) {
    kind = *sign;
    *sign = '\0';
    hl_status status = hl_parse_int(sign + 1, kind == '*' ? 2 : 1, HL_BATCH_LIMIT,
                                    "--batch-sizes: step of a range", &step, error);
    if (status != HL_OK) return status;
  }
  hl_status status = parse_size(text, &first_size, error);
  if (status == HL_OK) status = parse_size(last, &last_size, error);
  if (status != HL_OK) return status;
  if (last_size < first_size)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--batch-sizes: range %s-%s runs backwards",
                        text, last);
  for (int64_t size = first_size; size <= last_size && status == HL_OK;
       size = kind == '*' ? size * step : size + step)
    status = add(s, size, error);
  return status;
}

static hl_status add_part(sizes *s, char *part, hl_error *error) {
  char *dash = strchr(part + 1, '-');
  if (dash && part[0] != '-') return add_range(s, part, dash, error);
  int64_t size;
  hl_status status = parse_size(part, &size, error);
  return status == HL_OK ? add(s, size, error) : status;
}

hl_status hl_batch_sizes_parse(const char *text, int64_t **ret_sizes, size_t *ret_count,
                               hl_error *error) {
  for (size_t i = 0; i < HL_COUNT(presets); i++)
    if (strcmp(text, presets[i].name) == 0) text = presets[i].sizes;
  HL_CLEANUP(hl_free_pointer) char *copy = hl_strdup(text);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for batch sizes");
  sizes s = {0};
  hl_status status = HL_OK;
  char *rest = copy;
  for (char *part; status == HL_OK && (part = strsep(&rest, ", \t"));)
    if (part[0]) status = add_part(&s, part, error);
  if (status == HL_OK && s.count == 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--batch-sizes: no sizes in '%s'", text);
  if (status != HL_OK) {
    free(s.items);
    return status;
  }
  *ret_sizes = s.items;
  *ret_count = s.count;
  return HL_OK;
}
