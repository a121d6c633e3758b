/*
 * data/scan-layout.h - where CXI and PtyD files have what a scan is made of, and their units.
 *
 * CXI 1.6 (Maia, 2012; metres and joules; patterns are intensities) and the .ptyd files of PtyPy
 * (metres and keV; intensities). Positions in metres become pixels of the patch by the geometry of
 * the far field: a pixel is wavelength * distance / (N * pixel of the detector).
 */
#ifndef HL_DATA_SCAN_LAYOUT_H
#define HL_DATA_SCAN_LAYOUT_H

#include "base/text.h"
#include "data/ptychography.h"

enum { HL_LAYOUT_NAMES = 4 };

/* Alternatives in the order they are looked for; unused ones are NULL. */
typedef struct hl_scan_layout {
  const char *patterns[HL_LAYOUT_NAMES], *positions[HL_LAYOUT_NAMES];
  const char *energy[HL_LAYOUT_NAMES], *distance[HL_LAYOUT_NAMES];
  const char *pixel_x[HL_LAYOUT_NAMES], *pixel_y[HL_LAYOUT_NAMES];
  const char *mask;    /* pixels that are no good are not 0; NULL: none is known */
  double joules;       /* in the unit of the energy */
  bool vertical_first; /* positions are (y, x), not (x, y) or (x, y, z) */
} hl_scan_layout;

/* The layout of the file, and in *ret_entry its patterns; NULL if it has none of ours. */
const hl_scan_layout *hl_scan_layout_of(const hl_npz *npz, const hl_npz_entry **ret_entry);

/* Reads an array; of "chunks/0/..." also what chunks/1/ and so on have, along the first axis, all
 * of *ret_parts. hl_array_release() it. As hl_npz_read; BAD_DATA where parts do not fit. */
hl_status hl_scan_parts_read(hl_npz *npz, const char *name, hl_tensor_view *ret, int *ret_parts,
                             hl_error *error);

/* Makes masked pixels of the patterns 0; `notes` say how many. */
hl_status hl_scan_layout_mask(const hl_scan_layout *layout, hl_npz *npz, hl_tensor_view *patterns,
                              hl_text *notes, hl_error *error);

/* The positions, in metres, into scan->x and y; *ret_count is -1 if the file has none. */
hl_status hl_scan_layout_positions(const hl_scan_layout *layout, hl_npz *npz, hl_scan *scan,
                                   int64_t *ret_count, hl_error *error);

/* Makes pixels of them, for patterns of size x size. Without a geometry in the file the positions
 * are dropped, and `notes` say so; BAD_DATA for one that cannot be. */
hl_status hl_scan_layout_to_pixels(const hl_scan_layout *layout, hl_npz *npz, int64_t size,
                                   hl_scan *scan, hl_text *notes, hl_error *error);

#endif
