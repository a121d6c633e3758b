#include "cli/tune.h"

#include "cli/sweep-view.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void clear_phase(void) {
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

static void phase(void *context, const char *text) {
  (void)context;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K%s", text);
}

/* "native bfloat16 cuda:0, 2 threads": what is usual is left out. */
static void describe_family(const hl_configuration *c, hl_text *out) {
  hl_text_append(out, c->engine);
  if (strcmp(c->dtype, "float32") != 0) hl_text_format(out, " %s", c->dtype);
  if (strcmp(c->device, "cpu") != 0) hl_text_format(out, " %s", c->device);
  hl_text_format(out, ", %" PRId64 " thread%s", c->threads, c->threads == 1 ? "" : "s");
}

static void describe(const hl_configuration *c, hl_text *out) {
  describe_family(c, out);
  hl_text_format(out, ", batch %" PRId64, c->batch_size);
  if (c->pipeline)
    hl_text_format(out, " (%" PRId64 ", %" PRId64 ")", c->pipeline->preprocess_batch,
                   c->pipeline->reassemble_batch);
}

static void goal(void *context, const hl_search_goal *g) {
  (void)context;
  clear_phase();
  printf("%s (%s)\n", g->preset, g->objective);
  fflush(stdout);
}

static void arm(void *context, const hl_configuration *c, const hl_arm *a, const char *why) {
  (void)context;
  hl_text line = HL_TEXT_INIT;
  clear_phase();
  describe(c, &line);
  printf("  try   %-34s ", line.data);
  hl_text_release(&line);
  if (a->state == HL_ARM_KNOWN && c->pipeline)
    printf("%8.4g ms a pass  %6.0f MB\n", a->step_ns / 1e6, a->memory_bytes / 1e6);
  else if (a->state == HL_ARM_KNOWN)
    printf("%8.1f images/s  %8.4g ms  %6.0f MB\n", (double)a->batch * 1e9 / a->step_ns,
           a->step_ns / 1e6, a->memory_bytes / 1e6);
  else
    printf("%s%.200s\n", a->no_memory ? "out of memory: " : "", why);
  fflush(stdout);
}

static void stage(void *context, hl_pipeline_stage which) {
  (void)context;
  clear_phase();
  printf("  batch of %s\n", hl_pipeline_stage_name(which));
  fflush(stdout);
}

static void race(void *context, const hl_tuning *t) {
  const hl_tune *tune = context;
  hl_text line = HL_TEXT_INIT;
  clear_phase();
  for (size_t i = 0; i < t->racer_count; i++) {
    const hl_arm *a = &t->arms[t->racers[i]];
    const hl_configuration *c = &tune->families[a->family < tune->family_count ? a->family : 0];
    hl_text_format(&line, "%s%" PRId64, i ? ", " : "", a->batch);
    if (t->options.families == 1) continue;
    hl_text_append(&line, " (");
    describe_family(c, &line);
    hl_text_char(&line, ')');
  }
  printf("  race  batches %s\n", line.data);
  fflush(stdout);
  hl_text_release(&line);
}

static void setting(void *context, const hl_search_setting *s) {
  (void)context;
  hl_text line = HL_TEXT_INIT;
  clear_phase();
  if (s->found) {
    describe(&s->configuration, &line);
    printf("  best  %s\n", line.data);
  } else {
    printf("  none: %s\n", s->reason ? s->reason : "");
  }
  fflush(stdout);
  hl_text_release(&line);
}

static void probe(void *context, const hl_run_probe *p) {
  (void)context;
  clear_phase();
  hl_probe_show(p);
}

static void message(void *context, const char *text) {
  (void)context;
  clear_phase();
  printf("  %s\n", text);
  fflush(stdout);
}

hl_search_view hl_tune_view(hl_tune *tune, bool quiet) {
  if (quiet) return (hl_search_view){.context = tune, .rows = {.context = tune, .phase = phase}};
  return (hl_search_view){
      .context = tune,
      .goal = goal,
      .arm = arm,
      .stage = stage,
      .race = race,
      .setting = setting,
      .rows = {.context = tune, .phase = phase, .probe = probe, .message = message}};
}

/* -- the result -------------------------------------------------------------------------------- */

static void show_settings(const hl_tune *t, hl_text *out) {
  hl_text_format(out, "\n%-17s %-12s %-9s %7s %6s %10s %9s %9s %8s\n", "preset", "engine", "type",
                 "threads", "batch", "images/s", "p50 ms", "p99 ms", "MB");
  for (size_t i = 0; i < t->result.setting_count; i++) {
    const hl_search_setting *s = &t->result.settings[i];
    const hl_configuration *c = &s->configuration;
    const hl_record *r = &s->record;
    if (!s->found) {
      hl_text_format(out, "%-17s not found: %s\n", s->goal->preset, s->reason ? s->reason : "");
      continue;
    }
    char p99[32] = "n too small"; /* the column is as wide as a number */
    if (isfinite(r->latency_p99_ms)) snprintf(p99, sizeof p99, "%.4g", r->latency_p99_ms);
    hl_text_format(out, "%-17s %-12s %-9s %7" PRId64 " %6" PRId64 " %10.1f %9.4g %9s %8.4g\n",
                   s->goal->preset, c->engine, c->dtype, c->threads, c->batch_size,
                   r->throughput_ips, r->latency_p50_ms, p99, r->memory_mb);
    if (c->pipeline)
      hl_text_format(out,
                     "%-17s preprocess %" PRId64 ", reassemble %" PRId64
                     ": stages take %.4g, %.4g and %.4g ms\n",
                     "", c->pipeline->preprocess_batch, c->pipeline->reassemble_batch,
                     r->stage_preprocess_ms, r->stage_predict_ms, r->stage_reassemble_ms);
  }
}

static void show_gain(const hl_tune *t, hl_text *out) {
  const hl_search_result *r = &t->result;
  const hl_search_options *o = &t->search;
  if (!o->baseline_batch) return;
  hl_text_format(out,
                 "Gain over batch %" PRId64 " (%s, %s, %" PRId64 " thread%s): ", o->baseline_batch,
                 o->families[0].engine, o->families[0].dtype, o->families[0].threads,
                 o->families[0].threads == 1 ? "" : "s");
  if (r->compared && isfinite(r->gain.ci.low))
    hl_text_format(out, "%.3f times the throughput [%.3f, %.3f], %s (%" PRId64 " pairs)\n",
                   r->gain.ratio, r->gain.ci.low, r->gain.ci.high,
                   r->gain.verdict ? r->gain.verdict : "no verdict", r->gain.pairs);
  else if (r->compared)
    hl_text_format(out,
                   "about %.2f times the throughput; %" PRId64
                   " pairs are too few for an interval: "
                   "--max-time gives more\n",
                   r->gain.ratio, r->gain.pairs);
  if (r->fell_back) hl_text_format(out, "  %s\n", r->settings[0].reason);
  if (!r->compared)
    hl_text_format(out, "unknown: %s\n", r->gain_reason ? r->gain_reason : "not compared");
}

static void show_boundary(const hl_tune *t, hl_text *out) {
  const hl_search_boundary *b = &t->result.boundary;
  if (!b->looked) return;
  if (b->largest != HL_INT_NULL)
    hl_text_format(out, "Largest batch: %" PRId64 " runs, %" PRId64 " does not.", b->largest,
                   b->largest + 1);
  else
    hl_text_format(out, "Largest batch: %s.", b->reason ? b->reason : "not known");
  if (b->safe != HL_INT_NULL)
    hl_text_format(
        out,
        " Use %" PRId64 " at most: it leaves %.0f %% free and ran for %.0f s, %.0f MB at "
        "its peak",
        b->safe, 100 * t->search.method->safety_margin, b->verified_s, b->safe_memory_mb);
  hl_text_char(out, '\n');
}

void hl_tune_show_result(const hl_tune *t, hl_text *out) {
  const hl_tuning *s = &t->result.tuning;
  size_t tried = hl_tuning_tried(s);
  show_settings(t, out);
  hl_text_char(out, '\n');
  show_gain(t, out);
  if (t->result.plateau_batch != HL_INT_NULL && !t->result.fell_back)
    hl_text_format(out, "Plateau: batch %" PRId64 " is surely within 5 %% of the best of %s\n",
                   t->result.plateau_batch, t->goals[0].objective);
  show_boundary(t, out);
  hl_text_format(out, "Search: %.0f s, %zu setting%s tried, %zu turn%s in %zu race%s%s\n",
                 (double)s->all_spent_ns / 1e9, tried, tried == 1 ? "" : "s", s->turns,
                 s->turns == 1 ? "" : "s", s->races, s->races == 1 ? "" : "s",
                 t->result.short_of_time ? "; short of time: --search-time gives more" : "");
}
