/*
 * A parallel region through libgomp's ABI. `#pragma omp parallel` would make clang call its own
 * runtime, and two OpenMP runtimes in one process have two sets of threads on the same cores.
 */
#include "kernels.h"

#if defined(HL_HAVE_GOMP)
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
#endif

typedef struct region {
  void (*body)(void *context, unsigned thread, unsigned threads);
  void *context;
  unsigned threads;
} region;

#if defined(HL_HAVE_GOMP)
/* The runtime may give fewer threads than asked; the shares of the others are done here too. */
static void member(void *data) {
  const region *r = data;
  unsigned team = (unsigned)omp_get_num_threads();
  for (unsigned share = (unsigned)omp_get_thread_num(); share < r->threads; share += team)
    r->body(r->context, share, r->threads);
}
#endif

void hl_kernels_parallel(void (*body)(void *context, unsigned thread, unsigned threads),
                         void *context, unsigned threads) {
  region r = {body, context, threads ? threads : 1};
#if defined(HL_HAVE_GOMP)
  if (r.threads > 1) {
    GOMP_parallel(member, &r, r.threads, 0);
    return;
  }
#endif
  for (unsigned share = 0; share < r.threads; share++) body(context, share, r.threads);
}

typedef struct call {
  const hl_kernels *kernels;
  const void *args;
} call;

#define X(name)                                                                                    \
  static void name##_body(void *context, unsigned thread, unsigned threads) {                      \
    const call *c = context;                                                                       \
    c->kernels->name(c->args, thread, threads);                                                    \
  }                                                                                                \
  void hl_kernel_##name(const hl_kernels *kernels, const hl_##name##_args *args,                   \
                        unsigned threads) {                                                        \
    call c = {kernels, args};                                                                      \
    hl_kernels_parallel(name##_body, &c, threads);                                                 \
  }
HL_KERNELS_MAP(X)
#undef X
