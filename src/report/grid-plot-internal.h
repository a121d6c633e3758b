/* report/grid-plot-internal.h - what the pictures of a grid share. */
#ifndef HL_REPORT_GRID_PLOT_INTERNAL_H
#define HL_REPORT_GRID_PLOT_INTERNAL_H

#include "report/grid.h"
#include "report/plot-data.h"

enum {
  HL_GRID_LINES = HL_PLOT_LINES, /* members drawn as lines; more would not be told apart */
  HL_GRID_PANELS = 4,            /* models, or members, with panels of their own */
  HL_GRID_COLUMNS = 16           /* batch sizes of a heat map */
};

typedef struct hl_grid_drawing {
  const hl_grid *grid;
  const hl_report_input *input;
  hl_plot_kind kind;
  hl_text *out;
  /* Those with points, the first of them. */
  size_t models[HL_GRID_PANELS], model_count, all_models;
  size_t members[HL_GRID_LINES], member_count, all_members;
} hl_grid_drawing;

/* Point types and colours of members and models. */
extern const int hl__grid_shapes[HL_GRID_LINES];

/* The terminal, the heading and what is not drawn ("3 of 5 models"); `remark` NULL: nothing more.
 */
void hl__grid_begin(const hl_grid_drawing *d, const char *title, const char *remark, double width,
                    double height);
/* A line of names with the members' marks, at `screen_y`. */
void hl__grid_legend(const hl_grid_drawing *d, double screen_y);

/* A colour of a scale from light (0) to dark (1): "#rrggbb". */
typedef struct hl_grid_colour {
  char text[8];
  bool dark; /* white text is read on it */
} hl_grid_colour;
hl_grid_colour hl__grid_blend(const double light[3], const double dark[3], double share);

/* Each appends its script; UNAVAILABLE, with nothing appended, where there is nothing to draw. */
hl_status hl__grid_plot_batch(const hl_grid_drawing *d, hl_error *error);
hl_status hl__grid_plot_heat(const hl_grid_drawing *d, hl_error *error);
hl_status hl__grid_plot_speedup(const hl_grid_drawing *d, hl_error *error);
hl_status hl__grid_plot_compile(const hl_grid_drawing *d, hl_error *error);
hl_status hl__grid_plot_roofline(const hl_grid_drawing *d, hl_error *error);

#endif
