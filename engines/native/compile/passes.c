#include "compile/passes.h"

hl_status hl_native_passes(hl_native_ir *ir, bool fuses, hl_error *error) {
  static hl_status (*const passes[])(hl_native_ir *, hl_error *) = {
      hl_native_pass_quantized,   hl_native_pass_fold,      hl_native_pass_functions,
      hl_native_pass_layer_norm,  hl_native_pass_attention, hl_native_pass_batch_norm,
      hl_native_pass_convolution, hl_native_pass_posts,     hl_native_pass_rounding,
      hl_native_pass_transpose,
  };
  for (size_t i = 0; i < (fuses ? HL_COUNT(passes) : 2); i++) {
    hl_status status = passes[i](ir, error);
    if (status == HL_OK) status = hl_native_ir_sweep(ir, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}
