/* Kernels of 3x3 taps to 36 points, in double precision: each is done once and used for ever. */
#include "kernels/kernels.h"
#include "winograd/cut.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Sixteen output channels in double precision. */
typedef double vdouble __attribute__((vector_size(128)));

/* G g: three taps to six points. */
INLINE void transform_taps(const vdouble g[3], vdouble ret[IN]) {
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
    for (int k = 0; k < 3; k++) transform_taps(&taps[3 * k], half[k]);
    for (int x = 0; x < IN; x++) {
      for (int k = 0; k < 3; k++) column[k] = half[k][x];
      transform_taps(column, full);
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
