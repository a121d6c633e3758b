/*
 * report/picture-frame.h - pictures of pixels, two beside each other: the script of gnuplot around
 * them. Not for use outside src/report.
 *
 *     hl__frame_begin(&frame, &script);
 *     hl__frame_picture("True object", "0:1", "gray", "truth", &script);   // of the block $truth
 *     hl__frame_end(&script);
 */
#ifndef HL_REPORT_PICTURE_FRAME_H
#define HL_REPORT_PICTURE_FRAME_H

#include "base/text.h"
#include "record/record.h"

enum { HL__FRAME_PIXELS = 512 /* of a side that are drawn; of more every n-th */ };

typedef struct hl__frame {
  const char *title, *remark; /* remark: NULL for none */
  const hl_run_info *info;
  int rows;      /* of two pictures each */
  double height; /* inches, of 9 in width */
  double top;    /* where pictures end, of the height: 0.88 */
} hl__frame;

void hl__frame_begin(const hl__frame *frame, hl_text *out);

/* `range` as gnuplot has it ("0:1", "0:*"), `palette` its words ("gray"), `block` the name of the
 * data without the dollar. No quotes within. */
void hl__frame_picture(const char *title, const char *range, const char *palette, const char *block,
                       hl_text *out);
void hl__frame_end(hl_text *out);

#endif
