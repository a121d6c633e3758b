#include "plan/device.h"

#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the devices");
}

static const char *option_of(bool preferred) {
  return preferred ? "device-prefer" : "device";
}

static hl_status malformed(const char *word, bool preferred, hl_error *error) {
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--%s: '%s' is no device; there are cpu, cuda, cuda:0, gpu:0, gpu:all "
                      "(a row for each GPU), cuda:0+1 (a batch split over both), mps and tpu",
                      option_of(preferred), word);
}

/* "0+1" after the colon: numbers that differ. 0 for anything else. */
static size_t read_ordinals(const char *text, int *ret_ordinals) {
  size_t count = 0;
  for (;; text++) {
    char *end;
    if (*text < '0' || *text > '9' || count == HL_DEVICE_MOST) return 0;
    unsigned long number = strtoul(text, &end, 10);
    if (number > 255 || end - text > 3) return 0;
    for (size_t i = 0; i < count; i++)
      if (ret_ordinals[i] == (int)number) return 0;
    ret_ordinals[count++] = (int)number;
    text = end;
    if (*text == '\0') return count;
    if (*text != '+') return 0;
  }
}

size_t hl_device_ordinals(const char *name, int *ret_ordinals) {
  return strncmp(name, "cuda:", 5) == 0 ? read_ordinals(name + 5, ret_ordinals) : 0;
}

bool hl_device_is_split(const char *name) {
  return strchr(name, '+') != NULL;
}

static bool is_plain(const char *word) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.:";
  return word[0] && word[strspn(word, letters)] == '\0' && strlen(word) < HL_DEVICE_NAME;
}

/* "cuda" or "gpu" of "cuda:0+1", NULL for another kind. */
static const char *gpu_family(const char *word) {
  static const char *const families[] = {"cuda", "gpu"};
  for (size_t i = 0; i < HL_COUNT(families); i++) {
    size_t length = strlen(families[i]);
    if (strncmp(word, families[i], length) == 0 && (word[length] == ':' || word[length] == '\0'))
      return families[i];
  }
  return NULL;
}

static const char *numbered(hl_arena *arena, const char *family, const int *ordinals,
                            size_t count) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < count; i++)
    hl_text_format(&text, "%s%s%d", i ? "" : family, i ? "+" : ":", ordinals[i]);
  const char *name = text.failed ? NULL : hl_arena_text(arena, text.data);
  hl_text_release(&text);
  return name;
}

typedef struct choice_list {
  hl_arena *arena;
  hl_device_choice *items;
  size_t count, capacity;
  bool preferred;
} choice_list;

static hl_status add(choice_list *list, const char *name, hl_error *error) {
  if (!name) return no_memory(error);
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i].name, name) == 0) return HL_OK;
  if (list->count == list->capacity)
    return hl_error_set(error, HL_LIMIT, "--%s: more than %zu devices", option_of(list->preferred),
                        list->capacity);
  list->items[list->count++] = (hl_device_choice){name, list->preferred};
  return HL_OK;
}

static hl_status add_gpus(choice_list *list, const char *word, const char *family,
                          const hl_device_inventory *here, hl_error *error) {
  const char *rest = word + strlen(family);
  int ordinals[HL_DEVICE_MOST] = {0};
  if (strcmp(rest, ":all") == 0) {
    int total = here && here->cuda_count > 0 ? here->cuda_count : 1;
    hl_status status = HL_OK;
    for (int i = 0; i < total && status == HL_OK; i++)
      status = add(list, numbered(list->arena, family, &i, 1), error);
    return status;
  }
  /* A bare gpu is whatever GPU the engine takes first. */
  size_t count = rest[0] ? read_ordinals(rest + 1, ordinals) : 1;
  if (count == 0) return malformed(word, list->preferred, error);
  return add(list, numbered(list->arena, family, ordinals, count), error);
}

static hl_status add_word(choice_list *list, const char *word, const hl_device_inventory *here,
                          hl_error *error) {
  const char *family = gpu_family(word);
  if (family) return add_gpus(list, word, family, here, error);
  return is_plain(word) ? add(list, word, error) : malformed(word, list->preferred, error);
}

hl_status hl_device_choices(hl_arena *arena, const char *list, const char *prefer,
                            const hl_device_inventory *here, hl_device_choice **ret_choices,
                            size_t *ret_count, hl_error *error) {
  char *copy = hl_arena_text(arena, prefer ? prefer : list);
  choice_list choices = {.arena = arena, .capacity = 256, .preferred = prefer != NULL};
  choices.items = hl_arena_array(arena, choices.capacity, sizeof *choices.items);
  if (!copy || !choices.items) return no_memory(error);
  hl_status status = HL_OK;
  for (char *word; status == HL_OK && (word = strsep(&copy, ", "));)
    if (word[0]) status = add_word(&choices, word, here, error);
  if (status == HL_OK && choices.count == 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--%s: '%s' names no device",
                          option_of(choices.preferred), prefer ? prefer : list);
  if (status != HL_OK) return status;
  *ret_choices = choices.items;
  *ret_count = choices.count;
  return HL_OK;
}

/* Engines of ours that compute on the processor only. */
static bool cpu_only(const char *engine) {
  return strcmp(engine, "native") == 0 || strcmp(engine, "null") == 0;
}

/* gpu:N means CUDA's device N, but to an engine with GPUs of its own. */
static const char *family_of_engine(hl_arena *arena, const char *name, const char *engine) {
  if (strncmp(name, "gpu:", 4) != 0 || strcmp(engine, "openvino") == 0) return name;
  HL_CLEANUP(hl_free_pointer) char *cuda = hl_format("cuda:%s", name + 4);
  return cuda ? hl_arena_text(arena, cuda) : NULL;
}

/* `name`, or its first device where it has no number, in a list with commas. */
static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at;) {
    size_t item = strcspn(at, ",");
    bool same = item >= length && strncmp(at, name, length) == 0;
    if (same && (item == length || at[length] == ':')) return true;
    at += item;
    at += strspn(at, ", ");
  }
  return false;
}

static char *objection_of_list(const char *list, const char *name, const char *engine) {
  int ordinals[HL_DEVICE_MOST];
  size_t count = hl_device_ordinals(name, ordinals);
  bool all = count > 0 || is_listed(list, name);
  for (size_t i = 0; i < count; i++) {
    char one[HL_DEVICE_NAME];
    snprintf(one, sizeof one, "cuda:%d", ordinals[i]);
    all = all && is_listed(list, one);
  }
  return all ? NULL : hl_format("%s's devices here are: %s", engine, list);
}

/* Why the preferred device cannot be used; NULL where nothing speaks against it. */
static char *objection(const char *name, const char *engine, const hl_device_inventory *here) {
  int ordinals[HL_DEVICE_MOST];
  size_t count = hl_device_ordinals(name, ordinals);
  if (strcmp(name, "cpu") != 0 && cpu_only(engine)) return hl_format("%s runs on cpu only", engine);
  if (count && (!here || here->cuda_count == 0))
    return hl_format("%s", here && here->cuda_reason ? here->cuda_reason : "no GPU was found");
  for (size_t i = 0; i < count; i++)
    if (ordinals[i] >= here->cuda_count)
      return hl_format("the GPUs here are cuda:0 to cuda:%d", here->cuda_count - 1);
  if (strcmp(name, "mps") == 0 && !(here && here->mps)) return hl_format("this is no Apple system");
  if (strcmp(name, "tpu") == 0 && !(here && here->tpu)) return hl_format("no TPU was found");
  return NULL;
}

const char *hl_device_for_engine(hl_arena *arena, const hl_device_choice *choice,
                                 const char *engine, const hl_device_inventory *here,
                                 const char **ret_note) {
  const char *name = family_of_engine(arena, choice->name, engine);
  *ret_note = NULL;
  if (!name || !choice->preferred) return name;
  bool matters = strcmp(name, "cpu") != 0 && here && here->devices_of;
  const char *list = matters ? here->devices_of(here->context, engine) : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *why = list ? objection_of_list(list, name, engine) : objection(name, engine, here);
  if (!why) return name;
  const char *other = list && is_listed(list, "mps") ? "mps" : "cpu";
  HL_CLEANUP(hl_free_pointer)
  char *note = hl_format("%s was preferred; the row ran on %s, since %s", choice->name, other, why);
  *ret_note = note ? hl_arena_text(arena, note) : NULL;
  return *ret_note ? other : NULL;
}
