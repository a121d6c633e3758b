/*
 * plan/progressive-spec.h - what progressive imaging is asked for: how many samples of which
 * object, and what may be done to be fast.
 *
 *     const hl_progressive_spec *spec;
 *     hl_progressive_spec_read(&options, &arena, &spec, error);       // NULL: no --progressive
 *     if (spec->optimizations & HL_OPTIMIZE_MATRIX_DFT) ...
 */
#ifndef HL_PLAN_PROGRESSIVE_SPEC_H
#define HL_PLAN_PROGRESSIVE_SPEC_H

#include "base/arena.h"
#include "base/training-names.h"
#include "plan/options.h"

enum {
  HL_OPTIMIZE_GRID_CACHE = 1 << 0,        /* coordinates of the plane are computed once */
  HL_OPTIMIZE_FFT_PLAN_CACHE = 1 << 1,    /* tables of transforms, too */
  HL_OPTIMIZE_MEASUREMENT_CACHE = 1 << 2, /* what was seen of the truth is kept by aperture */
  HL_OPTIMIZE_KEPT_SPECTRUM = 1 << 3,     /* the truth is transformed once */
  HL_OPTIMIZE_MATRIX_DFT = 1 << 4,        /* of the band and the object alone */
  HL_OPTIMIZE_REAL_INPUT = 1 << 5,        /* half of the spectrum of a real picture */
  HL_OPTIMIZE_INCREMENTAL_MASK = 1 << 6,  /* an aperture is added to the cumulative mask */
  HL_OPTIMIZE_SAME_PASS_METRICS = 1 << 7, /* all metrics in one pass over the pictures */
  HL_OPTIMIZE_ONE_FORWARD = 1 << 8,       /* a sample measures the picture that it trains on, in
                                             place of running the generator once more for it */
  HL_OPTIMIZE_FUSED_GENERATOR = 1 << 9,   /* the native engine's own kernels, one step for what
                                           * belongs together, no moments that nobody reads */
  HL_OPTIMIZE_MIXED_PRECISION = 1 << 10   /* the generator in bfloat16: not exact */
};
#define HL_OPTIMIZE_COUNT 11
#define HL_OPTIMIZE_ALL (HL_OPTIMIZE_MIXED_PRECISION - 1) /* what is exact */

/* Limits, also of what comes to a worker. */
#define HL_PROGRESSIVE_COUNT_LIMIT 100000 /* of samples, rounds, epochs */
#define HL_PROGRESSIVE_RADIUS_LIMIT 8192
#define HL_PROGRESSIVE_CACHE_LIMIT 1000000 /* MB */

typedef struct hl_progressive_spec {
  const char *scenario;   /* that the numbers come from: "standard", "progressive" */
  int64_t samples;        /* apertures */
  int64_t rounds;         /* each is visited so often in a pass */
  int64_t epochs;         /* updates for a visit at most */
  const char *object;     /* a picture, or NULL: generated */
  double radius;          /* of an aperture, in pixels of the spectrum */
  const char *pattern;    /* "fermat", "random", "star", "grid" */
  double snr_db;          /* NaN: no noise */
  hl_optimizer optimizer; /* Adam, begun anew for each sample, or SGD without momentum */
  double rate;            /* of its updates */
  unsigned optimizations; /* HL_OPTIMIZE_* */
  int64_t cache_mb;       /* of measurements, 10^6 bytes; 0: none is kept */
} hl_progressive_spec;

/* *ret_spec is NULL without --progressive, else in the arena. INVALID_ARGUMENT names the option. */
hl_status hl_progressive_spec_read(const hl_options *options, hl_arena *arena,
                                   const hl_progressive_spec **ret_spec, hl_error *error);

/* Appends the options that ask for it again, each after a space. */
void hl_progressive_spec_options(const hl_progressive_spec *spec, hl_text *out);

/* "standard" or "progressive" where all numbers are theirs, else "custom". */
const char *hl_progressive_spec_name(const hl_progressive_spec *spec);

/* Appends "all", "none" or names with commas. */
void hl_optimizations_format(unsigned optimizations, hl_text *out);

#endif
