/* engines/null/null.h - the engine that does nothing: what is left is hotlap itself. */
#ifndef HL_ENGINES_NULL_H
#define HL_ENGINES_NULL_H

#include <hotlap/engine.h>

const hl_engine_ops *hl_engine_null(void);

#endif
