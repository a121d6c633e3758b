/* hotlap doctor --json. */
#include "base/json-writer.h"
#include "cli/doctor.h"
#include <math.h>

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

/* What rows can say beyond their times; null where nothing is amiss. */
static void write_meters(hl_json *json, const hl_checkup *found) {
  const char *energy = found->energy.reason, *counters = found->counters_reason;
  hl_json_object(json, "meters");
  hl_json_bool(json, "energy", found->energy.count > 0);
  hl_json_text(json, "energy_reason", energy[0] ? energy : NULL);
  hl_json_text(json, "counters_scope", found->counters_scope);
  hl_json_text(json, "counters_reason", counters[0] ? counters : NULL);
  hl_json_end(json);
}

static void write_measured(hl_json *json, const hl_checkup *found) {
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
  hl_json_bool(json, "within_1_percent", hl_checkup_holds(found));
  hl_json_end(json);
}

void hl_checkup_write_json(const hl_checkup *found, hl_text *out) {
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
    hl_json_object(&json, NULL);
    hl_json_text(&json, "severity", hl_noise_severity_name(finding->severity));
    hl_json_text(&json, "what", finding->what);
    hl_json_text(&json, "found", finding->found);
    hl_json_text(&json, "effect", finding->effect[0] ? finding->effect : NULL);
    hl_json_text(&json, "advice", finding->advice[0] ? finding->advice : NULL);
    hl_json_text(&json, "command", finding->command[0] ? finding->command : NULL);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
