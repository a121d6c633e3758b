#include "report/picture-frame.h"

#include "report/plot-data.h"

void hl__frame_begin(const hl__frame *frame, hl_text *out) {
  hl_plot_terminal(out, HL_PLOT_PNG, 9, frame->height);
  hl_text_format(out, "set multiplot layout %d,2 margins 0.03,0.93,0.03,%g spacing 0.10,0.08\n",
                 frame->rows, frame->top);
  hl_plot_heading(out, frame->title, frame->remark, frame->info);
  hl_text_append(
      out, "set size ratio -1\nunset tics\nset cbtics\nset autoscale x noextend\n"
           "set autoscale y noextend\nset yrange [*:*] reverse\nset datafile missing 'nan'\n");
}

void hl__frame_picture(const char *title, const char *range, const char *palette, const char *block,
                       hl_text *out) {
  hl_text_format(out, "set title '%s'\nset cbrange [%s]\nset palette %s\n", title, range, palette);
  hl_text_format(out, "plot $%s matrix with image notitle\n", block);
  hl_text_append(out, "unset label 20\nunset label 21\n"); /* the heading: once is enough */
}

void hl__frame_end(hl_text *out) {
  hl_text_append(out, "unset multiplot\n");
}
