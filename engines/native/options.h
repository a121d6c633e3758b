/*
 * options.h - the options of the native engine (--engine-option).
 *
 *     status = hl_native_options_read(engine, config, &error);
 */
#ifndef HL_NATIVE_OPTIONS_H
#define HL_NATIVE_OPTIONS_H

#include "native.h"

/* What there is, for `hotlap engines`; ends with a row of NULLs. */
extern const hl_option_info hl_native_option_table[];

/* Sets what the options decide in `engine`, the instruction set included (isa-option.h).
 * INVALID_ARGUMENT names an option or value that there is not, and lists those that there are. */
hl_status hl_native_options_read(hl_engine *engine, const hl_engine_config *config,
                                 hl_error *error);

#endif
