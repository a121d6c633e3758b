/*
 * record/thumbnails.h - small grey pictures of what a row reconstructed: kept with the row, shown
 * on its page.
 *
 *     hl_thumbnails *thumbnails = hl_thumbnails_make(&record);
 *     if (thumbnails) puts(hl_thumbnail_title(thumbnails->items[0].kind));
 *     hl_thumbnails_free(thumbnails);
 *
 * Pure. A side has at most HL_THUMBNAIL_SIDE pixels; of more every n-th is taken.
 */
#ifndef HL_RECORD_THUMBNAILS_H
#define HL_RECORD_THUMBNAILS_H

#include <stddef.h>
#include <stdint.h>

enum { HL_THUMBNAIL_SIDE = 192, HL_THUMBNAILS_MOST = 4 };

typedef enum hl_thumbnail_kind {
  HL_THUMBNAIL_AMPLITUDE,
  HL_THUMBNAIL_PHASE,
  HL_THUMBNAIL_TRUE_AMPLITUDE,
  HL_THUMBNAIL_TRUE_PHASE,
  HL_THUMBNAIL_OBJECT, /* of progressive imaging, as those that follow */
  HL_THUMBNAIL_IMAGE,
  HL_THUMBNAIL_SEEN,
  HL_THUMBNAIL_MASK,
  HL_THUMBNAIL_KINDS
} hl_thumbnail_kind;

typedef struct hl_thumbnail {
  hl_thumbnail_kind kind;
  int64_t height, width;
  double low, high; /* the values of black and of white */
  uint8_t *grey;    /* height x width, rows from the top; owned */
} hl_thumbnail;

typedef struct hl_thumbnails {
  hl_thumbnail items[HL_THUMBNAILS_MOST];
  size_t count;
} hl_thumbnails;

struct hl_record;
/* Of the row's reconstruction, or its pictures of progressive imaging. NULL where it has neither,
 * or there is no memory. */
hl_thumbnails *hl_thumbnails_make(const struct hl_record *record);
void hl_thumbnails_free(hl_thumbnails *thumbnails); /* also NULL */

/* "amplitude", as the store has it; "Reconstruction: amplitude", as people read it. */
const char *hl_thumbnail_name(hl_thumbnail_kind kind);
const char *hl_thumbnail_title(hl_thumbnail_kind kind);
/* HL_THUMBNAIL_KINDS for a name that is none, and for NULL. */
hl_thumbnail_kind hl_thumbnail_from_name(const char *name);

#endif
