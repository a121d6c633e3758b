#include "compile/switches.h"

#include <string.h>

_Static_assert(HL_NATIVE_SWITCH_COUNT <= 32, "a set of switches is 32 bits");

static const struct {
  const char *name;
  bool fuses;
} table[] = {
    [HL_NATIVE_ALWAYS] = {"", false},
#define X(id, name, fuses, doc) [HL_NATIVE_##id] = {name, fuses},
#include "compile/switches.def"
#undef X
};

static const char names[] = "all"
#define X(id, name, fuses, doc) ", " name
#include "compile/switches.def"
#undef X
    ;

static uint32_t all(bool only_fusing) {
  uint32_t bits = 0;
  for (uint32_t i = 1; i < HL_NATIVE_SWITCH_COUNT; i++)
    if (table[i].fuses || !only_fusing) bits |= HL_NATIVE_SWITCH_BIT(i);
  return bits;
}

uint32_t hl_native_switches_fusing(void) {
  return all(true);
}

static uint32_t find(const char *name, size_t length) {
  if (length == 3 && strncmp(name, "all", length) == 0) return all(false);
  for (uint32_t i = 1; i < HL_NATIVE_SWITCH_COUNT; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
      return HL_NATIVE_SWITCH_BIT(i);
  return 0;
}

hl_status hl_native_switches_read(const char *list, uint32_t *off, hl_error *error) {
  for (const char *at = list;; at++) {
    at += strspn(at, " ");
    size_t length = strcspn(at, ","), rest = length;
    while (length && at[length - 1] == ' ') length--;
    uint32_t bits = find(at, length);
    if (!bits)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "option disable: the native engine has no pass '%.*s'; it has %s",
                          (int)(length < 40 ? length : 40), at, names);
    *off |= bits;
    at += rest;
    if (!*at) return HL_OK;
  }
}
