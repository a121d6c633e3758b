#include "cli/run-plots.h"

#include "base/file.h"
#include "models/models.h"
#include "report/series-plot.h"
#include <math.h>
#include <string.h>

/* What the model's text says, else the default; a file has no parameters. */
static double parameter_of(const char *model, const char *key) {
  double value = (double)NAN;
  size_t length = strlen(key);
  const hl_builtin_model *found = hl_models_find(model);
  for (const char *at = strchr(model, ':'); found && at; at = strchr(at + 1, ',')) {
    if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=') continue;
    char text[64];
    size_t bytes = strcspn(at + 2 + length, ",");
    if (bytes >= sizeof text) return (double)NAN;
    memcpy(text, at + 2 + length, bytes);
    text[bytes] = '\0';
    (void)hl_parse_real(text, -1e300, 1e300, "", &value, NULL);
    return value;
  }
  for (const hl_model_parameter *p = found ? found->parameters : NULL; p && p->key; p++)
    if (strcmp(p->key, key) == 0) (void)hl_parse_real(p->value, -1e300, 1e300, "", &value, NULL);
  return value;
}

static hl_series_plot plot_of(const hl_plan_plot *plot) {
  return (hl_series_plot){.title = plot->title,
                          .entries = plot->entries,
                          .entry_count = plot->entry_count,
                          .x = plot->x,
                          .y = plot->y,
                          .y_count = plot->y_count,
                          .parameter = parameter_of};
}

hl_status hl_cli_plots_check(const hl_plan_file *file, hl_error *error) {
  for (size_t i = 0; i < file->plot_count; i++) {
    hl_error inner = {0};
    hl_series_plot plot = plot_of(&file->plots[i]);
    hl_status status = hl_series_plot_check(&plot, &inner);
    if (status != HL_OK)
      return hl_yaml_refuse(&file->yaml, file->plots[i].where, error, "%s", inner.msg);
  }
  return HL_OK;
}

static hl_status draw(const hl_series_plot *plot, const hl_report_input *input, hl_plot_kind kind,
                      const char *directory, const char *name, hl_text *written, hl_error *error) {
  hl_text picture = HL_TEXT_INIT;
  hl_status status = hl_series_plot_draw(input, plot, kind, NULL, &picture, error);
  HL_CLEANUP(hl_free_pointer)
  char *path = hl_format("%s/%s.%s", directory, name, kind == HL_PLOT_PNG ? "png" : "svg");
  if (status == HL_OK && (!path || picture.failed))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  if (status == HL_OK) status = hl_file_write(path, picture.data, picture.length, error);
  if (status == HL_OK) hl_text_format(written, "%s\n", path);
  hl_text_release(&picture);
  return status;
}

hl_status hl_cli_plots_draw(const hl_plan_file *file, const hl_report_input *input,
                            const char *directory, hl_text *written,
                            hl_report_picture *ret_pictures, size_t *ret_count, hl_error *error) {
  hl_status first = file->plot_count ? hl_directory_make(directory, error) : HL_OK;
  *ret_count = 0;
  if (first != HL_OK) return first;
  for (size_t i = 0; i < file->plot_count; i++) {
    const hl_plan_plot *described = &file->plots[i];
    const hl_series_plot plot = plot_of(described);
    for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG; kind++) {
      hl_error inner = {0};
      hl_status status =
          draw(&plot, input, (hl_plot_kind)kind, directory, described->file, written, &inner);
      if (status == HL_OK && kind == HL_PLOT_PNG)
        ret_pictures[(*ret_count)++] = (hl_report_picture){described->file, described->title};
      bool file_failed = status == HL_IO || status == HL_OUT_OF_MEMORY;
      if (status == HL_OK || (first != HL_OK && !file_failed)) continue;
      first = file_failed ? status : HL_UNAVAILABLE;
      if (error) *error = inner;
      if (error) error->status = first;
    }
  }
  return first;
}
