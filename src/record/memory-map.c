#include "record/memory-map.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 64 << 20 };

const char *hl_phase_name(hl_phase phase) {
  static const char *const names[HL_PHASE_COUNT] = {"forward", "loss", "backward", "optimizer"};
  return (size_t)phase < HL_PHASE_COUNT ? names[phase] : "unknown";
}

hl_status hl_memory_map_new(hl_memory_map **ret_map, hl_error *error) {
  hl_memory_map *map = calloc(1, sizeof *map);
  if (!map) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a map of memory");
  hl_arena_init(&map->arena, NAMES_BYTES);
  *ret_map = map;
  return HL_OK;
}

void hl_memory_map_free(hl_memory_map *map) {
  if (!map) return;
  hl_arena_release(&map->arena);
  free(map->steps);
  free(map->pieces);
  free(map);
}

/* Room for one more. */
static bool grow(hl_memory_map *map, void *items, size_t count, size_t *capacity, size_t bytes) {
  if (count < *capacity) return true;
  if (count >= HL_MEMORY_PIECES) {
    map->failed = HL_LIMIT;
    return false;
  }
  size_t more = *capacity ? 2 * *capacity : 256;
  void **list = items;
  void *fresh = realloc(*list, more * bytes);
  if (!fresh) {
    map->failed = HL_OUT_OF_MEMORY;
    return false;
  }
  *list = fresh;
  *capacity = more;
  return true;
}

/* Layers repeat from piece to piece. */
static const char *keep_text(hl_memory_map *map, const char *text, const char *before) {
  if (before && strcmp(before, text) == 0) return before;
  const char *copy = hl_arena_text(&map->arena, text);
  if (!copy) map->failed = HL_OUT_OF_MEMORY;
  return copy;
}

void hl_memory_map_add(void *opaque, const hl_allocation *a) {
  hl_memory_map *map = opaque;
  if (map->failed != HL_OK) return;
  const char *layer = a->layer ? a->layer : "";
  if (!a->name) {
    if (!grow(map, &map->steps, map->step_count, &map->step_capacity, sizeof *map->steps)) return;
    const char *before = map->step_count ? map->steps[map->step_count - 1].layer : NULL;
    layer = keep_text(map, layer, before);
    if (layer) map->steps[map->step_count++] = (hl_memory_step){a->phase, layer};
    return;
  }
  if (!grow(map, &map->pieces, map->piece_count, &map->piece_capacity, sizeof *map->pieces)) return;
  hl_allocation *piece = &map->pieces[map->piece_count];
  const char *before = map->piece_count ? piece[-1].layer : NULL;
  *piece = *a;
  piece->layer = keep_text(map, layer, before);
  piece->name = keep_text(map, a->name, NULL);
  if (piece->layer && piece->name) map->piece_count++;
}

hl_status hl_memory_map_check(const hl_memory_map *map, hl_error *error) {
  if (map->failed == HL_LIMIT)
    return hl_error_set(error, HL_LIMIT, "the engine tells of more than %d pieces of memory",
                        HL_MEMORY_PIECES);
  if (map->failed != HL_OK)
    return hl_error_set(error, map->failed, "no memory for a map of memory");
  uint64_t all = 0;
  bool good = true;
  for (size_t i = 0; i < map->step_count; i++)
    good = good && (size_t)map->steps[i].phase < HL_PHASE_COUNT;
  for (size_t i = 0; i < map->piece_count && good; i++) {
    const hl_allocation *a = &map->pieces[i];
    bool always = a->first == -1 && a->last == -1;
    bool lives = a->first >= 0 && a->first <= a->last && (size_t)a->last < map->step_count;
    uint64_t end;
    good = (always || lives) && (size_t)a->kind < HL_MEMORY_KINDS &&
           (size_t)a->phase < HL_PHASE_COUNT &&
           !__builtin_add_overflow(a->offset, a->bytes, &end) &&
           !__builtin_add_overflow(all, a->bytes, &all) && all <= INT64_MAX;
    if (!good)
      return hl_error_set(
          error, HL_BAD_DATA,
          "the engine tells of a piece of memory, '%.90s', in steps %d to %d of %zu", a->name,
          a->first, a->last, map->step_count);
  }
  return good ? HL_OK : hl_error_set(error, HL_BAD_DATA, "the engine tells of an unknown phase");
}

/* -- sums -------------------------------------------------------------------------------------- */

/* What begins and ends at each step, so that pieces that live long cost no more than others. */
static void add_changes(const hl_memory_map *map, int64_t (*change)[HL_MEMORY_KINDS],
                        hl_memory_sums *sums) {
  for (size_t i = 0; i < map->piece_count; i++) {
    const hl_allocation *a = &map->pieces[i];
    if (a->first < 0) {
      sums->always[a->kind] += a->bytes;
      continue;
    }
    if (a->offset + a->bytes > sums->arena_bytes) sums->arena_bytes = a->offset + a->bytes;
    change[a->first][a->kind] += (int64_t)a->bytes;
    change[a->last + 1][a->kind] -= (int64_t)a->bytes;
  }
}

static void look_at_step(const hl_memory_map *map, int32_t step, const uint64_t *live,
                         hl_memory_sums *sums) {
  hl_phase phase = map->steps[step].phase;
  uint64_t total = 0;
  for (int k = 0; k < HL_MEMORY_KINDS; k++) {
    total += live[k];
    if (live[k] > sums->most[k]) sums->most[k] = live[k];
  }
  if (!sums->has_phase[phase] || total > sums->phase_peak[phase]) {
    sums->phase_peak[phase] = total;
    memcpy(sums->phase_kinds[phase], live, sizeof sums->phase_kinds[phase]);
  }
  sums->has_phase[phase] = true;
  if (sums->fullest >= 0 && total <= sums->peak_bytes) return;
  sums->fullest = step;
  sums->peak_bytes = total;
  memcpy(sums->at_peak, live, sizeof sums->at_peak);
}

hl_status hl_memory_map_sum(const hl_memory_map *map, hl_memory_sums *ret_sums, hl_error *error) {
  int64_t(*change)[HL_MEMORY_KINDS] = calloc(map->step_count + 2, sizeof *change);
  if (!change) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to add memory up");
  hl_memory_sums s = {.fullest = -1};
  uint64_t live[HL_MEMORY_KINDS];
  add_changes(map, change, &s);
  memcpy(live, s.always, sizeof live);
  memcpy(s.most, s.always, sizeof s.most);
  for (size_t n = 0; n < map->step_count; n++) {
    for (int k = 0; k < HL_MEMORY_KINDS; k++) live[k] += (uint64_t)change[n][k];
    look_at_step(map, (int32_t)n, live, &s);
  }
  free(change);
  if (s.fullest < 0) {
    memcpy(s.at_peak, s.always, sizeof s.at_peak);
    for (int k = 0; k < HL_MEMORY_KINDS; k++) s.peak_bytes += s.always[k];
  }
  uint64_t used = s.peak_bytes;
  for (int k = 0; k < HL_MEMORY_KINDS; k++) used -= s.always[k];
  s.gap_bytes = s.arena_bytes > used ? s.arena_bytes - used : 0;
  *ret_sums = s;
  return HL_OK;
}

/* -- layers ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) {
  return strcmp(((const hl_memory_layer *)a)->name, ((const hl_memory_layer *)b)->name);
}

static int larger_first(const void *a, const void *b) {
  const hl_memory_layer *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return by_name(a, b);
}

hl_status hl_memory_map_layers(const hl_memory_map *map, const hl_memory_sums *sums,
                               hl_memory_layer **ret_layers, size_t *ret_count, hl_error *error) {
  hl_memory_layer *layers = calloc(map->piece_count + 1, sizeof *layers);
  if (!layers) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to add memory up");
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < map->piece_count; i++) {
    const hl_allocation *a = &map->pieces[i];
    if (a->first >= 0 && !(a->first <= sums->fullest && sums->fullest <= a->last)) continue;
    layers[count].name = a->layer;
    layers[count].kinds[a->kind] = layers[count].bytes = a->bytes;
    count++;
  }
  qsort(layers, count, sizeof *layers, by_name);
  for (size_t i = 0; i < count; i++) {
    if (kept && strcmp(layers[kept - 1].name, layers[i].name) == 0) {
      for (int k = 0; k < HL_MEMORY_KINDS; k++) layers[kept - 1].kinds[k] += layers[i].kinds[k];
      layers[kept - 1].bytes += layers[i].bytes;
    } else {
      layers[kept++] = layers[i];
    }
  }
  qsort(layers, kept, sizeof *layers, larger_first);
  *ret_layers = layers;
  *ret_count = kept;
  return HL_OK;
}
