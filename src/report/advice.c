#include "report/number.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static const char *const bold = "\033[1m", *const plain = "\033[0m", *const green = "\033[1;32m";

static void interval(const hl_analysis_point *p, hl_text *out) {
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
  if (isfinite(p->throughput_ci_ips.low) && isfinite(p->throughput_ci_ips.high))
    hl_text_format(out, " [%s, %s]", hl_report_number(p->throughput_ci_ips.low, "-", low),
                   hl_report_number(p->throughput_ci_ips.high, "-", high));
}

static void headline(const hl_analysis_group *group, bool colour, hl_text *out) {
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES], c[HL_NUMBER_BYTES], d[HL_NUMBER_BYTES];
  if (group->optimal_point == SIZE_MAX || group->optimal_point >= group->point_count) {
    hl_text_append(out, "No batch size can be recommended: no row passed.\n");
    return;
  }
  const hl_analysis_point *p = &group->points[group->optimal_point];
  if (hl_workload_is_progressive(group->workload)) {
    hl_text_format(out, "%s samples/s", hl_report_number(p->throughput_ips, "-", a));
    interval(p, out);
    hl_text_format(
        out, ", %s ms a pass, %s ms a sample, %s MB.\n", hl_report_number(p->latency_ms, "?", b),
        hl_report_number(p->latency_per_image_ms, "?", c), hl_report_number(p->memory_mb, "?", d));
    return;
  }
  hl_text_format(out, "%sBatch size %lld%s: %s images/s", colour ? green : "",
                 (long long)p->batch_size, colour ? plain : "",
                 hl_report_number(p->throughput_ips, "-", a));
  interval(p, out);
  hl_text_format(
      out, ", %s ms a step, %s ms an image, %s MB", hl_report_number(p->latency_ms, "?", b),
      hl_report_number(p->latency_per_image_ms, "?", c), hl_report_number(p->memory_mb, "?", d));
  if (isfinite(p->speedup) && group->baseline_batch != HL_INT_NULL &&
      group->baseline_batch != p->batch_size)
    hl_text_format(out, "; %s times batch %lld", hl_report_number(p->speedup, "?", a),
                   (long long)group->baseline_batch);
  hl_text_append(out, ".\n");
}

/* Each line of `text` with two spaces before it. */
static void indent(hl_text *out, const char *text) {
  while (*text) {
    size_t length = strcspn(text, "\n");
    hl_text_append(out, "  ");
    hl_text_append_n(out, text, length);
    hl_text_char(out, '\n');
    text += length + (text[length] == '\n');
  }
}

/* The curves and the bottleneck of a group. */
static void put_fit(const hl_analysis_group *group, hl_text *out) {
  hl_text fit = HL_TEXT_INIT;
  hl_analysis_describe_fit(group, &fit);
  if (group->bottleneck_evidence)
    hl_text_format(&fit, "Bottleneck: %s: %s\n", hl_bottleneck_name(group->bottleneck),
                   group->bottleneck_evidence);
  indent(out, fit.data);
  hl_text_release(&fit);
}

/* Of several groups: what the headline and the comparison of engines do not say. */
static bool is_shown_of_many(hl_advice kind) {
  return kind == HL_ADVICE_BALANCE || kind == HL_ADVICE_ACCURACY || kind == HL_ADVICE_LIMIT ||
         kind == HL_ADVICE_HINT || kind == HL_ADVICE_FALLBACK;
}

/* Of so many groups a line each, where there was a size to choose: a plan's terminal is for its
 * rows, the rest is in its report. */
enum { most_groups = 8 };

static void put_best(const hl_analysis *analysis, bool colour, hl_text *out) {
  for (size_t g = 0; g < analysis->group_count; g++) {
    const hl_analysis_group *group = &analysis->groups[g];
    if (group->point_count < 2) continue;
    hl_text_format(out, "%s%s%s\n  ", colour ? bold : "", group->name ? group->name : "",
                   colour ? plain : "");
    headline(group, colour, out);
  }
  hl_text_append(out, "Curves, bottleneck, what disturbed rows and advice for each: "
                      "--export-format md\n");
}

void hl_report_advice(const hl_analysis *analysis, bool colour, hl_text *out) {
  bool many = analysis->group_count > 1;
  if (analysis->group_count > most_groups) {
    put_best(analysis, colour, out);
    return;
  }
  for (size_t g = 0; g < analysis->group_count; g++) {
    const hl_analysis_group *group = &analysis->groups[g];
    if (many)
      hl_text_format(out, "%s%s%s\n", colour ? bold : "", group->name ? group->name : "",
                     colour ? plain : "");
    headline(group, colour, out);
    if (!many && group->point_count) put_fit(group, out);
    for (size_t i = 0; i < group->recommendation_count; i++)
      if (!many || is_shown_of_many(group->recommendations[i].kind))
        hl_text_format(out, "- %s\n", group->recommendations[i].text);
  }
  if (many)
    hl_text_append(out, "Curves, bottleneck and more advice for each: --export-format md\n");
}
