#include "workloads/volume-recipe.h"

#include <inttypes.h>
#include <string.h>

void hl_volume_recipe_default(hl_volume_task task, hl_volume_recipe *ret_recipe) {
  static const hl_augment_options segmentation = HL_AUGMENT_SEGMENTATION, none = {0};
  bool mask = task == HL_VOLUME_SEGMENTATION;
  *ret_recipe = (hl_volume_recipe){.task = task,
                                   .zoom = {1, 1, 1},
                                   .patches = 1,
                                   .target_channel = -1,
                                   .threshold = 0.1,
                                   .normalise = true,
                                   .augment = mask ? segmentation : none};
}

static hl_status set_zoom(const char *value, double zoom[3], hl_error *error) {
  double factors[3] = {0};
  int count = 0;
  char part[32];
  for (const char *at = value; at && count < 3; count++) {
    const char *end = strchr(at, 'x');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    if (length >= sizeof part) length = sizeof part - 1;
    memcpy(part, at, length);
    part[length] = 0;
    hl_status status = hl_parse_real(part, 1e-6, 64, "zoom", &factors[count], error);
    if (status != HL_OK) return status;
    at = end ? end + 1 : NULL;
    if (at && count == 2) count = 3; /* a fourth */
  }
  if (count == 1) factors[1] = factors[2] = factors[0];
  if (count != 1 && count != 3)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "zoom '%.40s': give one factor, or three as 0.5x0.25x0.25", value);
  memcpy(zoom, factors, sizeof factors);
  return HL_OK;
}

static hl_status set_switch(const char *key, const char *value, bool *ret, hl_error *error) {
  bool on = strcmp(value, "on") == 0;
  if (!on && strcmp(value, "off") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%s '%.40s': give on or off", key, value);
  *ret = on;
  return HL_OK;
}

static hl_status set_augment(const char *value, hl_augment_options *o, hl_error *error) {
  static const hl_augment_options intensity = HL_AUGMENT_SEGMENTATION, none = {0};
  bool on = false;
  hl_status status = set_switch("augment", value, &on, error);
  if (status != HL_OK) return status;
  hl_augment_options changed = on ? intensity : none;
  changed.flips = o->flips;
  changed.rotate = o->rotate;
  *o = changed;
  return HL_OK;
}

static hl_status set_flips(const char *value, unsigned *ret, hl_error *error) {
  unsigned axes = 0;
  for (const char *c = value; *c && strcmp(value, "none") != 0; c++) {
    const char *axis = strchr("zyx", *c);
    if (!axis)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "flips '%.40s': give axes of z, y and x, as yx, or none", value);
    axes |= 1u << (axis - "zyx");
  }
  *ret = axes;
  return HL_OK;
}

/* Whether an item before `end` has the key of `item`. */
static bool has_key(const char *text, const char *end, const char *key, size_t length) {
  for (const char *at = text; at < end; at = strchr(at, ',') + 1)
    if (strncmp(at, key, length) == 0 && at[length] == '=') return true;
  return false;
}

static hl_status set(const char *key, const char *value, hl_volume_recipe *r, hl_error *error) {
  static const int64_t most = 1000000;
  if (strcmp(key, "zoom") == 0) return set_zoom(value, r->zoom, error);
  if (strcmp(key, "patches") == 0) return hl_parse_int(value, 1, most, key, &r->patches, error);
  if (strcmp(key, "channel") == 0) return hl_parse_int(value, 0, most, key, &r->channel, error);
  if (strcmp(key, "target-channel") == 0)
    return hl_parse_int(value, 0, most, key, &r->target_channel, error);
  if (strcmp(key, "threshold") == 0)
    return hl_parse_real(value, -1e30, 1e30, key, &r->threshold, error);
  if (strcmp(key, "augment") == 0) return set_augment(value, &r->augment, error);
  if (strcmp(key, "flips") == 0) return set_flips(value, &r->augment.flips, error);
  if (strcmp(key, "rotate") == 0) return set_switch(key, value, &r->augment.rotate, error);
  if (strcmp(key, "normalise") == 0) return set_switch(key, value, &r->normalise, error);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "'%.40s' is not known; zoom, patches, channel, target-channel, threshold, "
                      "augment, flips, rotate and normalise are",
                      key);
}

static hl_status parse(const char *text, hl_volume_recipe *r, hl_error *error) {
  const char *at = text && *text ? text : NULL;
  while (at) {
    char item[96];
    const char *end = strchr(at, ',');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    if (length >= sizeof item)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.40s...' is too long", at);
    memcpy(item, at, length);
    item[length] = 0;
    char *value = strchr(item, '=');
    if (!value)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "'%.40s' is no KEY=VALUE, as in zoom=0.25,patches=4", item);
    *value++ = 0;
    if (has_key(text, at, item, strlen(item)))
      return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.40s' is given twice", item);
    hl_status status = set(item, value, r, error);
    if (status != HL_OK) return status;
    at = end ? end + 1 : NULL;
  }
  return HL_OK;
}

hl_status hl_volume_recipe_parse(const char *text, hl_volume_recipe *io_recipe, hl_error *error) {
  hl_volume_recipe r = *io_recipe;
  hl_error why = {0};
  hl_status status = parse(text, &r, &why);
  if (status != HL_OK) return hl_error_set(error, status, "--transform: %s", why.msg);
  *io_recipe = r;
  return HL_OK;
}

void hl_volume_recipe_describe(const hl_volume_recipe *r, hl_text *out) {
  const double *z = r->zoom;
  bool even = z[0] == z[1] && z[1] == z[2];
  if (!even)
    hl_text_format(out, "zoom %gx%gx%g by area, ", z[0], z[1], z[2]);
  else if (z[0] != 1)
    hl_text_format(out, "zoom %g by area, ", z[0]);
  if (r->normalise) hl_text_append(out, "z-score, ");
  if (r->task == HL_VOLUME_SEGMENTATION)
    hl_text_format(out, "mask > %g", r->threshold);
  else
    hl_text_append(out, "target an image");
}

void hl_volume_recipe_describe_training(const hl_volume_recipe *r, hl_text *out) {
  hl_text_format(out, "%" PRId64 " random patch%s a volume", r->patches,
                 r->patches == 1 ? "" : "es");
  if (r->augment.histogram > 0) hl_text_append(out, ", intensities changed at random");
  if (r->augment.flips) {
    hl_text_append(out, ", flips along ");
    for (unsigned i = 0; i < 3; i++)
      if (r->augment.flips >> i & 1) hl_text_char(out, "zyx"[i]);
  }
  if (r->augment.rotate) hl_text_append(out, ", quarter turns");
}
