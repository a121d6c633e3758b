#include "numeric/band-dft.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "numeric/band-dft-internal.h"

enum { TILE = HL__BAND_TILE, LANES = HL__BAND_LANES };

struct hl_band_dft {
  hl__band_plan plan;
  const hl__band_kernels *kernels;
  hl_team *team;
  int threads;
  size_t bytes;
  float *memory; /* of all the arrays below, the plan's and the job's */
  float *phase;  /* [band][2], with 1 / √n */
  float *folded, *spread;
  float *line;          /* [4][band]: of two rows of the band */
  float *fields, *sums; /* of each thread */
  hl__band_job job;
};

static size_t rounded(size_t count) {
  return (count + LANES - 1) / LANES * LANES;
}

/* Floats of one thread's scratch. */
static size_t fields_size(const hl__band_plan *p) {
  size_t blocks = (p->band + TILE) * 4 * LANES, sixteen = (64 + (size_t)2 * LANES) * p->lanes;
  return rounded(blocks > sixteen ? blocks : sixteen);
}

static size_t sums_size(const hl__band_plan *p) {
  return rounded((p->half + 1 + 2 * TILE) * 8 * LANES);
}

/* Everything in one block, in multiples of 64 bytes; measured first with `base` NULL. */
static size_t lay_out(hl_band_dft *d, float *base) {
  hl__band_plan *p = &d->plan;
  size_t at = 0, orders = p->half + 1, threads = (size_t)d->threads;
  float *losses, **to[] = {(float **)&p->row_cos,
                           (float **)&p->row_sin,
                           (float **)&p->columns,
                           (float **)&p->turns,
                           &d->phase,
                           &d->folded,
                           &d->spread,
                           &d->line,
                           &d->fields,
                           &d->sums,
                           &d->job.rows,
                           &d->job.slopes,
                           &d->job.spread_slope,
                           &d->job.gradient,
                           &losses};
  size_t counts[] = {orders * p->padded,
                     orders * p->padded,
                     (p->padded / TILE * orders + 2 * TILE) * 2 * TILE,
                     orders * 2 * rounded(p->sixteenth),
                     p->band * 2,
                     (p->band + TILE - 1) / TILE * TILE * orders * 4,
                     orders * 4 * p->lanes,
                     4 * p->band,
                     threads * fields_size(p),
                     threads * sums_size(p),
                     p->band * 4 * p->padded,
                     p->sixteenth * 32 * p->lanes,
                     orders * 4 * p->lanes,
                     p->band * p->band * 2,
                     p->padded * sizeof(hl_residual_sums) / sizeof *base};
  for (size_t i = 0; i < HL_COUNT(counts); i++) {
    *to[i] = base ? base + at : NULL;
    at += rounded(counts[i]);
  }
  d->job.losses = (hl_residual_sums *)(void *)losses;
  return at * sizeof *base;
}

static void tables_fill(hl_band_dft *d, float *row_cos, float *row_sin, float *columns) {
  const hl__band_plan *p = &d->plan;
  float *turns = (float *)p->turns;
  size_t even = p->n % 2 == 0;
  for (size_t k = 0; k <= p->half; k++)
    for (size_t t = 0; t < p->pairs; t++) {
      /* 2π k (t + 1/2) / n; the whole turns go in integers. */
      double turn = (double)((uint64_t)k * (2 * t + even) % (2 * p->n)) / (double)p->n;
      float c = (float)cos(M_PI * turn), s = (float)sin(M_PI * turn);
      row_cos[k * p->padded + t] = c;
      row_sin[k * p->padded + t] = s;
      float *to = columns + (t / TILE * (p->half + 1) + k) * 2 * TILE + t % TILE;
      to[0] = c;
      to[TILE] = s;
      if (t >= p->sixteenth) continue;
      to = turns + (t / LANES * (p->half + 1) + k) * 2 * LANES + t % LANES;
      to[0] = c;
      to[LANES] = s;
    }
  for (size_t i = 0; i < p->band; i++) {
    double angle = even ? M_PI * ((double)i - (double)p->half) / (double)p->n : 0;
    d->phase[2 * i] = (float)(cos(angle) / sqrt((double)p->n));
    d->phase[2 * i + 1] = (float)(sin(angle) / sqrt((double)p->n));
  }
}

hl_status hl_band_dft_new(size_t n, size_t band, hl_team *team, hl_band_dft **ret_dft,
                          hl_error *error) {
  if (n == 0 || n > HL_BAND_MAX_IMAGE || band % 2 == 0 || band > n)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a band of %zu frequencies in a picture of %zu x %zu: give an odd band, at "
                        "most as wide as the picture, which has up to %d pixels a side",
                        band, n, n, HL_BAND_MAX_IMAGE);
  hl_band_dft *d = calloc(1, sizeof *d);
  if (d) {
    d->team = team;
    d->threads = hl_team_size(team);
    d->kernels = hl__band_kernels_select();
    size_t pairs = (n + 1) / 2;
    d->plan = (hl__band_plan){.n = n,
                              .band = band,
                              .half = band / 2,
                              .pairs = pairs,
                              .padded = rounded(pairs),
                              .lanes = rounded(band),
                              .sixteenth = n % 16 == 0 ? n / 16 : 0};
    d->bytes = lay_out(d, NULL);
    d->memory = hl_pages_new(d->bytes);
  }
  if (!d || !d->memory) {
    hl_band_dft_free(d);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a band of %zu in %zu x %zu", band,
                        n, n);
  }
  lay_out(d, d->memory);
  tables_fill(d, (float *)d->plan.row_cos, (float *)d->plan.row_sin, (float *)d->plan.columns);
  *ret_dft = d;
  return HL_OK;
}

void hl_band_dft_free(hl_band_dft *dft) {
  if (!dft) return;
  free(dft->memory);
  free(dft);
}

size_t hl_band_dft_bytes(const hl_band_dft *dft) {
  return dft->bytes + sizeof *dft;
}

void hl__band_dft_use(hl_band_dft *dft, const hl__band_kernels *kernels) {
  dft->kernels = kernels;
}

typedef struct number {
  float re, im;
} number;

/* The band's number (u, v), counted from its middle, with the half pixel's phase and the scale. */
static number turned(const hl_band_dft *d, const float *band, ptrdiff_t u, ptrdiff_t v) {
  ptrdiff_t half = (ptrdiff_t)d->plan.half;
  const float *x = band + 2 * ((u + half) * (ptrdiff_t)d->plan.band + v + half);
  const float *a = d->phase + 2 * (u + half), *b = d->phase + 2 * (v + half);
  float re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  return (number){x[0] * re - x[1] * im, x[0] * im + x[1] * re};
}

static number plus(number a, number b) {
  return (number){a.re + b.re, a.im + b.im};
}

static number minus(number a, number b) {
  return (number){a.re - b.re, a.im - b.im};
}

static void fold(hl_band_dft *d, const float *band) {
  const hl__band_plan *p = &d->plan;
  for (size_t u = 0; u <= p->half; u++)
    for (size_t w = 0; w < p->band; w++) {
      int odd = w > p->half;
      ptrdiff_t v = (ptrdiff_t)(odd ? w - p->half : w), s = (ptrdiff_t)u;
      number up = turned(d, band, s, v), down = turned(d, band, -s, v);
      if (v) {
        number left = turned(d, band, s, -v), right = turned(d, band, -s, -v);
        up = odd ? minus(up, left) : plus(up, left);
        down = odd ? minus(down, right) : plus(down, right);
      }
      number even = u ? plus(up, down) : up, other = u ? minus(up, down) : (number){0, 0};
      float *to = d->folded + ((w / TILE * (p->half + 1) + u) * TILE + w % TILE) * 4;
      to[0] = even.re, to[1] = even.im, to[2] = other.re, to[3] = other.im;
    }
}

/* x[4][band]: rows +u and -u of the band, re and im, with phase and scale. */
static void turn_rows(const hl_band_dft *d, const float *band, size_t u, float *x) {
  size_t count = d->plan.band, half = d->plan.half;
  for (size_t side = 0; side < 2; side++) {
    size_t row = side ? half - u : half + u;
    const float *from = band + 2 * row * count, *b = d->phase;
    float ar = d->phase[2 * row], ai = d->phase[2 * row + 1];
    float *re = x + 2 * side * count, *im = re + count;
    for (size_t v = 0; v < count; v++) {
      float pr = ar * b[2 * v] - ai * b[2 * v + 1], pi = ar * b[2 * v + 1] + ai * b[2 * v];
      re[v] = from[2 * v] * pr - from[2 * v + 1] * pi;
      im[v] = from[2 * v] * pi + from[2 * v + 1] * pr;
    }
  }
}

/* What fold() makes, in lanes. */
static void spread(hl_band_dft *d, const float *band) {
  const hl__band_plan *p = &d->plan;
  size_t count = p->band, half = p->half;
  float *x = d->line;
  for (size_t u = 0; u <= half; u++) {
    turn_rows(d, band, u, x);
    for (size_t part = 0; part < 2; part++) { /* re, im */
      float *plus = x + part * count, *minus = plus + 2 * count;
      float *sum = d->spread + (4 * u + part) * p->lanes, *difference = sum + 2 * p->lanes;
      for (size_t v = 0; v < count; v++) {
        float a = plus[v], b = u ? minus[v] : 0;
        plus[v] = a + b;
        minus[v] = u ? a - b : 0;
      }
      sum[0] = plus[half];
      difference[0] = minus[half];
      for (size_t v = 1; v <= half; v++) {
        sum[v] = plus[half + v] + plus[half - v];
        sum[half + v] = plus[half + v] - plus[half - v];
        difference[v] = minus[half + v] + minus[half - v];
        difference[half + v] = minus[half + v] - minus[half - v];
      }
    }
  }
}

/* d->job.gradient from that of what spread() made. */
static void spread_back(hl_band_dft *d) {
  const hl__band_plan *p = &d->plan;
  size_t count = p->band, half = p->half;
  for (size_t u = 0; u <= half; u++)
    for (size_t part = 0; part < 2; part++) {
      const float *sum = d->job.spread_slope + (4 * u + part) * p->lanes;
      const float *difference = sum + 2 * p->lanes;
      float *up = d->job.gradient + (half + u) * count * 2 + part;
      float *down = d->job.gradient + (half - u) * count * 2 + part;
      for (size_t v = 0; v <= half; v++) {
        float s = v ? sum[half + v] : 0, t = v ? difference[half + v] : 0;
        float right = sum[v] + s, left = sum[v] - s; /* of rows +u and -u together */
        float more = difference[v] + t, less = difference[v] - t;
        if (u == 0) more = less = 0;
        down[2 * (half + v)] = right - more;
        down[2 * (half - v)] = left - less;
        up[2 * (half + v)] = right + more; /* at u = 0 the same */
        up[2 * (half - v)] = left + less;
      }
    }
}

static void rows_run(void *context, size_t block, int part) {
  const hl_band_dft *d = context;
  hl__band_job job = d->job;
  job.fields = d->fields + (size_t)part * fields_size(&d->plan);
  job.sums = d->sums + (size_t)part * sums_size(&d->plan);
  d->kernels->rows(&job, block);
}

static void gradient_run(void *context, size_t v, int part) {
  (void)part;
  const hl_band_dft *d = context;
  d->kernels->gradient(&d->job, v);
}

static void sixteen_run(void *context, size_t t, int part) {
  const hl_band_dft *d = context;
  hl__band_job job = d->job;
  job.fields = d->fields + (size_t)part * fields_size(&d->plan);
  d->kernels->sixteen_rows(&job, t);
}

static void spread_back_run(void *context, size_t u, int part) {
  (void)part;
  const hl_band_dft *d = context;
  d->kernels->spread_back(&d->job, u);
}

/* Whether the picture is one of turns by an eighth. */
static bool turns_by_eighths(const hl_band_dft *d) {
  return d->plan.n % (2 * HL__BAND_EIGHTHS * d->kernels->width) == 0;
}

static size_t blocks_of(const hl_band_dft *d) {
  if (turns_by_eighths(d)) return d->plan.sixteenth;
  return (d->plan.pairs + d->kernels->width - 1) / d->kernels->width;
}

static void enter(void *context, hl_team *team, int part) {
  const hl_band_dft *d = context;
  if (turns_by_eighths(d)) {
    hl_team_loop(team, 0, d->plan.sixteenth, sixteen_run, context, part);
    if (d->job.graded) hl_team_loop(team, 1, d->plan.half + 1, spread_back_run, context, part);
    return;
  }
  hl_team_loop(team, 0, blocks_of(d), rows_run, context, part);
  if (d->job.graded) hl_team_loop(team, 1, d->plan.band, gradient_run, context, part);
}

typedef struct request {
  int flip, graded;
  float *amplitude;
  const float *target;
} request;

static void run(hl_band_dft *d, const float complex *band, request r) {
  d->job.plan = &d->plan;
  d->job.folded = d->folded;
  d->job.spread = d->spread;
  d->job.flip = r.flip;
  d->job.graded = r.graded;
  d->job.amplitude = r.amplitude;
  d->job.target = r.target;
  (turns_by_eighths(d) ? spread : fold)(d, (const float *)band);
  hl_team_run(d->team, enter, d);
  if (r.graded && turns_by_eighths(d)) spread_back(d);
}

void hl_band_dft_amplitude(hl_band_dft *dft, const float complex *band, unsigned flags,
                           float *ret_amplitude) {
  run(dft, band, (request){.flip = (flags & HL_BAND_FLIP) != 0, .amplitude = ret_amplitude});
}

/* The gradient of the folded sums back through the phase. */
static void unturn(const hl_band_dft *d, float *gradient) {
  size_t count = d->plan.band;
  for (size_t u = 0; u < count; u++)
    for (size_t v = 0; v < count; v++) {
      const float *x = d->job.gradient + 2 * (u * count + v);
      const float *a = d->phase + 2 * u, *b = d->phase + 2 * v;
      float c = a[0] * b[0] - a[1] * b[1], s = a[0] * b[1] + a[1] * b[0];
      float *to = gradient + 2 * (u * count + v);
      to[0] = x[0] * c + x[1] * s; /* by the conjugate */
      to[1] = x[1] * c - x[0] * s;
    }
}

void hl_band_dft_residual(hl_band_dft *dft, const float complex *band, unsigned flags,
                          const float *target, hl_residual_sums *ret_sums,
                          float complex *ret_gradient) {
  run(dft, band,
      (request){
          .flip = (flags & HL_BAND_FLIP) != 0, .graded = ret_gradient != NULL, .target = target});
  hl_residual_sums sums = {0, 0, 0};
  for (size_t i = 0; i < blocks_of(dft); i++) {
    sums.difference += dft->job.losses[i].difference;
    sums.target += dft->job.losses[i].target;
    sums.amplitude += dft->job.losses[i].amplitude;
  }
  *ret_sums = sums;
  if (ret_gradient) unturn(dft, (float *)ret_gradient);
}
