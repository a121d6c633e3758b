/* imaging/telescope-internal.h - what the files of imaging/telescope.h share. */
#ifndef HL_IMAGING_TELESCOPE_INTERNAL_H
#define HL_IMAGING_TELESCOPE_INTERNAL_H

#include "imaging/telescope.h"
#include "numeric/band-dft.h"
#include "numeric/fft.h"
#include "numeric/pruned-fft.h"

struct hl_telescope {
  hl_telescope_spec spec;
  size_t n, pixels;
  float *truth;
  uint64_t version;
  bool has_spectrum; /* `spectrum` is the truth's */
  float complex *spectrum;
  uint8_t *mask; /* the cumulative one */
  hl_aperture *apertures;
  size_t aperture_count, aperture_capacity;
  hl_measurement_cache *cache;
  hl_fft *fft;      /* NULL: not made, or not kept */
  float *grid;      /* rows, then columns of all pixels; NULL as above */
  uint8_t *opening; /* (image, image): the mask of one aperture */
  float complex *field, *other, *sum;
  hl_team *team;
  hl_aperture_box box; /* of the cumulative mask; 0 high: it is closed */
  /* The fast ways' plans; NULL as `fft` is. */
  hl_pruned_fft *pruned;
  hl_band_dft *narrow, *wide;       /* of one aperture; of a small cumulative mask */
  float complex *band, *band_slope; /* of the larger of both */
  hl_telescope_counts counts;
};

/* The plan of the whole plane; to be given back by hl__telescope_plan_done. */
hl_status hl__telescope_plan(hl_telescope *t, hl_error *error);
void hl__telescope_plan_done(hl_telescope *t);            /* of the fast ways too */
uint64_t hl__telescope_plan_bytes(const hl_telescope *t); /* of those that are kept */

/* INVALID_ARGUMENT where no aperture can be open, or not finite. */
hl_status hl__telescope_check(const hl_telescope *t, hl_aperture aperture, hl_error *error);

/* Mask of one aperture in t->opening, of all pixels' coordinates. */
hl_status hl__telescope_opening(hl_telescope *t, hl_aperture aperture, hl_error *error);

/* t->mask is of all apertures. */
void hl__telescope_make_mask(hl_telescope *t);

/* What is seen, without noise and cache. */
hl_status hl__telescope_see_old(hl_telescope *t, const float *picture, float *ret_amplitude,
                                hl_error *error);
hl_status hl__telescope_see_new(hl_telescope *t, hl_aperture aperture, float *ret_amplitude,
                                hl_error *error);

/* By the definition: transforms of the whole plane. */
hl_status hl__telescope_plain_see_old(hl_telescope *t, const float *picture, float *ret_amplitude,
                                      hl_error *error);
hl_status hl__telescope_plain_see_new(hl_telescope *t, hl_aperture aperture, float *ret_amplitude,
                                      hl_error *error);
hl_status hl__telescope_plain_loss(hl_telescope *t, hl_aperture aperture, const float *image,
                                   const float *measured_old, const float *measured_new,
                                   hl_telescope_losses *ret_losses, float *ret_gradient,
                                   hl_error *error);
/* One loss; its gradient is added. */
hl_status hl__telescope_one_loss(hl_telescope *t, const float *image, const uint8_t *mask,
                                 const float *measured, double *ret_loss, float *ret_gradient,
                                 hl_error *error);
/* F, or its inverse, in place. */
hl_status hl__telescope_transform(hl_telescope *t, float complex *field, unsigned direction,
                                  hl_error *error);
hl_status hl__telescope_spectrum(hl_telescope *t, const float *picture, float complex *ret_spectrum,
                                 hl_error *error);
/* 0 outside of the object. */
void hl__telescope_clear_outside(const hl_telescope *t, float *picture);

/* Loss of one measurement: sum |a - m| / sum |m|, or mean |a|; *ret_scale is its derivative by |a -
 * m|. */
double hl__telescope_l1(const float *a, const float *m, size_t pixels, double *ret_scale);
double hl__telescope_l1_of(const hl_residual_sums *sums, size_t pixels, double *ret_scale);

#endif
