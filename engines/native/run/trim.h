/*
 * run/trim.h - gives memory that only compiling needed back to the system.
 */
#ifndef HL_NATIVE_RUN_TRIM_H
#define HL_NATIVE_RUN_TRIM_H

/* Freed memory that the allocator holds, and pages of oneDNN's code, most of which chooses and
 * makes kernels: they stay in the system's cache and are mapped again where a step enters them. To
 * be called when an engine is open (loading the library reads much of it), and when a program is
 * compiled, before weights are made and before the arena is allocated, so that both are never there
 * at once. Breakpoints that a
 * debugger has set there are lost. */
void hl_native_trim(void);

#endif
