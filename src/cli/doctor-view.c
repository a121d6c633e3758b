/* What hotlap doctor prints. */
#include "cli/doctor.h"

#include "report/number.h"
#include <math.h>

void hl_cli_view_gpus(const hl_gpu_set *gpus, hl_text *out) {
  for (int i = 0; i < gpus->count; i++) {
    const hl_gpu *gpu = &gpus->items[i];
    hl_text_format(out, "GPU %d      %s", i, gpu->name);
    if (gpu->memory_bytes) hl_text_format(out, ", %.1f GB", (double)gpu->memory_bytes * 1e-9);
    if (isfinite(gpu->power_limit_w)) hl_text_format(out, ", %.0f W", gpu->power_limit_w);
    if (isfinite(gpu->max_sm_clock_mhz))
      hl_text_format(out, ", up to %.0f MHz", gpu->max_sm_clock_mhz);
    hl_text_format(out, ", driver %s\n", gpus->driver[0] ? gpus->driver : "unknown");
  }
  if (gpus->count == 0) hl_text_format(out, "GPU        none: %s\n", gpus->reason);
}

static void view_line(hl_text *out, const char *title, const char *words) {
  enum { indent = 11, width = 80 };
  hl_text_format(out, "%-*s", indent, title);
  hl_text_wrap(out, words, indent, indent, width);
  hl_text_char(out, '\n');
}

static void view_meters(const hl_checkup *found, hl_text *out) {
  hl_text energy = HL_TEXT_INIT, counters = HL_TEXT_INIT;
  size_t packages = 0;
  for (size_t i = 0; i < found->energy.count; i++) packages += !found->energy.zones[i].is_memory;
  if (packages)
    hl_text_format(&energy, "of %zu package%s%s (--min-time 10)", packages,
                   packages == 1 ? "" : "s", packages < found->energy.count ? ", and DRAM" : "");
  else
    hl_text_append(&energy, found->energy.reason);
  if (found->counters_scope) hl_text_format(&counters, "of %s (--counters)", found->counters_scope);
  if (found->counters_reason[0])
    hl_text_format(&counters, "%s%s", counters.length ? "; not known: " : "",
                   found->counters_reason);
  view_line(out, "Energy", energy.data);
  view_line(out, "Counters", counters.data);
  hl_text_release(&energy);
  hl_text_release(&counters);
}

static void view_machine(const hl_checkup *found, hl_text *out) {
  const hl_machine *m = &found->machine;
  hl_text_format(out, "CPU        %s\n", m->cpu);
  hl_text_format(out, "Cores      %d to use (%d of %d cores, %d of %d logical CPUs)\n", m->cores,
                 m->allowed_cores, m->total_cores, m->allowed_cpus, m->total_cpus);
  hl_text_format(out, "ISA        %s\n", m->isa[0] ? m->isa : "none that kernels are chosen by");
  hl_text_append(out, "Caches    ");
  for (int i = 0; i < m->cache_count; i++) {
    const hl_cache *cache = &m->caches[i];
    const char *kind = cache->kind == 'u' ? "" : cache->kind == 'd' ? "d" : "i";
    bool mib = cache->bytes >= 1u << 20;
    hl_text_format(out, "%s L%d%s %llu %s", i ? "," : "", cache->level, kind,
                   (unsigned long long)(cache->bytes >> (mib ? 20 : 10)), mib ? "MiB" : "KiB");
    if (cache->shared_by > 1) hl_text_format(out, " for %d CPUs", cache->shared_by);
  }
  hl_text_format(out, "%s\nMemory     %.1f GB", m->cache_count ? "" : " unknown",
                 (double)m->memory_bytes * 1e-9);
  if (found->available_bytes != UINT64_MAX)
    hl_text_format(out, ", %.1f GB available", (double)found->available_bytes * 1e-9);
  hl_text_format(out, ", %d NUMA node%s\n", m->numa_nodes, m->numa_nodes == 1 ? "" : "s");
  hl_cli_view_gpus(&m->gpus, out);
  view_meters(found, out);
  hl_text_format(out, "System     %s, %s\n", m->os, m->kernel);
  hl_text_format(out, "Machine    %s\n", m->id);
  if (!found->measured) return;
  hl_text_format(out, "Measured   %.0f GFLOP/s f32 (%s)", found->roofline.compute_gflops,
                 found->roofline.isa);
  if (isfinite(found->roofline.bfloat16_gflops))
    hl_text_format(out, ", %.0f bf16", found->roofline.bfloat16_gflops);
  hl_text_format(out, ", %.1f GB/s triad, %d thread%s; clock read %.0f ns\n",
                 found->roofline.bandwidth_gbs, found->roofline.threads,
                 found->roofline.threads == 1 ? "" : "s", found->clock.read_ns);
}

static void view_findings(const hl_checkup *found, bool colour, hl_text *out) {
  static const struct {
    hl_noise_severity severity;
    const char *title, *colour;
  } groups[] = {{HL_NOISE_WARNING, "Spoils measurements now", "\033[31m"},
                {HL_NOISE_NOTE, "Good to know", "\033[33m"},
                {HL_NOISE_GOOD, "In order", "\033[32m"}};
  for (size_t g = 0; g < HL_COUNT(groups); g++) {
    if (!hl_noise_count(&found->noise, groups[g].severity)) continue;
    hl_text_format(out, "\n%s%s%s\n", colour ? groups[g].colour : "", groups[g].title,
                   colour ? "\033[0m" : "");
    for (size_t i = 0; i < found->noise.count; i++) {
      const hl_noise_finding *finding = &found->noise.items[i];
      if (finding->severity != groups[g].severity) continue;
      hl_text_format(out, "  %s\n", finding->found);
      if (finding->effect[0]) hl_text_format(out, "      Effect: %s.\n", finding->effect);
      if (finding->advice[0])
        hl_text_format(out, "      Do: %s%s\n", finding->advice, finding->command[0] ? ":" : ".");
      if (finding->command[0]) hl_text_format(out, "          %s\n", finding->command);
    }
  }
  size_t warnings = hl_noise_count(&found->noise, HL_NOISE_WARNING);
  hl_text_format(out, "\n%zu warning%s\n", warnings, warnings == 1 ? "" : "s");
}

/* The end: what all of it comes to. */
static void view_comparison(const hl_checkup *found, hl_text *out) {
  const hl_paired *twins = &found->twins;
  if (!found->measured) return;
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES], text[HL_NUMBER_BYTES];
  hl_text_format(out, "Two identical loops on %d thread%s differed by %s here in %zu pairs",
                 found->twin_threads, found->twin_threads == 1 ? "" : "s",
                 hl_report_percent(100 * fabs(expm1(twins->estimate)), text), twins->n);
  if (isnan(twins->low)) {
    hl_text_append(out, ", too few for an interval: nothing can be compared within 1 % now.\n");
    return;
  }
  hl_text_format(out, " (95 %% interval %s%s to %s%s):\n", twins->low > 0 ? "+" : "",
                 hl_report_percent(100 * expm1(twins->low), low), twins->high > 0 ? "+" : "",
                 hl_report_percent(100 * expm1(twins->high), high));
  if (hl_checkup_holds(found))
    hl_text_append(out, "a comparison within 1 % can be held now.\n");
  else
    hl_text_format(
        out,
        "a comparison within 1 %% cannot be held now: what differs by less than %s is "
        "lost in the noise.\n",
        hl_report_percent(100 * fmax(fabs(expm1(twins->low)), fabs(expm1(twins->high))), text));
}

void hl_checkup_view(const hl_checkup *found, bool colour, hl_text *out) {
  view_machine(found, out);
  view_findings(found, colour, out);
  view_comparison(found, out);
}
