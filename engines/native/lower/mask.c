/* The gradient of a ReLU by the step that computes what it is applied to. */
#include "lower/lower.h"
#include <string.h>

bool hl_native_absorb_mask(hl_native_builder *b, const hl_native_node *node,
                           hl_native_mask *ret_mask) {
  *ret_mask = (hl_native_mask){.result = node->outputs[0], .value = -1, .slope = 1};
  if (!hl_native_does(b->engine->off, HL_NATIVE_MASK)) return false;
  hl_native_node *reader = hl_native_ir_reader(b->ir, node->outputs[0]);
  if (!reader || reader->dead || reader->input_count != 2 || reader->post_count > 0) return false;
  bool leaky = strcmp(reader->op, "LeakyReluGradient") == 0;
  if (!leaky && strcmp(reader->op, "ReluGradient") != 0) return false;
  hl_value_id value = reader->inputs[1];
  if (reader->inputs[0] != node->outputs[0] || value < 0 || b->tensor_of[value] < 0) return false;
  *ret_mask =
      (hl_native_mask){.result = reader->outputs[0],
                       .value = value,
                       .slope = leaky ? hl_node_real(reader->source, "alpha", 0.01f) : 0.0f};
  reader->dead = true;
  b->uses_after[node->outputs[0]]--;
  b->uses_after[value]--;
  return true;
}
