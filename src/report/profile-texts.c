#include "report/profile-texts.h"

#include "report/cells.h"
#include "report/profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_rows = 50 };

hl_status hl__profile_time_text(const hl_profile *profile, hl_text *out, hl_error *error) {
  return hl_report_profile_text(profile, HL_PROFILE_BY_OPERATOR, most_rows, out, error);
}

/* -- memory ------------------------------------------------------------------------------------ */

static int by_memory(const void *a, const void *b) {
  const hl_profile_row *x = a, *y = b;
  bool no_x = isnan(x->memory_bytes), no_y = isnan(y->memory_bytes);
  if (no_x || no_y) return (int)no_x - (int)no_y;
  if (x->memory_bytes > y->memory_bytes) return -1;
  if (x->memory_bytes < y->memory_bytes) return 1;
  return strcmp(x->name, y->name);
}

static void put_memory(const hl_profile_table *t, hl_text *out) {
  hl_cells cells = HL_CELLS_INIT;
  double steps = t->steps ? (double)t->steps : 1;
  hl_cells_column(&cells, "Operator", false);
  hl_cells_column(&cells, "Kind", false);
  hl_cells_column(&cells, "Phase", false);
  hl_cells_column(&cells, "Calls", true);
  hl_cells_column(&cells, "Memory MB", true);
  hl_cells_column(&cells, "Moved MB", true);
  size_t shown = 0, unknown = 0;
  for (size_t i = 0; i < t->count; i++) {
    const hl_profile_row *r = &t->rows[i];
    if (r->is_gap || r->is_span) continue;
    if (isnan(r->memory_bytes)) unknown++;
    if (isnan(r->memory_bytes) || shown >= most_rows) continue;
    shown++;
    hl_cells_row(&cells);
    hl_cells_put(&cells, r->name);
    hl_cells_put(&cells, r->kind);
    hl_cells_put(&cells, r->phase);
    hl_cells_number(&cells, (double)r->calls / steps);
    hl_cells_number(&cells, r->memory_bytes / 1e6);
    hl_cells_number(&cells, r->bytes / steps / 1e6);
  }
  if (shown)
    hl_cells_text(&cells, out);
  else
    hl_text_append(out, "The memory of no operator is known.\n");
  if (shown && unknown) hl_text_format(out, "Of %zu more operators it is not known.\n", unknown);
  out->failed |= cells.failed;
  hl_cells_release(&cells);
}

hl_status hl__profile_memory_text(const hl_profile *profile, hl_text *out, hl_error *error) {
  hl_profile_table t;
  hl_status status = hl_profile_tabulate(profile, HL_PROFILE_BY_OPERATOR, &t, error);
  if (status != HL_OK) return status;
  if (t.count) qsort(t.rows, t.count, sizeof *t.rows, by_memory);
  hl_text_line(
      out,
      "%s, %s, %s: memory that one call allocates or writes, and bytes read and written in a step",
      profile->model, profile->workload, profile->engine);
  put_memory(&t, out);
  hl_profile_table_release(&t);
  return out->failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table") : HL_OK;
}

/* -- everything -------------------------------------------------------------------------------- */

hl_status hl__profile_breakdown_text(const hl_profile *profile, hl_text *out, hl_error *error) {
  hl_status status = HL_OK;
  for (int by = 0; by < HL_PROFILE_BYS && status == HL_OK; by++) {
    hl_text_format(out, "%s=== By %s ===\n", by ? "\n" : "", hl_profile_by_name((hl_profile_by)by));
    status = hl_report_profile_text(profile, (hl_profile_by)by, 0, out, error);
  }
  return status;
}

/* -- how to look at it ------------------------------------------------------------------------- */

static const struct {
  const char *end, *how;
} files[] = {
    {"/trace.json", "timeline: load it at https://ui.perfetto.dev or in chrome://tracing"},
    {".pt.trace.json", "the timeline for TensorBoard's profiler (pip install torch_tb_profiler)"},
    {"/flame.svg", "flame graph: open it in a browser; hover for names and times"},
    {"/stacks.folded", "stacks for flamegraph.pl, speedscope, inferno; numbers are nanoseconds"},
    {"/roofline.png", "operators under the machine's limits"},
    {"/cpu_time_summary.txt", "operators with most time of their own"},
    {"/cuda_memory_summary.txt", "operators that write most"},
    {"/memory_summary.txt", "operators that write most"},
    {"/detailed_breakdown.txt", "every operator, layer, kind and phase"},
};

static const char *how_of(const char *path) {
  for (size_t i = 0; i < HL_COUNT(files); i++)
    if (hl_text_ends(path, files[i].end)) return files[i].how;
  return "scalars and pictures, with --logdir as above";
}

hl_status hl__profile_summary_text(const hl_profile *profile, const char *directory,
                                   const char *written, const char *notes, hl_text *out,
                                   hl_error *error) {
  hl_status status = hl_report_profile_text(profile, HL_PROFILE_BY_PHASE, 0, out, error);
  if (status != HL_OK) return status;
  hl_text_append(out, "\nTo look at it:\n");
  hl_text_line(out, "  tensorboard --logdir %s/tensorboard", directory);
  char *copy = hl_strdup(written), *at = copy, *line;
  while ((line = strsep(&at, "\n"))) {
    if (*line) {
      hl_text_line(out, "  %s", line);
      hl_text_format(out, "      %s\n", how_of(line));
    }
  }
  free(copy);
  if (*notes) hl_text_format(out, "\nNot written:\n%s", notes);
  return !copy || out->failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a summary")
                              : HL_OK;
}
