/*
 * record/imaging-pictures.h - what progressive imaging saw and made of it, while a row is at hand:
 * for pictures; neither copied nor stored.
 */
#ifndef HL_RECORD_IMAGING_PICTURES_H
#define HL_RECORD_IMAGING_PICTURES_H

#include <stdint.h>

typedef struct hl_imaging_pictures {
  int64_t side; /* of each: side x side, rows one after another */
  /* Owned. The object; what was seen of it through the last aperture; the generator's picture. */
  float *truth, *measured, *reconstruction;
  uint8_t *mask; /* the cumulative one: 0 and 1; owned */
} hl_imaging_pictures;

void hl_imaging_pictures_free(hl_imaging_pictures *pictures); /* also NULL */

#endif
