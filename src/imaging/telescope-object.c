#include "imaging/telescope-object.h"

#include "numeric/random.h"
#include <math.h>
#include <string.h>

enum { spot_count = 40, line_count = 9 };

/* In units of the disc's radius. */
typedef struct spot {
  double x, y, size, light;
} spot;

typedef struct line {
  double x, y, across_x, across_y, bend, width,
      light; /* a point, the normal, 1 / radius of a bend */
} line;

typedef struct moon {
  spot spots[spot_count];
  line lines[line_count];
} moon;

static double between(hl_random *random, double low, double high) {
  return low + (high - low) * hl_random_uniform(random);
}

static void draw(uint64_t seed, moon *ret_moon) {
  hl_random random;
  hl_random_init(&random, seed, hl_random_stream("telescope object"));
  for (int i = 0; i < spot_count; i++) {
    spot *s = &ret_moon->spots[i];
    s->x = between(&random, -0.9, 0.9);
    s->y = between(&random, -0.9, 0.9);
    s->size = exp(between(&random, log(0.02), log(0.25)));
    s->light = between(&random, -0.35, 0.3);
  }
  for (int i = 0; i < line_count; i++) {
    line *l = &ret_moon->lines[i];
    double angle = between(&random, 0, 2 * 3.14159265358979323846);
    l->x = between(&random, -0.6, 0.6);
    l->y = between(&random, -0.6, 0.6);
    l->across_x = cos(angle);
    l->across_y = sin(angle);
    l->bend = between(&random, -0.5, 0.5);
    l->width = between(&random, 0.008, 0.03);
    l->light = between(&random, -0.45, -0.15);
  }
}

static double light_at(const moon *m, double x, double y) {
  double light = 0.75;
  for (int i = 0; i < spot_count; i++) {
    const spot *s = &m->spots[i];
    double dx = (x - s->x) / s->size, dy = (y - s->y) / s->size;
    light += s->light * exp(-(dx * dx + dy * dy));
  }
  for (int i = 0; i < line_count; i++) {
    const line *l = &m->lines[i];
    double dx = x - l->x, dy = y - l->y;
    double along = dy * l->across_x - dx * l->across_y;
    double across = (dx * l->across_x + dy * l->across_y + l->bend * along * along) / l->width;
    light += l->light * exp(-across * across);
  }
  return light;
}

void hl_telescope_object_make(int64_t side, uint64_t seed, float *ret_object) {
  moon m;
  draw(seed, &m);
  double half = (double)side / 2, radius = 0.45 * (double)side;
  for (int64_t i = 0; i < side; i++)
    for (int64_t j = 0; j < side; j++) {
      double y = ((double)i + 0.5 - half) / radius, x = ((double)j + 0.5 - half) / radius;
      double height2 = 1 - x * x - y * y, light = 0;
      if (height2 > 0) light = light_at(&m, x, y) * (0.35 + 0.65 * sqrt(height2));
      ret_object[i * side + j] = (float)fmin(fmax(light, 0), 1);
    }
}

void hl_telescope_object_place(const float *object, int64_t side, int64_t image,
                               float *ret_picture) {
  memset(ret_picture, 0, (size_t)(image * image) * sizeof *ret_picture);
  float *first = ret_picture + (image / 2 - side / 2) * (image + 1);
  for (int64_t i = 0; i < side; i++)
    memcpy(first + i * image, object + i * side, (size_t)side * sizeof *object);
}
