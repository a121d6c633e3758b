#include "imaging/volume-generate.h"

#include <string.h>

static const char name[] = "nuclei";

bool hl_nuclei_is(const char *text) {
  size_t length = sizeof name - 1;
  return strncmp(text, name, length) == 0 && (text[length] == 0 || text[length] == ':');
}

static hl_status set(const char *key, const char *value, hl_nuclei_options *o, int64_t *io_count,
                     hl_error *error) {
  if (strcmp(key, "size") == 0) return hl_volume_parse(value, "nuclei: size", &o->shape, error);
  if (strcmp(key, "count") == 0)
    return hl_parse_int(value, 1, 1000000, "nuclei: count", io_count, error);
  if (strcmp(key, "radius") == 0)
    return hl_parse_real(value, 1, 1000, "nuclei: radius", &o->radius, error);
  if (strcmp(key, "fill") == 0) return hl_parse_real(value, 0, 1, "nuclei: fill", &o->fill, error);
  if (strcmp(key, "noise") == 0)
    return hl_parse_real(value, 0, 10, "nuclei: noise", &o->noise, error);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "nuclei: '%.40s' is not known; size, count, radius, fill and noise are", key);
}

hl_status hl_nuclei_parse(const char *text, hl_nuclei_options *io_options, int64_t *io_count,
                          hl_error *error) {
  hl_nuclei_options o = *io_options;
  int64_t count = *io_count;
  hl_status status = HL_OK;
  const char *at = strchr(text, ':');
  while (at && status == HL_OK) {
    char item[128];
    const char *end = strchr(++at, ',');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    if (length >= sizeof item)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "nuclei: '%.40s...' is too long", at);
    memcpy(item, at, length);
    item[length] = 0;
    char *value = strchr(item, '=');
    if (!value)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "nuclei: '%.40s' is no KEY=VALUE, as in nuclei:size=32x96x96,radius=6",
                          item);
    *value++ = 0;
    status = set(item, value, &o, &count, error);
    at = end;
  }
  if (status != HL_OK) return status;
  *io_options = o;
  *io_count = count;
  return HL_OK;
}
