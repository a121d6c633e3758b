#include "report/history.h"

#include "base/file.h"
#include "report/history-plot.h"

typedef struct writer {
  const hl_report_history *report;
  const char *directory;
  hl_text *written;
} writer;

/* DIRECTORY/history_KEY.END */
static hl_status put_file(const writer *w, const char *end, const hl_text *content,
                          hl_error *error) {
  HL_CLEANUP(hl_free_pointer)
  char *path = hl_format("%s/history_%s.%s", w->directory, w->report->history->metric->key, end);
  if (!path || content->failed)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a history");
  hl_status status = hl_file_write(path, content->data, content->length, error);
  if (status == HL_OK && w->written) hl_text_format(w->written, "%s\n", path);
  return status;
}

static hl_status put_plots(const writer *w, hl_error *error) {
  static const char *const ends[] = {[HL_PLOT_PNG] = "png", [HL_PLOT_SVG] = "svg"};
  hl_status status = HL_OK;
  for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG && status == HL_OK; kind++) {
    hl_text picture = HL_TEXT_INIT;
    status = hl_history_plot_draw(w->report->history, (hl_plot_kind)kind, NULL, &picture, error);
    if (status == HL_OK) status = put_file(w, ends[kind], &picture, error);
    hl_text_release(&picture);
  }
  return status;
}

static hl_status put_json(const writer *w, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_report_history_json(w->report, &json);
  hl_json_end(&json);
  hl_text_char(&text, '\n');
  hl_status status = put_file(w, "json", &text, error);
  hl_text_release(&text);
  return status;
}

static hl_status put_issue(const writer *w, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_report_history_issue(w->report, &text);
  hl_status status = put_file(w, "md", &text, error);
  hl_text_release(&text);
  return status;
}

hl_status hl_report_history_write(const hl_report_history *r, const char *directory,
                                  unsigned formats, hl_text *ret_written, hl_error *error) {
  const writer w = {.report = r, .directory = directory, .written = ret_written};
  if (formats & ~(unsigned)(HL_REPORT_JSON | HL_REPORT_MARKDOWN | HL_REPORT_PLOT))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a history is written as json or md, not as csv");
  hl_status status = hl_directory_make(directory, error);
  if (status == HL_OK && (formats & HL_REPORT_JSON)) status = put_json(&w, error);
  if (status == HL_OK && (formats & HL_REPORT_MARKDOWN)) status = put_issue(&w, error);
  /* Last: without gnuplot the rest is there. */
  if (status == HL_OK && (formats & HL_REPORT_PLOT)) status = put_plots(&w, error);
  return status;
}
