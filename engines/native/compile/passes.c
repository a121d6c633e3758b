#include "compile/passes.h"

hl_status hl_native_passes(hl_native_ir *ir, uint32_t off, hl_error *error) {
  static const struct {
    hl_native_switch of;
    hl_status (*run)(hl_native_ir *, hl_error *);
  } passes[] = {
      {HL_NATIVE_QUANTIZED, hl_native_pass_quantized},
      {HL_NATIVE_ALWAYS, hl_native_pass_fold},
      {HL_NATIVE_FUNCTIONS, hl_native_pass_functions},
      {HL_NATIVE_LAYER_NORM, hl_native_pass_layer_norm},
      {HL_NATIVE_ATTENTION, hl_native_pass_attention},
      {HL_NATIVE_BATCH_NORM, hl_native_pass_batch_norm},
      {HL_NATIVE_PADDING, hl_native_pass_convolution},
      {HL_NATIVE_POSTS, hl_native_pass_posts},
      {HL_NATIVE_ROUNDING, hl_native_pass_rounding},
      {HL_NATIVE_TRANSPOSE, hl_native_pass_transpose},
  };
  for (size_t i = 0; i < HL_COUNT(passes); i++) {
    if (!hl_native_does(off, passes[i].of)) continue;
    hl_status status = passes[i].run(ir, error);
    if (status == HL_OK) status = hl_native_ir_sweep(ir, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}
