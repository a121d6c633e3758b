#include "report/imaging-plot.h"

#include "report/gnuplot.h"
#include "report/picture-frame.h"
#include <math.h>

typedef struct panel {
  const char *name, *title;
  const float *values;   /* or, of the mask, */
  const uint8_t *opened; /* these */
  bool is_root;          /* the square root is drawn: most of what is seen is near zero */
} panel;

bool hl__imaging_is_shown(const hl_records *records, size_t row) {
  const hl_record *r = &records->items[row];
  if (!r->pictures) return false;
  for (size_t i = 0; i < row; i++) {
    const hl_record *other = &records->items[i];
    if (other->pictures && hl_text_same(other->model, r->model) &&
        hl_text_same(other->engine, r->engine) && hl_text_same(other->dtype, r->dtype) &&
        hl_text_same(other->imaging_scenario, r->imaging_scenario) &&
        hl_text_same(other->optimizations, r->optimizations))
      return false;
  }
  return true;
}

static double value_of(const panel *p, int64_t at) {
  double value = p->opened ? (double)p->opened[at] : (double)p->values[at];
  return p->is_root ? sqrt(fmax(value, 0)) : value;
}

/* The object lies in the middle; the mask fills the plane. */
static void put_block(const panel *p, int64_t side, int64_t part, hl_text *out) {
  int64_t first = (side - part) / 2, step = (part + HL__FRAME_PIXELS - 1) / HL__FRAME_PIXELS;
  hl_text_format(out, "$%s << EOD\n", p->name);
  for (int64_t row = first; row < first + part; row += step) {
    for (int64_t column = first; column < first + part; column += step)
      hl_text_format(out, "%.4g ", value_of(p, row * side + column));
    hl_text_char(out, '\n');
  }
  hl_text_append(out, "EOD\n");
}

static void put_script(const hl_report_input *input, const hl_record *r, hl_text *out) {
  const hl_imaging_pictures *s = r->pictures;
  const panel panels[] = {
      {.name = "truth", .title = "True object", .values = s->truth},
      {.name = "image", .title = "Reconstruction", .values = s->reconstruction},
      {.name = "seen",
       .title = "Seen through the last aperture (square root)",
       .values = s->measured,
       .is_root = true},
      {.name = "mask", .title = "Cumulative mask in the plane of frequencies", .opened = s->mask}};
  bool known = r->object_size > 0 && r->object_size <= s->side;
  for (size_t i = 0; i < HL_COUNT(panels); i++)
    put_block(&panels[i], s->side, i < 2 && known ? r->object_size : s->side, out);
  hl_text title = HL_TEXT_INIT, remark = HL_TEXT_INIT;
  hl_text_format(&title, "%s, %s, %s", r->model, r->engine, r->dtype);
  hl_text_format(&remark, "%s, optimised: %s", r->imaging_scenario ? r->imaging_scenario : "",
                 r->optimizations ? r->optimizations : "");
  hl__frame_begin(&(hl__frame){.title = title.data ? title.data : "",
                               .remark = remark.data,
                               .info = input->info,
                               .rows = 2,
                               .height = 8.4,
                               .top = 0.88},
                  out);
  /* Truth and reconstruction share a scale, so that grey means the same. */
  for (size_t i = 0; i < HL_COUNT(panels); i++)
    hl__frame_picture(panels[i].title, i < 2 || panels[i].opened ? "0:1" : "0:*", "gray",
                      panels[i].name, out);
  hl__frame_end(out);
  hl_text_release(&title);
  hl_text_release(&remark);
}

hl_status hl__imaging_plot(const hl_report_input *input, size_t row, hl_text *ret_picture,
                           hl_error *error) {
  hl_text script = HL_TEXT_INIT;
  put_script(input, &input->records->items[row], &script);
  hl_status status = hl_gnuplot_picture(NULL, &script, true, ret_picture, error);
  hl_text_release(&script);
  return status;
}
