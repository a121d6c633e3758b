/* What would spoil a measurement on a GPU: others on it, clocks that move, ECC, a sleepy driver. */
#include "machine/noise-internal.h"
#include <math.h>
#include <stdio.h>

static void others(hl__look *at, int i, const hl_gpu *gpu) {
  static const hl__remedy remedy = {
      "gpu-processes", "they take its units, its memory and its bandwidth while we measure",
      "stop them; this shows them", NULL};
  if (gpu->processes < 0) return;
  hl_noise_finding *finding = hl__noise_add(
      at, hl__noise_when(gpu->processes > 0, HL_NOISE_WARNING), &remedy,
      "GPU %d: %d process%s on it.", i, gpu->processes, gpu->processes == 1 ? "" : "es");
  if (finding)
    snprintf(finding->command, sizeof finding->command,
             "nvidia-smi -i %d --query-compute-apps=pid,name,used_memory --format=csv", i);
}

static void clocks(hl__look *at, int i, const hl_gpu *gpu) {
  static const hl__remedy remedy = {
      "gpu-clocks", "the clock follows load, temperature and the power limit: long runs are slower",
      "to compare versions, fix it below what it holds for long (-rgc ends it)", NULL};
  if (!isfinite(gpu->max_sm_clock_mhz)) return;
  char now[48] = "";
  if (isfinite(gpu->clock_mhz)) snprintf(now, sizeof now, ", now at %.0f MHz", gpu->clock_mhz);
  hl_noise_finding *finding =
      hl__noise_add(at, HL_NOISE_NOTE, &remedy, "GPU %d: its clock may rise to %.0f MHz%s.", i,
                    gpu->max_sm_clock_mhz, now);
  if (finding)
    snprintf(finding->command, sizeof finding->command, "sudo nvidia-smi -i %d -lgc %.0f", i,
             0.75 * gpu->max_sm_clock_mhz);
}

static void persistence(hl__look *at, int i, const hl_gpu *gpu) {
  static const hl__remedy remedy = {
      "gpu-persistence",
      "the driver lets go of the GPU between processes: each start takes seconds and begins cold",
      "switch persistence on", NULL};
  if (gpu->persistence < 0) return;
  hl_noise_finding *finding =
      hl__noise_add(at, hl__noise_when(gpu->persistence == 0, HL_NOISE_NOTE), &remedy,
                    "GPU %d: persistence is %s.", i, gpu->persistence ? "on" : "off");
  if (finding)
    snprintf(finding->command, sizeof finding->command, "sudo nvidia-smi -i %d -pm 1", i);
}

static void ecc(hl__look *at, int i, const hl_gpu *gpu) {
  static const hl__remedy remedy = {
      "gpu-ecc", "on memory that is not HBM it takes some bandwidth and some of the memory",
      "compare only with GPUs of the same setting; this and a reboot switch it off", NULL};
  if (gpu->ecc < 0) return;
  hl_noise_finding *finding =
      hl__noise_add(at, hl__noise_when(gpu->ecc == 1, HL_NOISE_NOTE), &remedy, "GPU %d: ECC is %s.",
                    i, gpu->ecc ? "on" : "off");
  if (finding) snprintf(finding->command, sizeof finding->command, "sudo nvidia-smi -i %d -e 0", i);
}

void hl__noise_gpus(hl__look *look) {
  for (int i = 0; i < look->machine->gpus.count; i++) {
    const hl_gpu *gpu = &look->machine->gpus.items[i];
    others(look, i, gpu);
    clocks(look, i, gpu);
    persistence(look, i, gpu);
    ecc(look, i, gpu);
  }
}
