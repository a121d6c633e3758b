/*
 * formats/png-grey.h - a grey picture of floats as a PNG of 8 bits: 0 black, 1 white, what is
 * beyond is clipped, what is no number is black. Pure; thread-safe.
 */
#ifndef HL_FORMATS_PNG_GREY_H
#define HL_FORMATS_PNG_GREY_H

#include "base/text.h"

/* Appends the file of `height` x `width` pixels, rows from the top. INVALID_ARGUMENT for a side
 * that is not 1 to 2^20, OUT_OF_MEMORY. */
hl_status hl_png_grey(const float *pixels, int64_t height, int64_t width, hl_text *out,
                      hl_error *error);

#endif
