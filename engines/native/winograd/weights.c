/*
 * Kernels of 3x3 taps to 36 points: in double precision where it is done once and used for ever, in
 * single precision for weights that are trained.
 */
#include "kernels/kernels.h"
#include "winograd/transform.h"
#include <string.h>

/* Sixteen output channels in double precision. */
typedef double vdouble __attribute__((vector_size(128)));

/* G g: three taps to six points. */
INLINE void transform_doubles(const vdouble g[3], vdouble ret[IN]) {
  const double a = 0.70710678118654752440, b = 1.41421356237309504880;
  vdouble even = g[0] + 0.5 * g[2], odd = a * g[1];
  ret[0] = g[0];
  ret[1] = (even + odd) * (-2.0 / 3.0); /* 1 / (2 a² (a² - b²)) */
  ret[2] = (even - odd) * (-2.0 / 3.0);
  even = g[0] + 2.0 * g[2];
  odd = b * g[1];
  ret[3] = (even + odd) * (1.0 / 6.0); /* 1 / (2 b² (b² - a²)) */
  ret[4] = (even - odd) * (1.0 / 6.0);
  ret[5] = g[2];
}

typedef struct weight_run {
  const hl_winograd_shape *shape;
  const char *kernel;
  const float *scale;
  float *u;
} weight_run;

/* Nine taps, of slice `slice`, of output channels o to o + 15 and input channel i, scaled. */
static void load_taps(const weight_run *r, size_t o, size_t i, size_t slice, vdouble taps[9]) {
  const hl_winograd_shape *s = r->shape;
  for (size_t l = 0; l < LANES; l++) {
    float own[9] = {0};
    size_t at = ((o + l) * s->ic + i) * (s->depth ? 3 : 1) + slice;
    if (o + l < s->oc) memcpy(own, r->kernel + at * sizeof(own), sizeof(own));
    double factor = r->scale && o + l < s->oc ? (double)r->scale[o + l] : 1.0;
    for (int k = 0; k < 9; k++) taps[k][l] = (double)own[k] * factor;
  }
}

/* [slice][point][panel][input channel][64 output channels] */
static void transform_weights(const weight_run *r, size_t o, size_t slice) {
  cut c = hl_winograd_cut(r->shape);
  size_t panel = o / PANEL, width = hl_winograd_smaller(PANEL, c.oc - panel * PANEL);
  for (size_t i = 0; i < c.ic; i++) {
    float *to = r->u + slice * POINTS * c.ic * c.oc + panel * PANEL * c.ic + i * width + o % PANEL;
    vdouble taps[9] = {{0}}, half[3][IN], column[3], full[IN];
    if (i < r->shape->ic) load_taps(r, o, i, slice, taps);
    for (int k = 0; k < 3; k++) transform_doubles(&taps[3 * k], half[k]);
    for (int x = 0; x < IN; x++) {
      for (int k = 0; k < 3; k++) column[k] = half[k][x];
      transform_doubles(column, full);
      for (int y = 0; y < IN; y++)
        for (int l = 0; l < LANES; l++)
          to[(size_t)(y * IN + x) * c.ic * c.oc + (size_t)l] = (float)full[y][l];
    }
  }
}

static void own_weights(void *context, unsigned thread, unsigned threads) {
  const weight_run *r = context;
  size_t blocks = hl_winograd_round_up(r->shape->oc, LANES) / LANES;
  for (size_t b = blocks * thread / threads; b < blocks * (thread + 1) / threads; b++)
    for (size_t slice = 0; slice < (r->shape->depth ? 3 : 1); slice++)
      transform_weights(r, b * LANES, slice);
}

void hl_winograd_weights(const hl_winograd_shape *s, const void *kernel, const float *scale,
                         float *u) {
  weight_run r = {.shape = s, .kernel = kernel, .scale = scale, .u = u};
  hl_kernels_parallel(own_weights, &r, s->threads);
}

/* -- weights that change -------------------------------------------------------------------- */

typedef struct step_run {
  const hl_winograd_shape *shape;
  cut cut;
  const float *kernel;
  bool turned;
  float *u;
} step_run;

/* Nine taps of slice `slice` from input channel i to output channels o to o + 15. */
static void load_step(const step_run *r, size_t o, size_t i, size_t slice, vfloat ret[9]) {
  const hl_winograd_shape *s = r->shape;
  size_t count = o < s->oc ? hl_winograd_smaller(LANES, s->oc - o) : 0, slices = r->cut.taps;
  float taps[9][LANES] __attribute__((aligned(64)));
  if (i >= s->ic) count = 0;
  if (count < LANES) memset(taps, 0, sizeof(taps));
  for (size_t l = 0; l < count; l++) {
    size_t pair = r->turned ? i * s->oc + o + l : (o + l) * s->ic + i;
    size_t own = r->turned ? slices - 1 - slice : slice;
    const float *from = r->kernel + (pair * slices + own) * 9;
    if (r->turned)
      for (size_t k = 0; k < 9; k++) taps[k][l] = from[8 - k];
    else
      for (size_t k = 0; k < 9; k++) taps[k][l] = from[k];
  }
  for (size_t k = 0; k < 9; k++) ret[k] = *(const vfloat *)taps[k];
}

static void step_points(const step_run *r, size_t o, size_t i, size_t slice) {
  const cut *c = &r->cut;
  size_t panel = o / PANEL, width = hl_winograd_smaller(PANEL, c->oc - panel * PANEL);
  size_t plane = c->ic * c->oc;
  float *to = r->u + slice * POINTS * plane + panel * PANEL * c->ic + i * width + o % PANEL;
  vfloat taps[9], half[3][IN];
  prefetch_points(to + AHEAD * width, plane);
  load_step(r, o, i, slice, taps);
  for (int k = 0; k < 3; k++) transform_taps(&taps[3 * k], half[k]);
  for (int x = 0; x < IN; x++) {
    vfloat column[3], full[IN];
    for (int k = 0; k < 3; k++) column[k] = half[k][x];
    transform_taps(column, full);
    for (int y = 0; y < IN; y++) *(vfloat *)(to + (size_t)(y * IN + x) * plane) = full[y];
  }
}

/* A unit is 64 output channels and an input channel. */
static void own_step(void *context, unsigned thread, unsigned threads) {
  const step_run *r = context;
  const cut *c = &r->cut;
  size_t units = (c->oc + PANEL - 1) / PANEL * c->ic * c->taps,
         end = units * (thread + 1) / threads;
  for (size_t at = units * thread / threads; at < end; at++) {
    size_t i = at % c->ic, panel = at / c->ic / c->taps, slice = at / c->ic % c->taps;
    size_t last = hl_winograd_smaller((panel + 1) * PANEL, c->oc);
    for (size_t o = panel * PANEL; o < last; o += LANES) step_points(r, o, i, slice);
  }
}

void hl_winograd_weights_step(const hl_winograd_shape *s, const float *kernel, bool turned,
                              float *u) {
  step_run r = {.shape = s, .cut = hl_winograd_cut(s), .kernel = kernel, .turned = turned, .u = u};
  hl_kernels_parallel(own_step, &r, s->threads);
}
