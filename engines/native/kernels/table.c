#include "isa.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const hl_kernels HL_FN(kernels);

const hl_kernels HL_FN(kernels) = {.isa = TEXT(HL_ISA),
#define X(name) .name = HL_FN(name),
                                   HL_KERNELS_MAP(X)
#undef X
};
