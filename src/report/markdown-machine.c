/* What the machine can do, how much of it rows take, and settings to paste into a configuration. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/matrix-pages.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* -- hardware ---------------------------------------------------------------------------------- */

static double peak_of(const hl_run_info *info, const hl_record *r) {
  if (!r->dtype || strcmp(r->dtype, "float32") == 0) return info->peak_gflops;
  return strcmp(r->dtype, "bfloat16") == 0 ? info->peak_bfloat16_gflops : (double)NAN;
}

static void put_share(hl_text *out, double share) {
  if (isfinite(share))
    hl_text_format(out, " %.0f %% |", 100 * share);
  else
    hl_text_append(out, " — |");
}

static void put_use(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  const hl_analysis_point *p = &g->points[g->best_point];
  const hl_record *r = &input->records->items[p->row];
  const hl_analysis_roofline *roof = &p->roofline;
  double flops = r->executed_flops_per_image > 0 ? r->executed_flops_per_image : r->flops_per_image;
  hl_text_char(out, '|');
  hl__markdown_word(out, g->name);
  hl_text_format(out, " %" PRId64 " |", p->batch_size);
  const double values[] = {flops / 1e9, p->throughput_ips, peak_of(input->info, r) * 1e9 / flops};
  hl__markdown_cells(out, values, HL_COUNT(values));
  put_share(out, roof->compute_use);
  put_share(out, roof->memory_use.low);
  hl_text_format(out, " %s |\n", hl_bottleneck_name(roof->bottleneck));
}

void hl__markdown_hardware(const hl_report_input *input, hl_text *out) {
  const hl_run_info *info = input->info;
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES], c[HL_NUMBER_BYTES];
  bool any = false;
  hl_text_append(out, "## Hardware Characteristics\n\n");
  if (info->peak_gflops > 0 && info->peak_bandwidth_gbs > 0)
    hl_text_format(out,
                   "Measured in this run: %s GFLOP/s in float32 and %s GB/s of memory. Below %s "
                   "FLOP a byte a step waits for memory, above it for arithmetic.\n\n",
                   hl_report_number(info->peak_gflops, "", a),
                   hl_report_number(info->peak_bandwidth_gbs, "", b),
                   hl_report_number(info->peak_gflops / info->peak_bandwidth_gbs, "", c));
  else
    hl_text_append(out, "Peak arithmetic and bandwidth were not measured in this run.\n\n");
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    if (g->best_point >= g->point_count || !hl__matrix_answers_throughput(input->analysis, g))
      continue;
    if (!any)
      hl_text_append(out, "GFLOP are those executed; images/s is the mean, shares are of the "
                          "median step.\n\n"
                          "| Configuration | Best Batch | GFLOP/image | images/s | Arithmetic's "
                          "limit (images/s) | of the peak | of the bandwidth | Bound by |\n"
                          "|---|---:|---:|---:|---:|---:|---:|---|\n");
    any = true;
    put_use(input, g, out);
  }
  if (any) hl_text_char(out, '\n');
}

/* -- settings ---------------------------------------------------------------------------------- */

static const struct {
  hl_advice kind;
  const char *preset;
} presets[] = {{HL_ADVICE_SPEED, "speed_optimized"},
               {HL_ADVICE_MEMORY, "memory_optimized"},
               {HL_ADVICE_BALANCE, "balanced"},
               {HL_ADVICE_LATENCY, "real_time"}};

static const hl_analysis_point *point_at(const hl_analysis_group *g, int64_t batch) {
  for (size_t i = 0; i < g->point_count; i++)
    if (g->points[i].batch_size == batch) return &g->points[i];
  return NULL;
}

/* A plain word of YAML and of a comment in it. */
static const char *word(const char *text) {
  return text && text[0] &&
                 strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_.:+-") == strlen(text)
             ? text
             : "unknown";
}

static void put_presets(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES], c[HL_NUMBER_BYTES];
  for (size_t k = 0; k < HL_COUNT(presets); k++)
    for (size_t i = 0; i < g->recommendation_count; i++) {
      const hl_recommendation *advice = &g->recommendations[i];
      const hl_analysis_point *p =
          advice->kind == presets[k].kind ? point_at(g, advice->batch_size) : NULL;
      if (!p) continue;
      const hl_record *r = &input->records->items[p->row];
      hl_text_format(
          out,
          "%s: {engine: %s, precision: %s, threads: %" PRId64
          ", device: \"%s\", batch_size: %" PRId64 "}  # %s images/s, %s ms a step, %s MB\n",
          presets[k].preset, word(r->engine), word(r->dtype),
          r->threads == HL_INT_NULL ? 1 : r->threads, word(r->device_id), p->batch_size,
          hl_report_number(p->throughput_ips, "?", a), hl_report_number(p->latency_ms, "?", b),
          hl_report_number(p->memory_mb, "?", c));
      break;
    }
}

void hl__markdown_presets(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  if (g->best_point >= g->point_count || !hl__matrix_answers_throughput(input->analysis, g)) return;
  hl_text_append(out, "Settings, to be pasted into a configuration:\n\n```yaml\n");
  put_presets(input, g, out);
  hl_text_append(out, "```\n\n");
}

/* -- what the suite expects -------------------------------------------------------------------- */

static void put_expected(hl_text *out, const char *what, const char *expected, const char *here) {
  hl_text_format(out, "| %s | %s | %s |\n", what, expected, here);
}

static void put_quotients(const hl_analysis_group *g, const hl_analysis_point *p32, hl_text *out) {
  const hl_analysis_point *best = &g->points[g->optimal_point];
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES], c[HL_NUMBER_BYTES];
  hl_text cell = HL_TEXT_INIT;
  hl_text_append(out, "| | Expected | Here |\n|---|---:|---:|\n");
  hl_text_format(&cell, "%" PRId64 " (%" PRId64 " to %" PRId64 " have 95 %%)",
                 g->optimal_batch_size, g->region_first, g->region_last);
  put_expected(out, "Optimal batch size", "64 to 128", cell.data);
  hl_text_clear(&cell);
  hl_text_append(&cell, hl_report_number(g->speedup_vs_batch_32, "—", a));
  if (isfinite(g->speedup_vs_batch_32_ci.low))
    hl_text_format(&cell, " [%s, %s]", hl_report_number(g->speedup_vs_batch_32_ci.low, "—", b),
                   hl_report_number(g->speedup_vs_batch_32_ci.high, "—", c));
  put_expected(out, "Throughput, best / batch 32", "2 to 5", cell.data);
  put_expected(out, "Memory, optimal / batch 32", "1 to 2",
               hl_report_number(best->memory_mb / p32->memory_mb, "—", a));
  put_expected(out, "Time of an image, optimal / batch 32", "below 2",
               hl_report_number(best->latency_per_image_ms / p32->latency_per_image_ms, "—", a));
  hl_text_char(out, '\n');
  hl_text_release(&cell);
}

static void put_why(const hl_analysis_group *g, hl_text *out) {
  for (size_t f = 0; f < g->finding_count; f++) {
    if (strcmp(g->findings[f].name, "overhead_amortised") != 0) continue;
    hl_text_append(out, "Why: ");
    hl_markdown_text(out, g->findings[f].evidence);
    hl_text_append(out, ".\n\n");
  }
}

/* PtychoPINN's Appendix B: a network of gridsize 1, N = 64 at a fixed batch of 32 (400 images/s,
 * 2 GB, on an RTX 3090) and what it hopes for after tuning (batch 64 to 128, 800 to 2000 images/s,
 * 2 to 4 GB, below 5 ms an image). Times of another machine are not comparable; quotients are. */
void hl__markdown_expected(const hl_report_input *input, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    const hl_analysis_point *p32 = point_at(g, 32);
    if (!g->model || strcmp(g->model, "ptychopinn") != 0 || !p32 || g->point_count < 3 ||
        !hl__matrix_answers_throughput(input->analysis, g))
      continue;
    if (!any)
      hl_text_append(out, "## Against the Suite's Expectations\n\nPtychoPINN's plan expects of its "
                          "network (gridsize 1, N 64) what tuning gains over a fixed batch of 32. "
                          "Quotients are compared; times of another machine are not.\n\n");
    any = true;
    hl__markdown_heading(out, g->name);
    put_quotients(g, p32, out);
    put_why(g, out);
  }
}
