#include "isa-option.h"

#include <string.h>

typedef struct isa_row {
  const char *name;
  dnnl_cpu_isa_t cap;
  const char *note;
} isa_row;

static const isa_row rows[] = {
    {"auto", dnnl_cpu_isa_default, NULL},
    {"baseline", dnnl_cpu_isa_sse41,
     "isa=baseline: this engine's kernels use SSE2, oneDNN is capped at SSE4.1, its lowest"},
    {"avx2", dnnl_cpu_isa_avx2,
     "isa=avx2: this engine's kernels and oneDNN are capped at AVX2 with FMA"},
    {"avx512", dnnl_cpu_isa_avx512_core,
     "isa=avx512: this engine's kernels and oneDNN are capped at AVX-512 F, BW, DQ and VL, "
     "without VNNI, BF16 and AMX"},
};

static const isa_row *find(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

static hl_status cap(const isa_row *row, hl_error *error) {
  static const isa_row *in_force;
  if (in_force && in_force != row)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "isa=%s: oneDNN was set to isa=%s before in this process, for good",
                        row->name, in_force->name);
  if (!in_force && row->cap != dnnl_cpu_isa_default &&
      dnnl_set_max_cpu_isa(row->cap) != dnnl_success)
    return hl_error_set(error, HL_UNAVAILABLE, "isa=%s: this oneDNN cannot be capped", row->name);
  in_force = row;
  return HL_OK;
}

hl_status hl_native_isa_choose(hl_engine *engine, const char *name, hl_error *error) {
  const isa_row *row = find(name);
  if (!row)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "option isa is auto, baseline, avx2 or avx512, not '%s'", name);
  bool automatic = row == &rows[0];
  const hl_kernels *kernels = automatic ? hl_kernels_select() : hl_kernels_by_name(row->name);
  if (!kernels)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "isa=%s: this processor lacks it; isa=auto takes the best that it has",
                        row->name);
  hl_status status = cap(row, error);
  if (status != HL_OK) return status;
  dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  engine->block = (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core ? 16 : 8;
  /* Both read the same blocks, also where ONEDNN_MAX_CPU_ISA caps oneDNN alone. */
  if (engine->block == 8 && strcmp(kernels->isa, "avx512") == 0)
    kernels = hl_kernels_by_name("avx2");
  engine->kernels = kernels;
  engine->fast_bfloat16 = (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
  engine->saturates = (isa & dnnl_cpu_isa_avx512_core_vnni) != dnnl_cpu_isa_avx512_core_vnni &&
                      (isa & dnnl_cpu_isa_avx2_vnni) != dnnl_cpu_isa_avx2_vnni;
  engine->fast_int8 = (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni;
  engine->isa_note = row->note;
  if (automatic && strcmp(kernels->isa, "baseline") == 0)
    engine->isa_note = "this processor has no AVX2: the engine's slowest kernels run";
  return HL_OK;
}
