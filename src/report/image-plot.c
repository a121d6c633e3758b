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

/* What was compared with the truth, else all that was covered. */
static part part_of(const hl_reconstruction *image) {
  part p = {.image = image, .top = image->top, .left = image->left, .step = 1};
  if (image->is_aligned) {
    p.height = image->height;
    p.width = image->width;
  } else {
    int64_t side = image->side, bottom = 0, right = 0;
    p.top = p.left = side;
    for (int64_t i = 0; i < side * side; i++) {
      if (!(image->weights[i] > 0.01f)) continue;
      if (i / side < p.top) p.top = i / side;
      if (i / side > bottom) bottom = i / side;
      if (i % side < p.left) p.left = i % side;
      if (i % side > right) right = i % side;
    }
    p.height = bottom - p.top + 1;
    p.width = right - p.left + 1;
  }
  if (p.height < 1 || p.width < 1) {
    p.top = p.left = 0;
    p.height = p.width = image->side;
  }
  int64_t longer = p.height > p.width ? p.height : p.width;
  p.step = (longer + HL__FRAME_PIXELS - 1) / HL__FRAME_PIXELS;
  return p;
}

/* The value of a pixel; aligned, where that is known. */
static void pixel_of(const hl_reconstruction *image, bool truth, int64_t row, int64_t column,
                     double *ret_amplitude, double *ret_phase) {
  const float *at = (truth ? image->truth : image->pixels) + 2 * (row * image->side + column);
  double re = (double)at[0], im = (double)at[1], turn = 0;
  *ret_amplitude = hypot(re, im);
  if (!truth && image->is_aligned) {
    turn = atan2(image->factor[1], image->factor[0]) + image->ramp[0] * (double)column +
           image->ramp[1] * (double)row;
    *ret_amplitude *= hypot(image->factor[0], image->factor[1]);
  }
  *ret_phase = remainder(atan2(im, re) + turn, 2 * acos(-1));
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
      pixel_of(p->image, truth, row, column, &a, &f);
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
