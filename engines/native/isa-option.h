/*
 * native/isa-option.h - the instruction set that the engine may use: the option isa.
 *
 *     status = hl_native_isa_choose(engine, "avx2", error);   // before oneDNN's first primitive
 *     engine->kernels;                                        // the AVX2 build
 *
 * A cap of oneDNN's holds for the life of the process, so a second engine in it can have no other.
 */
#ifndef HL_NATIVE_ISA_OPTION_H
#define HL_NATIVE_ISA_OPTION_H

#include "native.h"

/*
 * Sets the engine's kernels, block, fast_bfloat16, saturates and isa_note by `name`: "auto" for the
 * best that the processor has, "baseline", "avx2" or "avx512"; oneDNN is capped to match. Not
 * thread-safe. INVALID_ARGUMENT for another name, UNAVAILABLE where the processor lacks it or the
 * process has another cap.
 */
hl_status hl_native_isa_choose(hl_engine *engine, const char *name, hl_error *error);

#endif
