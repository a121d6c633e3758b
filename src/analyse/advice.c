/* Recommendations: sentences whose numbers are the rows'. */
#include "analyse/internal.h"

#include "analyse/number.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADVICE_MOST = 24 };
static const double steal_most = 1, wait_most = 1, canary_most = 2, system_share_most = 0.2,
                    major_faults_most = 0, minor_faults_most = 1;

/* Takes `text`; false without memory. */
static bool add(hl_analysis_group *g, hl_advice kind, int64_t batch, char *text) {
  if (!text) return false;
  hl_text_blank(text, "");
  if (g->recommendation_count == ADVICE_MOST) {
    free(text);
    return true;
  }
  g->recommendations[g->recommendation_count++] = (hl_recommendation){kind, batch, text};
  return true;
}

/* " (interval 508 to 516)" or "". */
static void interval_text(const hl_analysis_point *p, hl_text *out) {
  if (isfinite(p->throughput_ci_ips.low) && isfinite(p->throughput_ci_ips.high))
    hl_text_format(out, " (95 %% interval %s to %s)", HL_NUM(p->throughput_ci_ips.low),
                   HL_NUM(p->throughput_ci_ips.high));
}

static void baseline_text(const hl_analysis_group *g, hl_text *out) {
  const hl_analysis_point *p = &g->points[g->optimal_point];
  if (p->batch_size == g->baseline_batch) return;
  hl_text_format(out, ", %s times batch %" PRId64, HL_NUM(p->speedup), g->baseline_batch);
  if (g->baseline_batch != 1) hl_text_append(out, " (the smallest that passed)");
}

static bool speed(hl_analysis_group *g) {
  const hl_analysis_point *p = &g->points[g->optimal_point], *best = &g->points[g->best_point];
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Speed: batch %" PRId64 " gives %s images/s", p->batch_size,
                 HL_NUM(p->throughput_ips));
  interval_text(p, &text);
  baseline_text(g, &text);
  if (p != best)
    hl_text_format(&text,
                   "; batch %" PRId64 " measured %s images/s, which is not distinguishable from it",
                   best->batch_size, HL_NUM(best->throughput_ips));
  return add(g, HL_ADVICE_SPEED, p->batch_size, hl_text_take(&text));
}

static bool latency(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_analysis_point *p = NULL;
  for (size_t i = 0; i < g->point_count; i++)
    if (g->points[i].latency_ms > 0 && (!p || g->points[i].latency_ms < p->latency_ms))
      p = &g->points[i];
  if (!p) return true;
  const hl_record *r = hl__analysis_record(input, p->row);
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Latency: batch %" PRId64 " answers in %s ms", p->batch_size,
                 HL_NUM(p->latency_ms));
  /* A percentile without an interval rests on too few steps to advise with. */
  if (isfinite(r->latency_p99_ms) && isfinite(r->latency_p99_ci_ms.high))
    hl_text_format(&text, " (p99 %s ms)", HL_NUM(r->latency_p99_ms));
  hl_text_format(&text, ", at %s images/s", HL_NUM(p->throughput_ips));
  if (g->point_count > 1)
    hl_text_format(&text, ", %.0f %% of the best", 100 * p->throughput_ips / g->max_throughput_ips);
  return add(g, HL_ADVICE_LATENCY, p->batch_size, hl_text_take(&text));
}

static bool memory(hl_analysis_group *g) {
  const hl_analysis_point *p = NULL, *efficient = NULL;
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_analysis_point *q = &g->points[i];
    if (isfinite(q->memory_mb) && (!p || q->memory_mb < p->memory_mb)) p = q;
    if (q->efficiency > 0 && (!efficient || q->efficiency > efficient->efficiency)) efficient = q;
  }
  if (!p) return true;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Memory: batch %" PRId64 " needs %s%s MB, and gives %s images/s",
                 p->batch_size, g->point_count > 1 ? "least, " : "", HL_NUM(p->memory_mb),
                 HL_NUM(p->throughput_ips));
  if (efficient && efficient != p)
    hl_text_format(&text, "; batch %" PRId64 " makes most of each MB (%s images/s/MB, %s MB)",
                   efficient->batch_size, HL_NUM(efficient->efficiency),
                   HL_NUM(efficient->memory_mb));
  return add(g, HL_ADVICE_MEMORY, p->batch_size, hl_text_take(&text));
}

/* Of an image without idling: of the device where it knows, else of the processor. */
static double joules_an_image(const hl_record *r) {
  return isfinite(r->device_energy_per_image_j) ? r->device_energy_per_image_j
                                                : r->energy_per_image_j;
}

/* Energies have no interval, so "took" and not "takes". */
static bool energy(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_analysis_point *least = NULL;
  double least_j = (double)NAN;
  size_t known = 0;
  for (size_t i = 0; i < g->point_count; i++) {
    double joules = joules_an_image(hl__analysis_record(input, g->points[i].row));
    if (!isfinite(joules)) continue;
    known++;
    if (least && least_j <= joules) continue;
    least = &g->points[i];
    least_j = joules;
  }
  if (!least) return true;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Energy: batch %" PRId64 " took %s%s J an image beyond idling",
                 least->batch_size, known > 1 ? "least, " : "", HL_NUM(least_j));
  if (known > 1 && known < g->point_count)
    hl_text_format(&text, ", of %zu sizes whose energy is known", known);
  return add(g, HL_ADVICE_ENERGY, least->batch_size, hl_text_take(&text));
}

/* Of the smallest size that cannot be told from the best and the smallest with 95 % of it, the
 * smaller one. */
static bool balance(hl_analysis_group *g) {
  const hl_analysis_point *best = &g->points[g->best_point],
                          *optimal = &g->points[g->optimal_point],
                          *p = &g->points[g->plateau_point];
  if (g->point_count == 1)
    return add(g, HL_ADVICE_BALANCE, HL_INT_NULL,
               hl_format("Balance: only batch %" PRId64
                         " was measured; others may be better (--batch-sizes)",
                         best->batch_size));
  bool smaller_ties = optimal->batch_size < p->batch_size;
  if (smaller_ties) p = optimal;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Balance: batch %" PRId64, p->batch_size);
  if (p == best && p == &g->points[0])
    hl_text_format(&text, " is the best size, and the smallest that was measured: %s images/s",
                   HL_NUM(best->throughput_ips));
  else if (p == best)
    hl_text_format(&text, " is the best size, and no smaller one reaches 95 %% of its %s images/s",
                   HL_NUM(best->throughput_ips));
  else if (smaller_ties)
    hl_text_format(&text,
                   " measured %.0f %% of the best throughput, and the intervals do not tell the "
                   "two apart",
                   100 * p->throughput_ips / best->throughput_ips);
  else
    hl_text_format(&text,
                   " is the smallest with at least 95 %% of the best throughput: %.0f %% of it",
                   100 * p->throughput_ips / best->throughput_ips);
  if (p != best && p->latency_ms > 0 && best->latency_ms > 0)
    hl_text_format(&text, ", in %.0f %% of the time of a step",
                   100 * p->latency_ms / best->latency_ms);
  if (p != best && p->memory_mb > 0 && best->memory_mb > 0)
    hl_text_format(&text, " with %.0f %% of the memory of batch %" PRId64,
                   100 * p->memory_mb / best->memory_mb, best->batch_size);
  return add(g, HL_ADVICE_BALANCE, p->batch_size, hl_text_take(&text));
}

/* A smaller type never without what it costs. */
/* Of the whole worker, as --memory-limit counts. */
static double worker_mb(const hl_analysis_input *input, const hl_analysis_point *p) {
  return p->memory_mb + hl__analysis_record(input, p->row)->baseline_memory_mb;
}

/* Of a pipeline, which goes through its scan under any limit: what 70 % of the memory of the
 * fastest size, or less, costs in speed. */
static bool under_limit(const hl_analysis_input *input, hl_analysis_group *g) {
  static const double share = 0.7;
  const hl_analysis_point *best = &g->points[g->best_point], *p = NULL;
  if (!hl_workload_is_pipeline(g->workload) || g->point_count < 2) return true;
  double most = worker_mb(input, best);
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_analysis_point *q = &g->points[i];
    if (worker_mb(input, q) <= share * most && (!p || q->throughput_ips > p->throughput_ips)) p = q;
  }
  if (!p) return true;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text,
                 "Under a limit: batch %" PRId64 " takes %s MB in all, %.0f %% of the %s MB of the "
                 "fastest, batch %" PRId64 ", ",
                 p->batch_size, HL_NUM(worker_mb(input, p)), 100 * worker_mb(input, p) / most,
                 HL_NUM(most), best->batch_size);
  if (p->ties_with_best)
    hl_text_append(&text, "and is not told from it in speed");
  else
    hl_text_format(&text, "and is %.1f %% slower",
                   100 * (1 - p->throughput_ips / best->throughput_ips));
  return add(g, HL_ADVICE_MEMORY, p->batch_size, hl_text_take(&text));
}

static bool accuracy(const hl_analysis_input *input, hl_analysis_group *g) {
  if (!g->dtype || strcmp(g->dtype, "float32") == 0) return true;
  double most = (double)NAN;
  for (size_t i = 0; i < g->point_count; i++) {
    double error = hl__analysis_record(input, g->points[i].row)->output_error;
    if (isfinite(error)) most = isfinite(most) ? fmax(most, error) : error;
  }
  if (!isfinite(most))
    return add(g, HL_ADVICE_ACCURACY, HL_INT_NULL,
               hl_format("Accuracy: what %s changes in the outputs was not measured", g->dtype));
  return add(g, HL_ADVICE_ACCURACY, HL_INT_NULL,
             hl_format("Accuracy: %s changes the outputs by up to %s of their largest value, "
                       "against the reference",
                       g->dtype, HL_NUM(most)));
}

/* The margin is taken off the memory of the boundary where the fit knows it, else off the size. */
static int64_t with_margin(const hl_analysis_group *g, double margin) {
  const hl_analysis_line *m = &g->memory_fit;
  double max = (double)g->max_batch_size, safe = floor(max * (1 - margin));
  if (m->points >= 3 && m->a1 > 0) {
    double at_limit = m->a0 + m->a1 * max;
    safe = fmin(max, floor((at_limit * (1 - margin) - m->a0) / m->a1));
  }
  return safe >= 1 ? (int64_t)safe : 1;
}

static bool limit(const hl_analysis_input *input, hl_analysis_group *g) {
  if (g->max_batch_size == HL_INT_NULL) return true;
  if (g->max_batch_size < 1)
    return add(g, HL_ADVICE_LIMIT, HL_INT_NULL,
               hl_strdup("Limit: not even batch 1 fits into the memory there is"));
  double margin = input->info->safety_margin;
  if (!(margin >= 0 && margin < 1)) margin = 0.1;
  int64_t safe = with_margin(g, margin);
  return add(g, HL_ADVICE_LIMIT, safe,
             hl_format("Limit: batch %" PRId64 " is the largest that runs; with a safety margin of "
                       "%.0f %% of memory use at most %" PRId64,
                       g->max_batch_size, 100 * margin, safe));
}

/* Whether a row has a symptom, and how bad it is. */
typedef bool (*symptom)(const hl_record *record, double *ret_value);

static bool has_steal(const hl_record *r, double *ret_value) {
  *ret_value = r->steal_percent;
  return r->steal_percent > steal_most;
}

static bool has_throttling(const hl_record *r, double *ret_value) {
  *ret_value = r->throttled_ms;
  return r->throttled_ms > 0;
}

static bool has_waiting(const hl_record *r, double *ret_value) {
  *ret_value = r->wait_percent;
  return r->wait_percent > wait_most;
}

/* Late, and not because of others on the processor: its clock, or a hypervisor that keeps silent.
 */
static bool has_slow_clock(const hl_record *r, double *ret_value) {
  *ret_value = r->canary_lost_percent;
  return r->canary_lost_percent > canary_most && !(r->wait_percent > wait_most) &&
         !(r->steal_percent > steal_most);
}

static bool has_system_time(const hl_record *r, double *ret_value) {
  *ret_value = 100 * r->system_ms_per_step / (r->system_ms_per_step + r->user_ms_per_step);
  /* Of a step that hardly computes, the kernel's share says nothing about the step. */
  bool matters = r->system_ms_per_step > system_share_most * r->latency_mean_ms;
  return matters && *ret_value > 100 * system_share_most;
}

static bool has_major_faults(const hl_record *r, double *ret_value) {
  *ret_value = r->major_faults_per_step;
  return r->major_faults_per_step > major_faults_most;
}

static bool has_minor_faults(const hl_record *r, double *ret_value) {
  *ret_value = r->minor_faults_per_step;
  return r->minor_faults_per_step > minor_faults_most;
}

static bool is_retraced(const hl_record *r, double *ret_value) {
  *ret_value = r->retrace_ms;
  return r->retraces > 0;
}

static bool is_unsteady(const hl_record *r, double *ret_value) {
  *ret_value = (double)NAN;
  return r->steady == 0;
}

static bool hint(const hl_analysis_input *input, hl_analysis_group *g, symptom has,
                 const char *unit, const char *what, const char *remedy) {
  hl_text batches = HL_TEXT_INIT;
  double worst = (double)NAN, value;
  for (size_t i = 0; i < g->point_count; i++) {
    if (!has(hl__analysis_record(input, g->points[i].row), &value)) continue;
    hl_text_format(&batches, "%s%" PRId64, batches.length ? ", " : "", g->points[i].batch_size);
    worst = isfinite(worst) ? fmax(worst, value) : value;
  }
  bool ok = !batches.failed;
  if (ok && batches.length) {
    char most[64] = "";
    if (isfinite(worst)) snprintf(most, sizeof most, " (up to %s%s)", HL_NUM(worst), unit);
    const char *plural = strchr(batches.data, ',') ? "es" : "";
    ok = add(g, HL_ADVICE_HINT, HL_INT_NULL,
             hl_format("Noise: %s%s at batch%s %s: %s", what, most, plural, batches.data, remedy));
  }
  hl_text_release(&batches);
  return ok;
}

static bool hints(const hl_analysis_input *input, hl_analysis_group *g) {
  return hint(input, g, has_steal, " % of CPU time", "the hypervisor took CPU time",
              "repeat on a quieter machine before comparing with other runs") &&
         hint(input, g, has_throttling, " ms", "a CPU quota held the worker back",
              "give whole CPUs instead of a quota, or fewer --threads") &&
         hint(input, g, has_waiting, " % of the time", "others had the CPU",
              "stop what else runs (hotlap doctor), or give it fewer --threads") &&
         hint(input, g, has_slow_clock, " % of its time",
              "a fixed piece of work between the slices lost time",
              "the processor's clock or a hypervisor changes: hotlap doctor says more") &&
         hint(input, g, has_system_time, " % of CPU time", "the kernel took much of the CPU time",
              "look for memory that is allocated and freed in each step") &&
         hint(input, g, has_major_faults, " a step", "pages were read from a disk",
              "the machine is short of memory; use a smaller batch or stop other programs") &&
         hint(input, g, has_minor_faults, " a step", "pages were mapped anew in each step",
              "the engine allocates while it runs; a caching allocator would be faster") &&
         hint(input, g, is_retraced, " ms", "the engine compiled within measured steps",
              "give it inputs of one shape, and no Python values that change from step to step") &&
         hint(input, g, is_unsteady, "", "step time was not steady after warming up",
              "give more time (--max-time) or find out what still changes");
}

/* What the best of the rows gives whose pictures were loaded while it ran. */
static bool data_hint(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_record *best = NULL;
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_record *r = hl__analysis_record(input, g->points[i].row);
    if (r->fed_throughput_ips > 0 && (!best || r->fed_throughput_ips > best->fed_throughput_ips))
      best = r;
  }
  if (!best) return true;
  return add(g, HL_ADVICE_HINT, HL_INT_NULL,
             hl_format("Data: with pictures loaded while it runs (--loader-threads %" PRId64
                       ") batch %" PRId64 " gives %s images/s; the loader is %s; one thread loads "
                       "%s images/s",
                       best->loader_threads, best->batch_size, HL_NUM(best->fed_throughput_ips),
                       best->data_verdict ? best->data_verdict : "?",
                       HL_NUM(best->data_throughput_ips)));
}

/* Nothing passed: what happened most, and a cautious default. */
static bool fallback(const hl_analysis_input *input, hl_analysis_group *g) {
  size_t no_memory = 0, absent = 0;
  const hl_record *smallest = NULL;
  for (size_t i = 0; i < g->failed_count; i++) {
    const hl_record *r = hl__analysis_record(input, g->failed_rows[i]);
    no_memory += r->outcome && strcmp(r->outcome, "OUT_OF_MEMORY") == 0;
    absent += r->outcome && strcmp(r->outcome, "UNIMPLEMENTED") == 0;
    if (!smallest || (r->batch_size >= 1 && r->batch_size < smallest->batch_size)) smallest = r;
  }
  hl_text text = HL_TEXT_INIT;
  if (!smallest) {
    hl_text_append(&text, "No row was measured: nothing can be recommended from this run");
  } else if (no_memory == g->failed_count) {
    hl_text_format(&text, "No batch size fitted into memory (%zu of %zu rows)", no_memory,
                   g->row_count);
    if (smallest->batch_size > 1)
      hl_text_format(&text,
                     ": start with batch 1, as the smallest size tried was %" PRId64
                     "; --adaptive-sizing finds the largest that fits",
                     smallest->batch_size);
    else
      hl_text_append(&text, ": raise --memory-limit, or use a smaller model or precision");
  } else {
    const char *reason = smallest->reason ? smallest->reason : "no reason given";
    size_t shown = strnlen(reason, 200);
    if (reason[shown])
      while (shown > 0 && ((unsigned char)reason[shown] & 0xC0) == 0x80) shown--;
    hl_text_format(&text, "No row passed (%zu of %zu failed; batch %" PRId64 ": %.*s%s)",
                   g->failed_count, g->row_count, smallest->batch_size, (int)shown, reason,
                   reason[shown] ? " …" : "");
    if (absent < g->failed_count) /* what does not exist has no batch size that is cautious */
      hl_text_append(&text, ": until that is solved use batch 1, the cautious default");
  }
  bool cautious = smallest && absent < g->failed_count;
  return add(g, HL_ADVICE_FALLBACK, cautious ? 1 : HL_INT_NULL, hl_text_take(&text));
}

/* Why differs: outputs beyond the tolerance, NaN, weights that are no numbers. */
static bool mistrusted(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_record *first = NULL;
  for (size_t i = 0; i < g->failed_count && !first; i++) {
    const hl_record *r = hl__analysis_record(input, g->failed_rows[i]);
    if (hl__has_outcome(r, "MISTRUSTED")) first = r;
  }
  if (!first) return true;
  bool one = g->mistrusted_count == 1;
  return add(g, HL_ADVICE_HINT, HL_INT_NULL,
             hl_format("Quality: the outputs of %zu row%s are not trusted (batch %" PRId64
                       ": %.200s); %s no part in this advice",
                       g->mistrusted_count, one ? "" : "s", first->batch_size,
                       first->reason ? first->reason : "no reason given",
                       one ? "it takes" : "they take"));
}

/* Of progressive imaging, which has no batch to choose: where a pass goes. */
static bool stages(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_record *r = hl__analysis_record(input, g->points[g->best_point].row);
  const struct {
    const char *name;
    double ms;
  } all[] = {{"measurement", r->stage_measure_ms}, {"forward", r->stage_forward_ms},
             {"losses", r->stage_loss_ms},         {"backward", r->stage_backward_ms},
             {"optimizer", r->stage_optimizer_ms}, {"metrics", r->stage_metrics_ms},
             {"other", r->stage_other_ms}};
  double sum = 0;
  for (size_t i = 0; i < HL_COUNT(all); i++) sum += isfinite(all[i].ms) ? all[i].ms : 0;
  if (!(sum > 0)) return true;
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "Time: of a pass");
  for (size_t i = 0, said = 0; i < HL_COUNT(all); i++)
    if (isfinite(all[i].ms))
      hl_text_format(&text, "%s %s %.0f %%", said++ ? "," : "", all[i].name, 100 * all[i].ms / sum);
  return add(g, HL_ADVICE_HINT, HL_INT_NULL, hl_text_take(&text));
}

bool hl__analyse_advice(const hl_analysis_input *input, hl_analysis_group *g) {
  g->recommendations = calloc(ADVICE_MOST, sizeof *g->recommendations);
  if (!g->recommendations) return false;
  if (g->point_count == 0) return fallback(input, g) && limit(input, g) && mistrusted(input, g);
  if (hl_workload_is_progressive(g->workload))
    return stages(input, g) && accuracy(input, g) && limit(input, g) && mistrusted(input, g) &&
           hints(input, g);
  return speed(g) && latency(input, g) && memory(g) && energy(input, g) && balance(g) &&
         under_limit(input, g) && accuracy(input, g) && limit(input, g) && mistrusted(input, g) &&
         hints(input, g) && data_hint(input, g);
}
