/* hotlap doctor: what this machine is, and what would spoil a measurement on it. */
#include "base/clock.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "machine/memory.h"
#include "machine/noise.h"
#include "machine/perf-events.h"
#include "machine/rapl.h"
#include "machine/roofline.h"
#include "machine/topology.h"
#include "machine/twins.h"
#include "record/comparison.h"
#include "statistics/paired.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t probe_ns = 500000000, twins_ns = 3000000000;

static const char usage[] =
    "Usage: hotlap doctor [--json] [--root DIRECTORY]\n"
    "\n"
    "Prints what this machine is, measures what it can do (f32 arithmetic, memory bandwidth), "
    "lists\n"
    "what would spoil a measurement, with a remedy for each, and says whether a comparison within\n"
    "1 % can be held here now, by timing two identical loops. Takes two to five seconds.\n"
    "With --root, settings are read from a copy of /proc and /sys, and nothing is measured.\n"
    "Exit status 0, also where there are warnings.\n";

typedef struct checkup {
  hl_machine machine;
  hl_noise noise;
  hl_roofline roofline;
  hl_clock_cost clock;
  uint64_t available_bytes;
  hl_rapl energy;
  bool counters, kernel_counted; /* some are counted; the kernel as well */
  char counters_reason[1024];
  bool measured; /* no: settings of a copy */
  int twin_threads;
  hl_paired twins; /* log-ratios of two identical loops */
} checkup;

/* What a comparison would meet now. */
static hl_status compare_twins(checkup *to, hl_error *error) {
  double ratios[HL_TWINS_PAIRS];
  size_t pairs = 0;
  int cores = to->machine.cores;
  to->twin_threads = cores < HL_TWINS_THREADS ? cores : HL_TWINS_THREADS;
  hl_status status =
      hl_twins_run(to->twin_threads, HL_TWINS_PAIRS, twins_ns, ratios, &pairs, error);
  return status == HL_OK ? hl_paired_estimate(ratios, pairs, &to->twins, error) : status;
}

static bool holds_one_percent(const hl_paired *twins) {
  return twins->low >= log(1 - HL_EQUIVALENT_WITHIN) &&
         twins->high <= log(1 + HL_EQUIVALENT_WITHIN);
}

static hl_status examine_copy(const char *root, checkup *ret_checkup, hl_error *error) {
  hl_status status = hl_machine_read_at(root, &ret_checkup->machine, error);
  if (status) return status;
  ret_checkup->available_bytes = hl_memory_available(root);
  hl_rapl_open(root, &ret_checkup->energy);
  snprintf(ret_checkup->counters_reason, sizeof ret_checkup->counters_reason,
           "only the machine itself can tell");
  hl_noise_read(root, &ret_checkup->machine, NULL, &ret_checkup->noise);
  return HL_OK;
}

static void examine_counters(checkup *found) {
  hl_perf perf;
  hl_perf_open(NULL, NULL, &perf);
  for (int e = 0; e < HL_PERF_EVENTS; e++) found->counters |= perf.fds[e] >= 0;
  found->kernel_counted = found->counters && !perf.user_only;
  hl_perf_explain(&perf, found->counters_reason, sizeof found->counters_reason);
  hl_perf_release(&perf);
}

static hl_status examine(checkup *ret_checkup, hl_error *error) {
  hl_status status = hl_machine_read(&ret_checkup->machine, error);
  if (status) return status;
  ret_checkup->measured = true;
  ret_checkup->clock = hl_clock_calibrate();
  ret_checkup->available_bytes = hl_memory_available(NULL);
  hl_rapl_open(NULL, &ret_checkup->energy);
  examine_counters(ret_checkup);
  hl_noise_probe probe = hl_noise_probe_run(probe_ns);
  /* Before the roofline, whose own threads would count as load. */
  hl_noise_read(NULL, &ret_checkup->machine, &probe, &ret_checkup->noise);
  status = compare_twins(ret_checkup, error);
  if (status) return status;
  return hl_roofline_measure(ret_checkup->machine.cores, &ret_checkup->roofline, error);
}

static void write_flag(hl_json *json, const char *key, int value) {
  if (value < 0)
    hl_json_null(json, key);
  else
    hl_json_bool(json, key, value != 0);
}

/* UINT64_MAX is unknown. */
static void write_known(hl_json *json, const char *key, uint64_t value) {
  if (value == UINT64_MAX)
    hl_json_null(json, key);
  else
    hl_json_int(json, key, (int64_t)value);
}

static void write_gpu(hl_json *json, const hl_gpu *gpu) {
  hl_json_object(json, NULL);
  hl_json_text(json, "name", gpu->name);
  hl_json_text(json, "uuid", gpu->uuid[0] ? gpu->uuid : NULL);
  write_known(json, "memory_bytes", gpu->memory_bytes ? gpu->memory_bytes : UINT64_MAX);
  write_known(json, "used_bytes", gpu->used_bytes);
  write_known(json, "processes", gpu->processes < 0 ? UINT64_MAX : (uint64_t)gpu->processes);
  hl_json_real(json, "power_limit_w", gpu->power_limit_w);
  hl_json_real(json, "clock_mhz", gpu->clock_mhz);
  hl_json_real(json, "max_clock_mhz", gpu->max_sm_clock_mhz);
  write_flag(json, "ecc", gpu->ecc);
  write_flag(json, "persistence", gpu->persistence);
  hl_json_end(json);
}

static void write_machine(hl_json *json, const hl_machine *machine) {
  hl_json_object(json, "machine");
  hl_json_text(json, "id", machine->id);
  hl_json_text(json, "cpu", machine->cpu);
  hl_json_text(json, "isa", machine->isa);
  hl_json_int(json, "cores", machine->cores);
  hl_json_int(json, "allowed_cores", machine->allowed_cores);
  hl_json_int(json, "allowed_cpus", machine->allowed_cpus);
  hl_json_int(json, "total_cores", machine->total_cores);
  hl_json_int(json, "total_cpus", machine->total_cpus);
  hl_json_real(json, "cpu_quota", machine->cpu_quota);
  hl_json_int(json, "numa_nodes", machine->numa_nodes);
  hl_json_array(json, "caches");
  for (int i = 0; i < machine->cache_count; i++) {
    const hl_cache *cache = &machine->caches[i];
    hl_json_object(json, NULL);
    hl_json_int(json, "level", cache->level);
    hl_json_text(json, "kind",
                 cache->kind == 'd'   ? "data"
                 : cache->kind == 'i' ? "instruction"
                                      : "unified");
    hl_json_int(json, "bytes", (int64_t)cache->bytes);
    hl_json_int(json, "shared_by_cpus", cache->shared_by);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_int(json, "memory_bytes", (int64_t)machine->memory_bytes);
  if (machine->memory_limit_bytes == UINT64_MAX)
    hl_json_null(json, "memory_limit_bytes");
  else
    hl_json_int(json, "memory_limit_bytes", (int64_t)machine->memory_limit_bytes);
  hl_json_text(json, "os", machine->os);
  hl_json_text(json, "kernel", machine->kernel);
  hl_json_text(json, "container", machine->container[0] ? machine->container : NULL);
  hl_json_text(json, "hypervisor", machine->hypervisor[0] ? machine->hypervisor : NULL);
  hl_json_array(json, "gpus");
  for (int i = 0; i < machine->gpus.count; i++) write_gpu(json, &machine->gpus.items[i]);
  hl_json_end(json);
  hl_json_text(json, "gpu_driver", machine->gpus.driver[0] ? machine->gpus.driver : NULL);
  hl_json_text(json, "gpu_reason", machine->gpus.count ? NULL : machine->gpus.reason);
  hl_json_end(json);
}

static const char *counters_scope(const checkup *found) {
  if (!found->counters) return NULL;
  return found->kernel_counted ? "user mode and kernel" : "user mode";
}

/* What rows can say beyond their times; null where nothing is amiss. */
static void write_meters(hl_json *json, const checkup *found) {
  const char *energy = found->energy.reason, *counters = found->counters_reason;
  hl_json_object(json, "meters");
  hl_json_bool(json, "energy", found->energy.count > 0);
  hl_json_text(json, "energy_reason", energy[0] ? energy : NULL);
  hl_json_text(json, "counters_scope", counters_scope(found));
  hl_json_text(json, "counters_reason", counters[0] ? counters : NULL);
  hl_json_end(json);
}

static void write_measured(hl_json *json, const checkup *found) {
  if (!found->measured) {
    hl_json_null(json, "measured");
    hl_json_null(json, "comparison");
    return;
  }
  hl_json_object(json, "measured");
  hl_json_int(json, "threads", found->roofline.threads);
  hl_json_text(json, "kernel", found->roofline.isa);
  hl_json_real(json, "peak_gflops", found->roofline.compute_gflops);
  hl_json_real(json, "peak_bfloat16_gflops", found->roofline.bfloat16_gflops);
  hl_json_real(json, "peak_bandwidth_gbs", found->roofline.bandwidth_gbs);
  hl_json_real(json, "clock_read_ns", found->clock.read_ns);
  hl_json_real(json, "clock_resolution_ns", found->clock.resolution_ns);
  write_known(json, "available_memory_bytes", found->available_bytes);
  hl_json_end(json);
  const hl_paired *twins = &found->twins;
  hl_json_object(json, "comparison");
  hl_json_int(json, "threads", found->twin_threads);
  hl_json_int(json, "pairs", (int64_t)twins->n);
  hl_json_real(json, "ratio", exp(twins->estimate));
  hl_json_array(json, "ci");
  hl_json_real(json, NULL, exp(twins->low));
  hl_json_real(json, NULL, exp(twins->high));
  hl_json_end(json);
  hl_json_real(json, "detectable", hl_paired_detectable(twins->deviation, twins->n));
  hl_json_bool(json, "within_1_percent", holds_one_percent(twins));
  hl_json_end(json);
}

static void write_json(const checkup *found, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.doctor/1");
  hl_json_text(&json, "hotlap_version", HL_VERSION);
  write_machine(&json, &found->machine);
  write_meters(&json, found);
  write_measured(&json, found);
  hl_json_int(&json, "warnings", (int64_t)hl_noise_count(&found->noise, HL_NOISE_WARNING));
  hl_json_array(&json, "findings");
  for (size_t i = 0; i < found->noise.count; i++) {
    const hl_noise_finding *finding = &found->noise.items[i];
    bool good = finding->severity == HL_NOISE_GOOD;
    hl_json_object(&json, NULL);
    hl_json_text(&json, "severity", hl_noise_severity_name(finding->severity));
    hl_json_text(&json, "what", finding->what);
    hl_json_text(&json, "found", finding->found);
    hl_json_text(&json, "effect", good ? NULL : finding->effect);
    hl_json_text(&json, "advice", good ? NULL : finding->advice);
    hl_json_text(&json, "command", finding->command[0] ? finding->command : NULL);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

static void view_gpus(const hl_gpu_set *gpus, hl_text *out) {
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

static void view_meters(const checkup *found, hl_text *out) {
  hl_text energy = HL_TEXT_INIT, counters = HL_TEXT_INIT;
  size_t packages = 0;
  for (size_t i = 0; i < found->energy.count; i++) packages += !found->energy.zones[i].is_memory;
  if (packages)
    hl_text_format(&energy, "of %zu package%s%s (--min-time 10)", packages,
                   packages == 1 ? "" : "s", packages < found->energy.count ? ", and DRAM" : "");
  else
    hl_text_append(&energy, found->energy.reason);
  if (found->counters) hl_text_format(&counters, "of %s (--counters)", counters_scope(found));
  if (found->counters_reason[0])
    hl_text_format(&counters, "%s%s", counters.length ? "; " : "", found->counters_reason);
  view_line(out, "Energy", energy.data);
  view_line(out, "Counters", counters.data);
  hl_text_release(&energy);
  hl_text_release(&counters);
}

static void view_machine(const checkup *found, hl_text *out) {
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
  view_gpus(&m->gpus, out);
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

static void view_findings(const checkup *found, bool colour, hl_text *out) {
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
static void view_comparison(const checkup *found, hl_text *out) {
  const hl_paired *twins = &found->twins;
  if (!found->measured) return;
  hl_text_format(out, "Two identical loops on %d thread%s differed by %.2g %% here in %zu pairs",
                 found->twin_threads, found->twin_threads == 1 ? "" : "s",
                 100 * fabs(expm1(twins->estimate)), twins->n);
  if (isnan(twins->low)) {
    hl_text_append(out, ", too few for an interval: nothing can be compared within 1 % now.\n");
    return;
  }
  hl_text_format(out, " (95 %% interval %+.2g %% to %+.2g %%):\n", 100 * expm1(twins->low),
                 100 * expm1(twins->high));
  if (holds_one_percent(twins))
    hl_text_append(out, "a comparison within 1 % can be held now.\n");
  else
    hl_text_format(
        out,
        "a comparison within 1 %% cannot be held now; so many pairs find a difference of "
        "%.2g %% and more.\n",
        100 * hl_paired_detectable(twins->deviation, twins->n));
}

int hl_cli_doctor(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int status = hl_cli_options('O', usage, argc, argv, &options);
  if (status >= 0) return status;
  static checkup found; /* too large for a small stack */
  bool json = hl_options_on(&options, HL_OPTION_JSON);
  char root[HL_SYSFS_PATH / 2] = "";
  const char *asked = hl_options_get(&options, HL_OPTION_ROOT);
  if (asked && (strlen(asked) >= sizeof root || access(asked, R_OK | X_OK) != 0)) {
    hl_error_set(&error, HL_INVALID_ARGUMENT,
                 "--root: '%.200s' is no directory that can be read; give one that holds copies of "
                 "proc and sys",
                 asked);
    hl_options_release(&options);
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  }
  if (asked) snprintf(root, sizeof root, "%s", asked);
  if (options.positional_count > 0) {
    hl_error_set(&error, HL_INVALID_ARGUMENT, "doctor takes no '%s'. Try hotlap doctor --help",
                 options.positionals[0]);
    hl_options_release(&options);
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  }
  hl_options_release(&options);
  if (asked ? examine_copy(root, &found, &error) : examine(&found, &error))
    return hl_cli_fail(&error, HL_EXIT_NOTHING);
  hl_text text = HL_TEXT_INIT;
  if (json) {
    write_json(&found, &text);
  } else {
    view_machine(&found, &text);
    view_findings(&found, hl_cli_colour(STDOUT_FILENO), &text);
    view_comparison(&found, &text);
  }
  bool failed = text.failed || fputs(text.data, stdout) == EOF || fflush(stdout) == EOF;
  hl_text_release(&text);
  if (failed) hl_error_set(&error, HL_IO, "cannot write to standard output");
  hl_machine_release(&found.machine);
  return failed ? hl_cli_fail(&error, HL_EXIT_NOTHING) : HL_EXIT_OK;
}
