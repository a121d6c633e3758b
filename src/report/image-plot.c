#include "report/image-plot.h"

#include "report/gnuplot.h"
#include "report/picture-frame.h"
#include <math.h>
#include <stdio.h>

typedef struct part {
  const hl_reconstruction *image;
  int64_t top, left, height, width, step;
} part;

bool hl__image_is_shown(const hl_records *records, size_t row) {
  const hl_record *r = &records->items[row];
  if (!r->reconstruction) return false;
  for (size_t i = 0; i < row; i++) {
    const hl_record *other = &records->items[i];
    if (other->reconstruction && hl_text_same(other->model, r->model) &&
        hl_text_same(other->engine, r->engine) && hl_text_same(other->dtype, r->dtype))
      return false;
  }
  return true;
}

static part part_of(const hl_reconstruction *image) {
  hl_reconstruction_part shown = hl_reconstruction_shown(image);
  int64_t longer = shown.height > shown.width ? shown.height : shown.width;
  return (part){.image = image,
                .top = shown.top,
                .left = shown.left,
                .height = shown.height,
                .width = shown.width,
                .step = (longer + HL__FRAME_PIXELS - 1) / HL__FRAME_PIXELS};
}

typedef struct range {
  double low, high;
} range;

static void widen(range *r, double value) {
  if (!isfinite(value)) return;
  r->low = fmin(r->low, value);
  r->high = fmax(r->high, value);
}

/* A block of data, line by line, and the range of its numbers. */
static range put_block(const part *p, bool truth, bool phase, hl_text *out) {
  range found = {(double)INFINITY, -(double)INFINITY};
  hl_text_format(out, "$%s%s << EOD\n", truth ? "truth" : "image", phase ? "p" : "a");
  for (int64_t row = p->top; row < p->top + p->height; row += p->step) {
    for (int64_t column = p->left; column < p->left + p->width; column += p->step) {
      double a, f;
      hl_reconstruction_pixel(p->image, truth, row, column, &a, &f);
      widen(&found, phase ? f : a);
      hl_text_format(out, "%.4g ", phase ? f : a);
    }
    hl_text_char(out, '\n');
  }
  hl_text_append(out, "EOD\n");
  return found;
}

static void put_panel(bool truth, bool phase, range r, hl_text *out) {
  char range_text[64], title[64];
  if (!(r.high > r.low)) r = (range){r.low - 1, r.low + 1};
  snprintf(range_text, sizeof range_text, "%.6g:%.6g", r.low, r.high);
  snprintf(title, sizeof title, "%s%s",
           truth ? "True object: " : "Reconstruction: ", phase ? "phase, rad" : "amplitude");
  hl__frame_picture(title, range_text,
                    phase ? "defined (0 '#2166ac', 1 '#f7f7f7', 2 '#b2182b')" : "gray",
                    truth   ? phase ? "truthp" : "trutha"
                    : phase ? "imagep"
                            : "imagea",
                    out);
}

static void put_script(const hl_report_input *input, const hl_record *r, hl_text *out) {
  part p = part_of(r->reconstruction);
  bool truth = r->reconstruction->truth != NULL;
  range ranges[2]; /* those of the truth, where it is known: the same colours mean the same */
  for (int phase = 0; phase < 2; phase++) {
    ranges[phase] = put_block(&p, false, phase, out);
    if (truth) ranges[phase] = put_block(&p, true, phase, out);
  }
  hl_text title = HL_TEXT_INIT;
  hl_text_format(&title, "%s, %s, %s", r->model, r->engine, r->dtype);
  hl__frame_begin(&(hl__frame){.title = title.data ? title.data : "",
                               .info = input->info,
                               .rows = truth ? 2 : 1,
                               .height = truth ? 8 : 4.6,
                               .top = 0.86},
                  out);
  for (int t = 0; t <= truth; t++)
    for (int phase = 0; phase < 2; phase++) put_panel(t, phase, ranges[phase], out);
  hl__frame_end(out);
  hl_text_release(&title);
}

hl_status hl__image_plot(const hl_report_input *input, size_t row, hl_text *ret_picture,
                         hl_error *error) {
  hl_text script = HL_TEXT_INIT;
  put_script(input, &input->records->items[row], &script);
  hl_status status = hl_gnuplot_picture(NULL, &script, true, ret_picture, error);
  hl_text_release(&script);
  return status;
}
