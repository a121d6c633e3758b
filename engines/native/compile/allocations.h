/*
 * compile/allocations.h - what each byte of a program is for.
 *
 * A place of the arena may hold one value after another (results written over an input that nobody
 * needs any more): each stretch in which it holds the same kind of thing is a piece of its own.
 * Sizes include what alignment adds, so that the pieces that live at a step sum up to what is used.
 */
#ifndef HL_NATIVE_COMPILE_ALLOCATIONS_H
#define HL_NATIVE_COMPILE_ALLOCATIONS_H

#include "compile/compile.h"

/* The hook of the ABI with this name. */
hl_status hl_native_allocations(hl_model *model, const hl_program_spec *spec,
                                hl_allocation_visit visit, void *context, hl_error *error);

/* The same of a program that is compiled already. */
hl_status hl_native_allocations_of(const hl_program *program, hl_allocation_visit visit,
                                   void *context, hl_error *error);

#endif
