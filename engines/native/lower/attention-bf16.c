/* Attention between bfloat16 projections, on our kernel for AVX-512 BF16. */
#include "kernels/attention-bf16.h"
#include "compile/attention.h"
#include "lower/lower.h"
#include <stdlib.h>

typedef struct attention_context {
  unsigned threads;
  int64_t offsets[3];
  bool has_mask;
  hl_attention_bf16_args args;
} attention_context;

static hl_status run_attention(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const attention_context *context = opaque;
  hl_attention_bf16_args args = context->args;
  args.out = pointers[0];
  args.scratch = pointers[1];
  args.q.data = (const uint16_t *)pointers[2] + context->offsets[0];
  args.k.data = (const uint16_t *)pointers[3] + context->offsets[1];
  args.v.data = (const uint16_t *)pointers[4] + context->offsets[2];
  args.mask = context->has_mask ? pointers[5] : NULL;
  hl_attention_bf16(&args, context->threads);
  return HL_OK;
}

static hl_attention_bf16_view view_of(const hl_native_heads *heads) {
  return (hl_attention_bf16_view){.batch = (ptrdiff_t)heads->batch,
                                  .head = (ptrdiff_t)heads->head,
                                  .token = (ptrdiff_t)heads->token,
                                  .dim = (ptrdiff_t)heads->dim};
}

static hl_attention_bf16_args args_of(const hl_native_attention *a) {
  return (hl_attention_bf16_args){.q = view_of(&a->parts[0]),
                                  .k = view_of(&a->parts[1]),
                                  .v = view_of(&a->parts[2]),
                                  .mask_batch = (ptrdiff_t)a->mask[0],
                                  .mask_head = (ptrdiff_t)a->mask[1],
                                  .mask_query = (ptrdiff_t)a->mask[2],
                                  .out_batch = (ptrdiff_t)a->out_batch,
                                  .out_head = (ptrdiff_t)a->out_head,
                                  .out_token = (ptrdiff_t)a->out_token,
                                  .batch = (size_t)a->batch,
                                  .heads = (size_t)a->heads,
                                  .queries = (size_t)a->queries,
                                  .keys = (size_t)a->keys,
                                  .head_dim = (size_t)a->width,
                                  .scale = a->scale};
}

bool hl_native_lower_attention_bf16(hl_native_builder *b, const hl_native_node *node) {
  const hl_native_attention *a = node->attention;
  if (!a || b->type != HL_BFLOAT16 || !b->engine->fast_bfloat16) return false;
  hl_attention_bf16_args args = args_of(a);
  if (!hl_attention_bf16_suits(&args) || a->parts[1].offset % 2 != 0) return false;
  attention_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->args = args;
  context->threads = (unsigned)b->threads;
  context->has_mask = node->input_count > 3;
  for (int i = 0; i < 3; i++) context->offsets[i] = a->parts[i].offset;
  int32_t in[4];
  for (size_t i = 0; i < node->input_count; i++)
    in[i] = i < 3 ? hl_native_in_as(b, node->inputs[i], HL_LAYOUT_PLAIN, HL_BFLOAT16)
                  : hl_native_in(b, node->inputs[i], HL_LAYOUT_PLAIN);
  uint64_t bytes = hl_attention_bf16_scratch_bytes(args.keys, args.head_dim, context->threads);
  int32_t scratch = hl_native_scratch(b, bytes > 0 ? bytes : 64);
  int32_t out = hl_native_out_as(b, node->outputs[0], HL_LAYOUT_PLAIN, HL_BFLOAT16);
  hl_native_step *step = hl_native_call(b, node->op, run_attention, context, NULL);
  hl_native_arg_add(b, step, out, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  for (size_t i = 0; i < node->input_count; i++) hl_native_arg_add(b, step, in[i], 0, NULL);
  return true;
}
