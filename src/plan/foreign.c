#include "plan/foreign.h"

#include <string.h>

bool hl_foreign_is_function(const char *name) {
  return strchr(name, ':') && !strchr(name, '=');
}

/* Identifiers may have letters of any alphabet. */
static bool is_part_of_identifier(char c, bool first) {
  bool digit = c >= '0' && c <= '9';
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) ||
         (digit && !first);
}

/* Identifiers joined by dots, from `at` up to `end`. */
static bool is_dotted(const char *at, const char *end) {
  bool first = true;
  for (; at < end; at++) {
    if (*at == '.' && first) return false;
    if (*at != '.' && !is_part_of_identifier(*at, first)) return false;
    first = *at == '.';
  }
  return !first;
}

hl_status hl_foreign_check(const char *name, hl_error *error) {
  const char *colon = strchr(name, ':');
  if (colon && is_dotted(name, colon) && is_dotted(colon + 1, name + strlen(name))) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "model '%.200s' is no package.module:function, two names of Python with one "
                      "':' between them, as net:make for make() of net.py",
                      name);
}
