/*
 * compile/compile.h - from a model and shapes to a list of prepared steps.
 *
 * clone -> bind shapes -> infer -> passes -> lower node by node -> memory plan. Nothing that the
 * list needs at run time is allocated; weights are only named.
 */
#ifndef HL_NATIVE_COMPILE_COMPILE_H
#define HL_NATIVE_COMPILE_COMPILE_H

#include "compile/builder.h"
#include "run/buffer.h"

struct hl_program {
  hl_model *model;
  hl_graph *graph; /* what it computes; its constants are read until the weights are made */
  hl_native_list list;
  /* Of a training program, else empty: */
  hl_graph *network;         /* bound clone from which `graph` was made */
  hl_training_spec training; /* as it was given */
  hl_port *states;           /* by state, in the order of the graph's values */
  int32_t *state_tensors;    /* where each lies */
  const void **state_start;  /* what each begins with; NULL: zeros */
  size_t state_count;
  hl_native_buffer state; /* all of them; of `training.states_of`, if there is one */
  hl_native_buffer lent;  /* activations of its request, for a program that shares its states */
};

/* hl_native_program_free releases it. */
hl_status hl_native_compile(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                            hl_error *error);
void hl_native_program_free(hl_program *program);

#endif
