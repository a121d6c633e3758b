/*
 * data/ptychography.h - a ptychography scan: diffraction patterns and where they were taken.
 *
 *     hl_scan *scan;
 *     hl_scan_read("scan.npz", 64, &scan, error);
 *     double factor = hl_scan_normalise_factor(scan, HL_SCAN_PHOTONS);
 *     ... scan->amplitude[...] * factor ...
 *     hl_scan_free(scan);
 *
 * Keys: diff3d (or diffraction, data) of shape (M, N, N) or (N, N, M); xcoords and ycoords (M), or
 * scan (M, 2) with the vertical coordinate first. Amplitudes, except that integers, and the
 * `data` of tike, are counts, whose square root is taken. Leading axes of size 1 are dropped.
 * probeGuess or probe is the probe, (N, N) or (..., N, N), the first of which is taken; objectGuess
 * or object the true object. Either may be missing, and a bad one does not hide the patterns.
 * HDF5 files may have the same names, or be CXI or PtyD (data/scan-layout.h).
 */
#ifndef HL_DATA_PTYCHOGRAPHY_H
#define HL_DATA_PTYCHOGRAPHY_H

#include "data/npz.h"
#include <complex.h>

typedef struct hl_scan {
  int64_t count;     /* patterns */
  int64_t size;      /* N */
  int64_t file_size; /* N in the file, before cropping */
  float *amplitude;  /* (count, N, N), zero frequency at [N/2, N/2], not normalised */
  double *x, *y;     /* in pixels of N-sized patches; NULL if the file has no positions */
  /* The probe of an image's pixels, its centre at [N/2, N/2], such that a noise-free amplitude is
   * about that of the orthonormal transform of probe * patch, in the file's own unit; or NULL. */
  float complex *probe;
  char *probe_problem; /* why it is NULL; else NULL */
  /* What the scan is of, in the same pixels: (x, y) is where the centre of an image lies. Or NULL.
   */
  float complex *object;
  int64_t object_height, object_width;
  char *object_problem;
  char *file;  /* as messages call it */
  char *key;   /* the array the patterns came from */
  char *notes; /* what was done, for people: "counts, square root taken; ..." */
  bool counts; /* the file held counts, not amplitudes */
  bool corner; /* the file had the zero frequency at the corner */
} hl_scan;

/* Photons of a pattern on average after normalisation, as PtychoPINN's nphotons. */
#define HL_SCAN_PHOTONS 1e9

/* Reads a scan with patterns of size x size, or of the file's own size for 0. Larger patterns are
 * cropped around the zero frequency: the same field of view in coarser pixels, so positions are
 * scaled with it, and probe and object keep their lowest frequencies. BAD_DATA, LIMIT, NOT_FOUND,
 * OUT_OF_MEMORY with place and remedy. */
hl_status hl_scan_read(const char *path, int64_t size, hl_scan **ret_scan, hl_error *error);
hl_status hl_scan_from_npz(hl_npz *npz, int64_t size, hl_scan **ret_scan, hl_error *error);
void hl_scan_free(hl_scan *scan);

/* The entry that holds the diffraction patterns, or NULL. */
const hl_npz_entry *hl_scan_find(const hl_npz *npz);

/* PtychoPINN's normalisation: sqrt((N/2)^2 / mean over images of sum(X^2)) times the intensity
 * scale sqrt(photons) / (N/2). */
double hl_scan_normalise_factor(const hl_scan *scan, double photons);

/* The same in two halves, for patterns that are elsewhere: the sum of all squares, pixel by pixel
 * in their order, and what follows from it. */
double hl_scan_add_squares(double sum, const float *amplitude, int64_t pixels);
double hl_scan_factor_of(const hl_scan *scan, double sum, double photons);

#endif
