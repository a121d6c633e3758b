#include "plan/foreign.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool hl_foreign_is_function(const char *name) {
  return strchr(name, ':') && !strchr(name, '=');
}

bool hl_foreign_is_path(const char *path) {
  static const char *const endings[] = {".keras", ".h5", ".hdf5"};
  size_t length = strlen(path);
  for (size_t i = 0; i < HL_COUNT(endings); i++) {
    size_t n = strlen(endings[i]);
    if (length > n && strcmp(path + length - n, endings[i]) == 0) return true;
  }
  HL_CLEANUP(hl_free_pointer) char *inside = hl_format("%s/saved_model.pb", path);
  return inside && access(inside, F_OK) == 0;
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
