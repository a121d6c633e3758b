/*
 * compile/switches.h - what the engine does to be fast, by name, so that each can be left out.
 *
 *     uint32_t off = 0;
 *     status = hl_native_switches_read("winograd,posts", &off, &error);
 *     if (hl_native_does(off, HL_NATIVE_WINOGRAD)) ...
 *
 * Outputs stay right whatever is left out: `--disable-pass` shows what a thing is worth, and where
 * a wrong result comes from. To add one: a row in switches.def, and the question where it is done.
 */
#ifndef HL_NATIVE_COMPILE_SWITCHES_H
#define HL_NATIVE_COMPILE_SWITCHES_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum hl_native_switch {
  HL_NATIVE_ALWAYS, /* not to be left out */
#define X(id, name, fuses, doc) HL_NATIVE_##id,
#include "compile/switches.def"
#undef X
  HL_NATIVE_SWITCH_COUNT
} hl_native_switch;

#define HL_NATIVE_SWITCH_BIT(which) ((uint32_t)1 << (which))

/* Is it done? `off` are the bits of those that are left out. */
static inline bool hl_native_does(uint32_t off, hl_native_switch which) {
  return which == HL_NATIVE_ALWAYS || !(off & HL_NATIVE_SWITCH_BIT(which));
}

/* Adds the bits of a list of names with commas, or of `all`, to `*off`. INVALID_ARGUMENT names the
 * one that is none and lists those that there are. */
hl_status hl_native_switches_read(const char *list, uint32_t *off, hl_error *error);

/* Bits of all that fusions=off leaves out. */
uint32_t hl_native_switches_fusing(void);

#endif
