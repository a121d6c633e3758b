#include "report/suite.h"

#include "base/text.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 60 };

static void rule(hl_text *out) {
  for (int i = 0; i < COLUMNS; i++) hl_text_char(out, '=');
  hl_text_char(out, '\n');
}

static void box(const char *title, hl_text *out) {
  rule(out);
  hl_text_line(out, "%s", title);
  rule(out);
}

static const char *title_of(const char *engine) {
  static const char *const titles[][2] = {
      {"torch", "PyTorch"}, {"jax", "JAX"}, {"tensorflow", "TensorFlow"}};
  for (size_t i = 0; engine && i < HL_COUNT(titles); i++)
    if (strcmp(engine, titles[i][0]) == 0) return titles[i][1];
  return engine ? engine : "unknown";
}

/* The note of a row that tells what disturbed it. */
static void put_disturbance(const hl_record *r, hl_text *out) {
  static const char word[] = "disturbed: ";
  const char *note = r->notes ? strstr(r->notes, word) : NULL;
  if (!note) return;
  const char *end = strstr(note, "; ");
  int length = (int)(end ? (size_t)(end - note) : strlen(note));
  hl_text_line(out, "  D%.*s", length - 1, note + 1);
}

/* Where a device was preferred and another one computes (--device-prefer): the whole of that note,
 * which has a semicolon of its own. */
static void put_preference(const hl_record *r, hl_text *out) {
  static const char word[] = " was preferred; ";
  const char *found = r->notes ? strstr(r->notes, word) : NULL;
  if (!found) return;
  const char *start = found;
  while (start > r->notes && !(start[-1] == ' ' && start - 1 > r->notes && start[-2] == ';'))
    start--;
  const char *end = strstr(found + strlen(word), "; ");
  hl_text_line(out, "  Preferred: %.*s", (int)(end ? (size_t)(end - start) : strlen(start)), start);
}

void hl_report_suite_box(const hl_record *first, hl_text *out) {
  bool plain = !first->dtype || strcmp(first->dtype, "float32") == 0;
  HL_CLEANUP(hl_free_pointer)
  char *title = hl_format("%s Benchmark: %s%s%s%s", title_of(first->engine),
                          first->model ? first->model : "unknown", plain ? "" : " (",
                          plain ? "" : first->dtype, plain ? "" : ")");
  box(title ? title : "Benchmark", out);
  bool skipped = first->outcome && strcmp(first->outcome, hl_outcome_name(HL_SKIPPED)) == 0;
  const char *device = first->device ? first->device : first->device_id;
  hl_text_line(out, "Device: %s", device ? device : "unknown");
  hl_text_append(out, "  Type: ");
  const char *type = first->device_type ? first->device_type : first->device_id;
  if (!type) type = "unknown";
  for (size_t i = 0; type[i] && type[i] != ':'; i++)
    hl_text_char(out, (char)toupper((unsigned char)type[i]));
  hl_text_format(out, "\n  Available: %s\n", skipped ? "False" : "True");
  put_preference(first, out);
  hl_text_char(out, '\n');
}

static void put_number(hl_text *out, const char *title, double value, int decimals,
                       const char *unit) {
  /* Three digits also of what is much smaller than the suite's own numbers. */
  if (isfinite(value) && fabs(value) < pow(10, 1 - decimals))
    hl_text_format(out, "  %s: %.3g%s\n", title, value, unit);
  else if (isfinite(value))
    hl_text_format(out, "  %s: %.*f%s\n", title, decimals, value, unit);
  else
    hl_text_format(out, "  %s: not known\n", title);
}

void hl_report_suite_row(const hl_record *r, hl_text *out) {
  hl_text_format(out, "Benchmarking batch size: %" PRId64 "\n", r->batch_size);
  if (hl_record_passed(r)) {
    put_number(out, "Latency (p50)", r->latency_p50_ms, 3, "ms");
    put_number(out, "Throughput", r->throughput_ips, 2, " images/sec");
    put_number(out, "Memory", r->memory_mb, 2, " MB");
    if (isfinite(r->compilation_time_ms))
      put_number(out, "Compilation", r->compilation_time_ms, 2, "ms");
    if (r->stop && strcmp(r->stop, "budget_exhausted") == 0)
      hl_text_format(out, "  Budget exhausted: %" PRId64 " step%s\n", r->measurement_iterations,
                     r->measurement_iterations == 1 ? "" : "s");
    put_disturbance(r, out);
  } else {
    hl_text_line(out, "  %s: %s", r->outcome ? r->outcome : "FAILED", r->reason ? r->reason : "");
  }
  hl_text_char(out, '\n');
}

void hl_report_suite_end(const hl_records *records, const char *file, hl_text *out) {
  size_t passed = 0;
  for (size_t i = 0; i < records->count; i++) passed += hl_record_passed(&records->items[i]);
  box("Benchmark Suite Complete", out);
  hl_text_format(out, "Total configurations: %zu\n", records->count);
  if (passed < records->count)
    hl_text_format(out, "Without a result: %zu\n", records->count - passed);
  if (file) hl_text_line(out, "Results saved to: %s", file);
}
