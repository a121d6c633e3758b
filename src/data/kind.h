/*
 * data/kind.h - what a path leads to: arrays, pictures or stacks of planes.
 *
 *     switch (hl_data_kind_of("scans/")) { case HL_DATA_TIFFS: ... }
 *
 * By the first bytes of files, whatever they are called. Thread-safe.
 */
#ifndef HL_DATA_KIND_H
#define HL_DATA_KIND_H

typedef enum hl_data_kind {
  HL_DATA_ARRAYS,   /* a file of arrays, or one that is not known: reading it says why */
  HL_DATA_PICTURE,  /* one JPEG or PNG */
  HL_DATA_TIFF,     /* one TIFF */
  HL_DATA_PICTURES, /* a folder of pictures, or of nothing that is known */
  HL_DATA_TIFFS     /* a folder of TIFF files */
} hl_data_kind;

/* The first picture or TIFF of a folder, or else of the folders in it, decides. */
hl_data_kind hl_data_kind_of(const char *path);

#endif
