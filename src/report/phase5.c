#include "report/phase5-internal.h"

#include "base/file.h"
#include <string.h>

typedef void compose(const hl_report_input *input, hl_text *out);

static void baseline_json(const hl_report_input *input, hl_text *out) {
  hl__phase5_performance_json(input, "none", out);
}
static void baseline_text(const hl_report_input *input, hl_text *out) {
  hl__phase5_performance_text(input, "none", out);
}
static void optimised_json(const hl_report_input *input, hl_text *out) {
  hl__phase5_performance_json(input, "all", out);
}
static void optimised_text(const hl_report_input *input, hl_text *out) {
  hl__phase5_performance_text(input, "all", out);
}

/* What has to be there for a file: rows of one of two entries, with each of these optimisations. */
static const struct {
  const char *name;
  compose *write;
  const char *entries[2], *optimizations[2];
} files[] = {
    {"phase5_baseline_performance.json", baseline_json, {"standard", "progressive"}, {"none"}},
    {"phase5_baseline_performance.txt", baseline_text, {"standard", "progressive"}, {"none"}},
    {"phase5_optimized_performance.json", optimised_json, {"standard", "progressive"}, {"all"}},
    {"phase5_optimized_performance.txt", optimised_text, {"standard", "progressive"}, {"all"}},
    {"phase5_comparison.json",
     hl__phase5_comparison_json,
     {"standard", "progressive"},
     {"none", "all"}},
    {"phase5_comparison_report.txt",
     hl__phase5_comparison_text,
     {"standard", "progressive"},
     {"none", "all"}},
    {"phase5_checklist.json",
     hl__phase5_checklist_json,
     {"standard", "progressive"},
     {"none", "all"}},
    {"phase5_checklist.txt",
     hl__phase5_checklist_text,
     {"standard", "progressive"},
     {"none", "all"}},
    {"phase5_ablation.json", hl__phase5_ablation_json, {"ablation-alone"}, {"none"}},
    {"phase5_ablation.txt", hl__phase5_ablation_text, {"ablation-alone"}, {"none"}},
    {"fft_cache_benchmark.json",
     hl__phase5_fft_cache_json,
     {"fft-cache"},
     {"none", "fft-plan-cache"}},
    {"fft_cache_benchmark.txt",
     hl__phase5_fft_cache_text,
     {"fft-cache"},
     {"none", "fft-plan-cache"}},
    {"measurement_cache_benchmark.json",
     hl__phase5_measurement_cache_json,
     {"measurement-cache"},
     {"none", "measurement-cache"}},
    {"measurement_cache_benchmark.txt",
     hl__phase5_measurement_cache_text,
     {"measurement-cache"},
     {"none", "measurement-cache"}},
};

/* A row that did not pass counts: the file says so. */
static bool has_rows(const hl_records *records, const char *entry, const char *optimizations) {
  hl__phase5_side side;
  hl__phase5_select(records, entry, optimizations, &side);
  return side.count || side.failed;
}

static bool is_due(const hl_records *records, size_t file) {
  for (size_t i = 0; i < 2 && files[file].entries[i]; i++) {
    bool all = true;
    for (size_t k = 0; k < 2 && files[file].optimizations[k]; k++)
      all = all && has_rows(records, files[file].entries[i], files[file].optimizations[k]);
    if (all) return true;
  }
  return false;
}

hl_status hl__phase5_put(const char *directory, const char *name, const hl_text *content,
                         hl_text *ret_written, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", directory, name);
  if (!path || content->failed)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  hl_status status = hl_file_write(path, content->data, content->length, error);
  if (status == HL_OK && ret_written) hl_text_format(ret_written, "%s\n", path);
  return status;
}

hl_status hl_report_phase5(const hl_report_input *input, const char *directory,
                           hl_text *ret_written, hl_error *error) {
  hl_status status = hl_directory_make(directory, error);
  for (size_t i = 0; i < HL_COUNT(files) && status == HL_OK; i++) {
    if (!is_due(input->records, i)) continue;
    hl_text text = HL_TEXT_INIT;
    files[i].write(input, &text);
    status = hl__phase5_put(directory, files[i].name, &text, ret_written, error);
    hl_text_release(&text);
  }
  return status;
}
