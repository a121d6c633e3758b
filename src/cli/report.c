#include "cli/cli.h"
#include "cli/merge.h"
#include "cli/report-files.h"
#include "cli/run-plan.h"
#include "cli/run-plots.h"
#include "cli/serve.h"

#include "analyse/analyse.h"
#include "base/file.h"
#include "report/grid.h"
#include "report/html-report.h"
#include "report/report.h"
#include "report/table.h"
#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap report [RUN] [--export-format LIST] [--plot-results] [--output-dir DIR]\n"
    "       hotlap report [RUN] --html [--output FILE]\n"
    "       hotlap report FILE.csv...\n"
    "       hotlap report --merge STORE... [--store FILE]\n"
    "       hotlap report --serve [--listen ADDRESS:PORT] [--monitor LOG] [--token-file FILE]\n"
    "\n"
    "Shows a stored run again and writes its files. RUN is an id of `hotlap history`, the start\n"
    "of one, or latest (also last; the default). FILE: results of 594Project's runner or of\n"
    "hotlap as CSV, all of them together (see docs/analysis.md). With --output-dir alone every\n"
    "file is written. --merge takes the runs of other stores into this one.\n"
    "\n"
    "--serve shows all runs in a browser, and those that go on as they go (see\n"
    "docs/dashboard.md).\n";

/* What can still be read of a damaged run; `error` stays and says so. */
static void salvage(hl_store *store, const char *id, hl_run_info *ret_info, hl_records *ret_records,
                    hl_error *error) {
  hl_run_info info;
  hl_records records = {0};
  size_t lost = 0;
  if (hl_store_run_salvage(store, id, &info, &records, &lost, NULL) != HL_OK) return;
  hl_run_info_release(ret_info);
  hl_records_release(ret_records);
  *ret_info = info;
  *ret_records = records;
  hl_cli_damage(error, records.count, lost, "row");
}

/* The run that was asked for; of a damaged one BAD_DATA, with what can be read. */
static hl_status load_run(const hl_options *options, hl_run_info *ret_info, hl_records *ret_records,
                          hl_comparisons *comparisons, hl_error *error) {
  if (hl_cli_names_files(options))
    return hl_cli_report_files(options, ret_info, ret_records, error);
  if (options->positional_count > 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "one RUN at a time, not also '%s'",
                        options->positionals[1]);
  const char *wanted = options->positional_count ? options->positionals[0] : "latest";
  HL_CLEANUP(hl_free_pointer) char *path = NULL, *id = NULL;
  hl_status status = hl_cli_store_path(options, &path, error);
  if (status != HL_OK) return status;
  if (!path)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--store none holds no runs; name a file");
  hl_store *store = NULL;
  status = hl_store_open(path, HL_STORE_READ, &store, error);
  if (status == HL_OK) status = hl_store_run_resolve(store, wanted, &id, error);
  if (status == HL_OK) status = hl_store_run_load(store, id, ret_info, ret_records, error);
  if (status == HL_OK) status = hl_store_comparisons_load(store, id, comparisons, error);
  if (status == HL_BAD_DATA && id) salvage(store, id, ret_info, ret_records, error);
  hl_store_free(store);
  return status;
}

/* Which files; none where the command line asks for none. */
static hl_status formats_of(const hl_options *options, unsigned *ret_formats, hl_error *error) {
  unsigned formats = 0;
  const char *list = hl_options_get(options, HL_OPTION_EXPORT_FORMAT);
  hl_status status = list ? hl_report_formats(list, &formats, error) : HL_OK;
  if (hl_options_on(options, HL_OPTION_PLOT_RESULTS)) formats |= HL_REPORT_PLOT;
  bool html = hl_options_on(options, HL_OPTION_HTML),
       named = hl_options_given(options, HL_OPTION_OUTPUT);
  if (status == HL_OK && named && !html)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--output names the file of --html; add it, or "
                          "use --output-dir for other files");
  if (html && !named) formats |= HL_REPORT_HTML;
  if (!formats && hl_options_given(options, HL_OPTION_OUTPUT_DIR))
    formats = HL_REPORT_JSON | HL_REPORT_CSV | HL_REPORT_MARKDOWN | HL_REPORT_PLOT |
              HL_REPORT_ANALYSIS | HL_REPORT_HTML;
  *ret_formats = formats;
  return status;
}

static bool tells_files(const hl_options *options) {
  return !hl_options_on(options, HL_OPTION_QUIET) && !hl_options_on(options, HL_OPTION_JSON);
}

/* The page where --output says. */
static hl_status write_page(const hl_options *options, const hl_report_input *input,
                            hl_error *error) {
  const char *path = hl_options_get(options, HL_OPTION_OUTPUT);
  hl_text page = HL_TEXT_INIT;
  hl_status status = HL_OK;
  hl_report_html(input, &page);
  if (page.failed)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the page of this run");
  else if (strcmp(path, "-") == 0)
    fwrite(page.data, 1, page.length, stdout);
  else
    status = hl_file_write(path, page.data, page.length, error);
  if (status == HL_OK && strcmp(path, "-") != 0 && tells_files(options))
    printf("\nWritten:\n%s\n", path);
  hl_text_release(&page);
  return status;
}

static bool page_to_output(const hl_options *options) {
  return hl_options_on(options, HL_OPTION_HTML) && hl_options_given(options, HL_OPTION_OUTPUT) &&
         strcmp(hl_options_get(options, HL_OPTION_OUTPUT), "-") == 0;
}

static void show(const hl_options *options, const hl_report_input *input) {
  hl_text text = HL_TEXT_INIT;
  bool colour = hl_cli_colour(STDOUT_FILENO);
  if (page_to_output(options)) {
    ; /* nothing but the page */
  } else if (hl_options_on(options, HL_OPTION_JSON)) {
    hl_report_json(input, &text);
  } else if (!hl_options_on(options, HL_OPTION_QUIET)) {
    hl_text_format(&text, "Run %s, %s: %s\n", input->info->id,
                   input->info->created ? input->info->created : "time unknown",
                   input->info->cpu ? input->info->cpu : "machine unknown");
    hl_report_table_write(input->records, colour, &text);
    hl_report_summary(input->records, &text);
    hl_text_char(&text, '\n');
    hl_report_custom(input->records, &text);
    hl_report_requirements(input->records, &text);
    hl_report_details(input->records, &text);
    hl_report_advice(input->analysis, colour, &text);
    hl_report_engines(input->engines, colour, &text);
    hl_report_side_by_side(input, &text);
    hl_report_load(input->records, &text);
    hl_report_memory_map(input->records, input->memory_layers, &text);
    hl_report_training(input->records, &text);
    hl_report_scaling(input->records, &text);
  }
  fputs(text.data, stdout);
  hl_text_release(&text);
}

/* The plan that the run was of, for its title and pictures; one that is no longer understood is
 * said. */
static bool read_plan(const hl_run_info *info, hl_plan_file *ret_file) {
  hl_error error = {0};
  if (!info->plan) return false;
  if (hl_plan_file_parse(info->plan, strlen(info->plan), "the plan of this run", NULL, 0, false,
                         ret_file, &error) != HL_OK) {
    (void)hl_cli_fail(&error, HL_EXIT_OK);
    return false;
  }
  return true;
}

/* The plan's pictures first: the report shows them. */
static hl_status draw(const hl_options *options, const hl_plan_file *plan, hl_report_input *input,
                      hl_report_picture *pictures, hl_text *written, hl_error *error) {
  if (!plan) return HL_OK;
  input->pictures = pictures;
  hl_status status = hl_cli_plots_check(plan, error);
  if (status == HL_OK)
    status = hl_cli_plots_draw(plan, input, hl_options_get(options, HL_OPTION_OUTPUT_DIR), written,
                               pictures, &input->picture_count, error);
  return status;
}

/* Writes the files and says where they are; a plot that cannot be drawn is a warning. */
static int write_files(const hl_options *options, const hl_plan_file *plan,
                       const hl_report_input *given, unsigned formats) {
  hl_report_input input = *given; /* with the pictures that lie here */
  hl_text written = HL_TEXT_INIT;
  hl_error error = {0}, drawing = {0};
  hl_report_picture pictures[HL_PLAN_PLOTS];
  if (draw(options, plan, &input, pictures, &written, &drawing) != HL_OK)
    (void)hl_cli_fail(&drawing, HL_EXIT_OK);
  hl_status status = hl_report_write(&input, hl_options_get(options, HL_OPTION_OUTPUT_DIR), formats,
                                     &written, &error);
  if (written.length && tells_files(options)) printf("\nWritten:\n%s", written.data);
  hl_text_release(&written);
  if (status == HL_OK) return HL_EXIT_OK;
  return hl_cli_fail(&error, status == HL_UNAVAILABLE ? HL_EXIT_OK : HL_EXIT_USAGE);
}

int hl_cli_report(int argc, char **argv) {
  hl_options options;
  int exit_status = hl_cli_options('R', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  if (hl_options_on(&options, HL_OPTION_MERGE)) return hl_cli_merge(&options);
  if (hl_cli_serves(&options)) return hl_cli_serve(&options);
  hl_error error = {0};
  hl_run_info info;
  hl_records records = {0};
  hl_analysis analysis = {0};
  hl_engines engines = {0};
  hl_comparisons comparisons = {0};
  unsigned formats = 0;
  size_t layers = 0;
  hl_run_info_init(&info);
  hl_status status = formats_of(&options, &formats, &error);
  if (status == HL_OK) status = hl_cli_layers(&options, &layers, &error);
  if (status == HL_OK) status = load_run(&options, &info, &records, &comparisons, &error);
  bool damaged = status == HL_BAD_DATA && records.count > 0;
  if (damaged) status = HL_OK;
  if (damaged) (void)hl_cli_fail(&error, HL_EXIT_USAGE);
  if (status == HL_OK) status = hl_analysis_make(&records, &info, &analysis, &error);
  if (status == HL_OK)
    status = hl_engines_make(&analysis, &records, &comparisons, &engines, &error);
  if (status != HL_OK) {
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  } else {
    hl_report_input input = {.info = &info,
                             .records = &records,
                             .analysis = &analysis,
                             .engines = &engines,
                             .comparisons = &comparisons,
                             .memory_layers = layers};
    hl_plan_file plan = {0};
    bool has_plan = read_plan(&info, &plan);
    if (has_plan) input.title = plan.name;
    if (has_plan) input.description = plan.description;
    HL_CLEANUP(hl_free_pointer)
    char *order = has_plan ? hl_cli_order_of_run(&plan, info.command) : NULL;
    input.order = order;
    show(&options, &input);
    /* Of every file that there can be. */
    bool every = !hl_options_given(&options, HL_OPTION_EXPORT_FORMAT);
    if (every && !hl_report_grid_fits(&analysis)) formats &= ~(unsigned)HL_REPORT_ANALYSIS;
    if (damaged) formats = 0; /* a file would not say that rows are missing */
    exit_status = damaged   ? HL_EXIT_USAGE
                  : formats ? write_files(&options, has_plan ? &plan : NULL, &input, formats)
                            : HL_EXIT_OK;
    bool page = hl_options_given(&options, HL_OPTION_OUTPUT) && !damaged;
    if (page && write_page(&options, &input, &error) != HL_OK)
      exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
    hl_plan_file_release(&plan);
    if (exit_status == HL_EXIT_OK && records.count == 0) exit_status = HL_EXIT_NOTHING;
  }
  hl_engines_release(&engines);
  hl_comparisons_release(&comparisons);
  hl_analysis_release(&analysis);
  hl_records_release(&records);
  hl_run_info_release(&info);
  hl_options_release(&options);
  return exit_status;
}
