#include "record/thumbnails.h"

#include "record/record.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *title;
} kinds[HL_THUMBNAIL_KINDS] = {
    [HL_THUMBNAIL_AMPLITUDE] = {"amplitude", "Reconstruction: amplitude"},
    [HL_THUMBNAIL_PHASE] = {"phase", "Reconstruction: phase, rad"},
    [HL_THUMBNAIL_TRUE_AMPLITUDE] = {"true_amplitude", "True object: amplitude"},
    [HL_THUMBNAIL_TRUE_PHASE] = {"true_phase", "True object: phase, rad"},
    [HL_THUMBNAIL_OBJECT] = {"object", "True object"},
    [HL_THUMBNAIL_IMAGE] = {"image", "Reconstruction"},
    [HL_THUMBNAIL_SEEN] = {"seen", "Seen through the last aperture (square root)"},
    [HL_THUMBNAIL_MASK] = {"mask", "Cumulative mask in the plane of frequencies"},
};

const char *hl_thumbnail_name(hl_thumbnail_kind kind) {
  return kinds[kind].name;
}

const char *hl_thumbnail_title(hl_thumbnail_kind kind) {
  return kinds[kind].title;
}

hl_thumbnail_kind hl_thumbnail_from_name(const char *name) {
  int kind = 0;
  while (kind < HL_THUMBNAIL_KINDS && (!name || strcmp(kinds[kind].name, name) != 0)) kind++;
  return (hl_thumbnail_kind)kind;
}

void hl_thumbnails_free(hl_thumbnails *thumbnails) {
  for (size_t i = 0; thumbnails && i < thumbnails->count; i++) free(thumbnails->items[i].grey);
  free(thumbnails);
}

/* A value of a pixel of the whole picture. */
typedef double (*value_fn)(const void *context, int64_t row, int64_t column);

typedef struct window {
  int64_t top, left, height, width;
} window;

/* Adds a picture of the window; `range` with NaN takes the least and the largest value. False
 * without memory. */
static bool add(hl_thumbnails *all, hl_thumbnail_kind kind, window w, hl_pair *range,
                value_fn value_of, const void *context) {
  int64_t longer = w.height > w.width ? w.height : w.width;
  int64_t step = (longer + HL_THUMBNAIL_SIDE - 1) / HL_THUMBNAIL_SIDE;
  hl_thumbnail t = {
      .kind = kind, .height = (w.height + step - 1) / step, .width = (w.width + step - 1) / step};
  size_t count = (size_t)(t.height * t.width), at = 0;
  double *values = calloc(count, sizeof *values);
  t.grey = malloc(count);
  if (!values || !t.grey) {
    free(values);
    free(t.grey);
    return false;
  }
  hl_pair found = {(double)NAN, (double)NAN};
  for (int64_t row = w.top; row < w.top + w.height; row += step)
    for (int64_t column = w.left; column < w.left + w.width; column += step) {
      double value = value_of(context, row, column);
      values[at++] = value;
      if (!isfinite(value)) continue;
      found = (hl_pair){fmin(found.low, value), fmax(found.high, value)};
    }
  if (!isfinite(range->low)) *range = isfinite(found.low) ? found : (hl_pair){0, 1};
  t.low = range->low;
  t.high = range->high;
  double scale = t.high > t.low ? 255 / (t.high - t.low) : 0;
  for (size_t i = 0; i < count; i++) {
    double grey = isfinite(values[i]) ? (values[i] - t.low) * scale : 0;
    t.grey[i] = (uint8_t)(fmin(fmax(grey, 0), 255) + 0.5);
  }
  free(values);
  all->items[all->count++] = t;
  return true;
}

/* ---- of a pipeline ---- */

typedef struct image {
  const hl_reconstruction *of;
  bool truth, phase;
} image;

static double image_value(const void *context, int64_t row, int64_t column) {
  const image *i = context;
  double amplitude, phase;
  hl_reconstruction_pixel(i->of, i->truth, row, column, &amplitude, &phase);
  return i->phase ? phase : amplitude;
}

/* Grey means the same in the image and in the true object, whose range it is where it is known. */
static bool add_reconstruction(hl_thumbnails *all, const hl_reconstruction *r) {
  hl_reconstruction_part p = hl_reconstruction_shown(r);
  window w = {p.top, p.left, p.height, p.width};
  hl_pair ranges[2] = {{(double)NAN, (double)NAN}, {(double)NAN, (double)NAN}};
  for (int truth = r->truth != NULL; truth >= 0; truth--)
    for (int phase = 0; phase < 2; phase++) {
      static const hl_thumbnail_kind kind[2][2] = {
          {HL_THUMBNAIL_AMPLITUDE, HL_THUMBNAIL_PHASE},
          {HL_THUMBNAIL_TRUE_AMPLITUDE, HL_THUMBNAIL_TRUE_PHASE}};
      image i = {r, truth, phase};
      if (!add(all, kind[truth][phase], w, &ranges[phase], image_value, &i)) return false;
    }
  return true;
}

/* ---- of progressive imaging ---- */

typedef struct plane {
  const float *values;
  bool is_root; /* most of what is seen is near zero */
  int64_t side;
} plane;

static double plane_value(const void *context, int64_t row, int64_t column) {
  const plane *p = context;
  double value = (double)p->values[row * p->side + column];
  return p->is_root ? sqrt(fmax(value, 0)) : value;
}

static double mask_value(const void *context, int64_t row, int64_t column) {
  const hl_imaging_pictures *s = context;
  return s->mask[row * s->side + column];
}

static bool add_pictures(hl_thumbnails *all, const hl_record *r) {
  const hl_imaging_pictures *s = r->pictures;
  bool known = r->object_size > 0 && r->object_size <= s->side;
  int64_t object = known ? r->object_size : s->side, first = (s->side - object) / 2;
  window middle = {first, first, object, object}, all_of_it = {0, 0, s->side, s->side};
  hl_pair unit = {0, 1}, open = {(double)NAN, (double)NAN};
  plane truth = {.values = s->truth, .side = s->side},
        picture = {.values = s->reconstruction, .side = s->side},
        seen = {.values = s->measured, .is_root = true, .side = s->side};
  return add(all, HL_THUMBNAIL_OBJECT, middle, &unit, plane_value, &truth) &&
         add(all, HL_THUMBNAIL_IMAGE, middle, &unit, plane_value, &picture) &&
         add(all, HL_THUMBNAIL_SEEN, all_of_it, &open, plane_value, &seen) &&
         add(all, HL_THUMBNAIL_MASK, all_of_it, &unit, mask_value, s);
}

hl_thumbnails *hl_thumbnails_make(const hl_record *record) {
  if (!record->reconstruction && !record->pictures) return NULL;
  hl_thumbnails *all = calloc(1, sizeof *all);
  bool made = all && (record->reconstruction ? add_reconstruction(all, record->reconstruction)
                                             : add_pictures(all, record));
  if (made) return all;
  hl_thumbnails_free(all);
  return NULL;
}
