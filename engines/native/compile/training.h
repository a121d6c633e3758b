/*
 * compile/training.h - what is special in compiling a training step.
 *
 * The network becomes a graph of one step (src/graph/training.h). Weights and the optimiser's
 * moments are states: plain float32 tensors in one buffer of the program. The optimiser's nodes
 * change them in place, each as soon as its gradient is complete and nobody reads the old weight
 * any more, so that the gradients of all weights need not live at once.
 */
#ifndef HL_NATIVE_COMPILE_TRAINING_H
#define HL_NATIVE_COMPILE_TRAINING_H

#include "compile/compile.h"

/* Replaces the bound network in `program->graph` by its step. */
hl_status hl_native_training_graph(hl_program *program, const hl_training_spec *spec,
                                   hl_error *error);

/* The order in which the nodes are lowered, as indices; free() it. The graph's own but for the
 * optimiser's nodes. NULL without memory. */
int32_t *hl_native_training_order(const hl_native_ir *ir, const hl_training_spec *spec);

/* Adds the step that waits for the host's gradients where the node about to be lowered is the first
 * to need them. */
void hl_native_training_wait(hl_native_builder *b);

/* Tensors of the states; before any node is lowered. */
void hl_native_training_states(hl_native_builder *b, hl_program *program);

/* Steps that copy what was not computed in place to its state; after all nodes. */
void hl_native_training_updates(hl_native_builder *b);

/* Is it the step that asks the host for its loss? Its first argument is the loss, a float32
 * number. (lower/host-loss.c) */
bool hl_native_is_host_loss(const hl_native_step *step);

/* Allocates the states and gives them what they begin with, or takes those of `states_of`. */
hl_status hl_native_training_start(hl_program *program, hl_error *error);

/* The hooks of the ABI with these names. */
hl_status hl_native_states(hl_program *program, const hl_port **ret_states, size_t *ret_count,
                           hl_error *error);
hl_status hl_native_state_read(hl_program *program, const char *name, hl_tensor_view *ret_view,
                               hl_error *error);
hl_status hl_native_state_write(hl_program *program, const hl_tensor_view *view, hl_error *error);

void hl_native_training_release(hl_program *program);

#endif
