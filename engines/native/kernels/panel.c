/* Products of few rows with a matrix in panels. */
#include "vector.h"

enum {
  VECTORS = HL_PANEL / HL_LANES,                             /* of a panel's row */
  PANELS = HL_VECTOR_BYTES == 64 ? 3 : 1,                    /* at a time */
  ROWS = HL_VECTOR_BYTES == 64 ? 8 : 12 / (VECTORS * PANELS) /* so that sums stay in registers */
};

void HL_FN(panels)(const hl_panels_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(hl_ceil_div(a->columns, HL_PANEL), thread, threads);
  for (size_t p = share.first; p < share.end; p++) {
    float *y = a->y + p * a->k * HL_PANEL;
    const float *x = a->x + p * HL_PANEL * a->column;
    size_t width = hl_min(HL_PANEL, a->columns - p * HL_PANEL);
    if (width < HL_PANEL) memset(y, 0, a->k * HL_PANEL * sizeof *y);
    if (a->row == 1) {
      hl_transpose(y, HL_PANEL, x, (ptrdiff_t)a->column, a->k, width);
      continue;
    }
    for (size_t i = 0; i < a->k; i++) memcpy(y + i * HL_PANEL, x + i * a->row, width * sizeof *y);
  }
}

/* `rows` rows by `panels` panels; both are constants where it is called. */
HL_INLINE void block(const hl_panel_product_args *args, size_t row, size_t panel, size_t rows,
                     size_t panels) {
  const float *a = args->a + row * args->a_row, *b = args->b + panel * args->k * HL_PANEL;
  vfloat sum[ROWS][PANELS * VECTORS];
  for (size_t r = 0; r < rows; r++)
    for (size_t v = 0; v < panels * VECTORS; v++) sum[r][v] = (vfloat){0};
  for (size_t i = 0; i < args->k; i++) {
    vfloat line[PANELS * VECTORS];
    for (size_t p = 0; p < panels; p++)
      for (size_t v = 0; v < VECTORS; v++)
        line[p * VECTORS + v] = hl_vload(b + (p * args->k + i) * HL_PANEL + v * HL_LANES);
    for (size_t r = 0; r < rows; r++) {
      vfloat x = hl_vset(a[r * args->a_row + i]);
      for (size_t v = 0; v < panels * VECTORS; v++) sum[r][v] += x * line[v];
    }
  }
  for (size_t r = 0; r < rows; r++)
    for (size_t p = 0; p < panels; p++) {
      size_t first = (panel + p) * HL_PANEL, width = hl_min(HL_PANEL, args->columns - first);
      float *c = args->c + (row + r) * args->c_row + first;
      float found[HL_PANEL];
      for (size_t v = 0; v < VECTORS; v++) hl_vstore(found + v * HL_LANES, sum[r][p * VECTORS + v]);
      for (size_t i = 0; i < width; i++) c[i] = args->add ? c[i] + found[i] : found[i];
    }
}

#define CASE(rows_)                                                                                \
  case rows_:                                                                                      \
    block(a, row, panel, rows_ < ROWS ? rows_ : ROWS, panels);                                     \
    break;

/* All rows by `panels` panels. */
HL_INLINE void all_rows(const hl_panel_product_args *a, size_t panel, size_t panels) {
  for (size_t row = 0; row < a->n; row += ROWS) {
    switch (hl_min(ROWS, a->n - row)) {
      CASE(1)
      CASE(2)
      CASE(3)
      CASE(4)
      CASE(5)
      CASE(6)
      CASE(7)
      CASE(8)
    }
  }
}

void HL_FN(panel_product)(const hl_panel_product_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(hl_ceil_div(a->columns, HL_PANEL), thread, threads);
  size_t panel = share.first;
  for (; panel + PANELS <= share.end; panel += PANELS) all_rows(a, panel, PANELS);
  for (; panel < share.end; panel++) all_rows(a, panel, 1);
}
