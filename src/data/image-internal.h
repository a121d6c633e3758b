/* Shared by the readers of pictures and by what resizes them. */
#ifndef HL_DATA_IMAGE_INTERNAL_H
#define HL_DATA_IMAGE_INTERNAL_H

#include "data/image.h"

/* `cut` NULL: the whole picture, exact. */
hl_status hl__image_decode_jpeg(const void *data, size_t bytes, const char *what,
                                const hl_image_cut *cut, hl_image_decoding decoding,
                                hl_image *ret_image, hl_error *error);
/* `upper`: of grey of 16 bits the upper 8 count, as of colour; else it is clipped at 255. */
hl_status hl__image_decode_png(const void *data, size_t bytes, const char *what, bool upper,
                               hl_image *ret_image, hl_error *error);

/* Size by the header. */
hl_status hl__image_size_jpeg(const void *data, size_t bytes, const char *what, int32_t *ret_width,
                              int32_t *ret_height, hl_error *error);

/* A picture without contents. LIMIT beyond HL_IMAGE_PIXELS_MAX, BAD_DATA for an empty one. */
hl_status hl__image_new(int64_t width, int64_t height, const char *what, hl_image *ret_image,
                        hl_error *error);
/* LIMIT and BAD_DATA as above. */
hl_status hl__image_check_size(int64_t width, int64_t height, const char *what, hl_error *error);

/* INVALID_ARGUMENT for a crop outside of the result. */
hl_status hl__image_check_cut(const hl_image_cut *cut, hl_error *error);

/* -- the triangle filter ---------------------------------------------------------------------- */

/* The pixels [*ret_low, *ret_high) of an axis of `in` pixels that pixel `at` of `out` is made of.
 */
void hl__filter_reach(int32_t in, int32_t out, int32_t at, int32_t *ret_low, int32_t *ret_high);

enum {
  HL__FILTER_BITS = 32 - 8 - 2, /* of a weight, behind the point, as Pillow has it */
  HL__FILTER_LOW_BITS = 11      /* a weight is high * 2^11 + low: products of 16 bits are quick */
};

/* For each pixel of the result along an axis, which pixels it is made of and their weights. */
typedef struct hl__filter {
  int32_t count;       /* pixels of the result */
  int32_t taps;        /* weights of each, a multiple of 4 */
  int32_t *first;      /* pixel of the part that is there, */
  int32_t *length;     /* and how many; the weights behind them are 0 */
  int16_t *high, *low; /* (count, taps) */
} hl__filter;

/* One instruction set's way to apply it; all give the same bytes. */
typedef struct hl__image_kernels {
  const char *isa; /* "baseline" or "avx2" */
  /* Rows: `rows` of them, `from_stride` bytes apart, become rows of filter->count pixels. Bytes
   * behind a row may be read and written as far as HL_IMAGE_PADDING; rows of `to` are so far apart.
   */
  void (*across)(const uint8_t *from, size_t from_stride, int32_t rows, const hl__filter *filter,
                 uint8_t *to, size_t to_stride);
  /* Row `i` of the result, of `bytes` bytes, from rows `stride` apart. The same of bytes behind. */
  void (*down)(const uint8_t *rows, size_t stride, size_t bytes, const hl__filter *filter,
               int32_t i, uint8_t *to);
} hl__image_kernels;

extern const hl__image_kernels hl__image_kernels_baseline;

/* NULL where this processor lacks them. */
const hl__image_kernels *hl__image_kernels_avx2(void);

#endif
