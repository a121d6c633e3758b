#include "cli/monitor.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "Usage: hotlap monitor LOG [OPTION]...\n"
                            "\n"
                            "Shows the log of a monitor (hotlap/hotlap.h, hotlap.Monitor in "
                            "Python) while it grows: how fast\n"
                            "inference is, how long it takes, and when it got slow. Files that "
                            "were rotated, LOG.1 and so on,\n"
                            "are read first. Ends with an interrupt.\n";

typedef struct watch {
  hl_web_monitor view;
  hl_log_reader *reader;
  const char *metrics; /* file for OpenMetrics; NULL: none */
  bool json, once, quiet;
  double interval_s;
} watch;

static hl_status read_options(const hl_options *options, watch *w, hl_error *error) {
  if (options->positional_count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "monitor takes one log, such as inference.jsonl");
  w->view.path = options->positionals[0];
  w->metrics = hl_options_get(options, HL_OPTION_OPENMETRICS);
  w->json = hl_options_on(options, HL_OPTION_JSON);
  w->quiet = hl_options_on(options, HL_OPTION_QUIET);
  bool prints = w->metrics && strcmp(w->metrics, "-") == 0;
  if (prints && w->json)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--json and --openmetrics - both write to standard output");
  w->once = hl_options_on(options, HL_OPTION_ONCE) || w->json || prints ||
            (!isatty(STDOUT_FILENO) && !w->metrics);
  return hl_parse_real(hl_options_get(options, HL_OPTION_INTERVAL), 0.1, 86400, "--interval",
                       &w->interval_s, error);
}

static void look(watch *w) {
  hl_log_entry entry;
  while (!hl_interrupt_caught() && hl_log_reader_next(w->reader, &entry))
    hl_summary_add(w->view.summary, &entry);
  w->view.now_ns = hl_clock_wall_ns();
  w->view.count = hl_log_reader_count(w->reader);
}

static hl_status write_metrics(const watch *w, hl_error *error) {
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  hl_web_monitor_openmetrics(&w->view, &text);
  hl_text_append(&text, "# EOF\n");
  if (text.failed) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the metrics");
  if (strcmp(w->metrics, "-") != 0) return hl_file_write(w->metrics, text.data, text.length, error);
  fputs(text.data, stdout);
  return HL_OK;
}

static hl_status show(const watch *w, hl_error *error) {
  bool prints = w->metrics && strcmp(w->metrics, "-") == 0;
  hl_status status = w->metrics ? write_metrics(w, error) : HL_OK;
  if (status || prints || w->quiet) return status;
  bool terminal = isatty(STDOUT_FILENO);
  if (!w->once && !terminal) return HL_OK; /* it serves the metrics */
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  if (w->json)
    hl_web_monitor_json(&w->view, &text);
  else
    hl_cli_monitor_table(&w->view, &text);
  if (!w->once) fputs("\033[H\033[2J", stdout);
  hl_cli_show(&text, stdout);
  fflush(stdout);
  return HL_OK;
}

static int follow(watch *w, hl_error *error) {
  int interrupt = hl_interrupt_catch();
  for (;;) {
    look(w);
    if (show(w, error)) return HL_EXIT_USAGE;
    if (hl_interrupt_caught()) return HL_EXIT_INTERRUPTED;
    if (w->once) return HL_EXIT_OK;
    struct pollfd waits = {.fd = interrupt, .events = POLLIN};
    if (poll(&waits, 1, (int)(w->interval_s * 1e3)) < 0 && errno != EINTR) return HL_EXIT_USAGE;
    if (ferror(stdout)) return HL_EXIT_OK;
  }
}

int hl_cli_monitor(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int exit_status = hl_cli_options('W', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  watch w = {0};
  hl_status status = read_options(&options, &w, &error);
  if (!status) status = hl_log_reader_open(w.view.path, &w.reader, &error);
  if (!status && !(w.view.summary = hl_summary_new()))
    status = hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for a summary");
  exit_status = status ? HL_EXIT_USAGE : follow(&w, &error);
  if (error.status) hl_cli_fail(&error, exit_status);
  hl_summary_free(w.view.summary);
  hl_log_reader_close(w.reader);
  hl_options_release(&options);
  return exit_status;
}
