/* The header promises the same bits for every number of threads. */
#include "kernel-test.h"

enum { ROWS = 37, WIDTH = 197, COUNT_ALL = ROWS * WIDTH };

/* Runs one kernel into `y` (zeroed before). */
typedef void runner(const hl_kernels *k, unsigned threads, const float *x, float *y);

static void run_normalize(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_normalize_args args = {.x = x,
                            .y = y,
                            .n = 1,
                            .c = ROWS,
                            .s = WIDTH,
                            .block = 1,
                            .groups = ROWS,
                            .epsilon = 1e-5f,
                            .slope = 0.1f};
  hl_kernel_normalize(k, &args, threads);
}

static void run_layer_norm(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_layer_norm_args args = {.x = x, .y = y, .rows = ROWS, .n = WIDTH, .epsilon = 1e-5f};
  hl_kernel_layer_norm(k, &args, threads);
}

static void run_softmax(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_softmax_args args = {.x = x, .y = y, .rows = ROWS, .n = WIDTH, .scale = 1};
  hl_kernel_softmax(k, &args, threads);
}

static void run_attention(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  enum { TOKENS = 50, D = 12, HEADS = 3 };
  void *scratch = aligned_alloc(64, hl_attention_scratch_bytes(TOKENS, D, threads));
  hl_attention_view view = {x, 0, TOKENS * D, D, 1};
  hl_attention_args args = {.q = view,
                            .k = view,
                            .v = view,
                            .out = y,
                            .out_head = TOKENS * D,
                            .out_token = D,
                            .batch = 1,
                            .heads = HEADS,
                            .queries = TOKENS,
                            .keys = TOKENS,
                            .head_dim = D,
                            .scale = 1,
                            .scratch = scratch};
  hl_kernel_attention(k, &args, threads);
  free(scratch);
}

static void run_elementwise(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_elementwise_step step = {.kind = HL_EW_GELU};
  hl_elementwise_args args = {.x = x, .y = y, .n = COUNT_ALL, .steps = &step, .step_count = 1};
  hl_kernel_elementwise(k, &args, threads);
}

static void run_binary(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_binary_args args = {.kind = HL_BINARY_DIV,
                         .a = x,
                         .b = x + 1,
                         .y = y,
                         .rank = 1,
                         .extent = {COUNT_ALL - 1},
                         .a_stride = {1},
                         .b_stride = {1},
                         .y_stride = {1}};
  hl_kernel_binary(k, &args, threads);
}

static void run_copy(const hl_kernels *k, unsigned threads, const float *x, float *y) {
  hl_copy_args args = {.x = x,
                       .y = y,
                       .rank = 2,
                       .extent = {WIDTH, ROWS},
                       .x_stride = {1, WIDTH},
                       .y_stride = {ROWS, 1}};
  hl_kernel_copy(k, &args, threads);
}

static void test_same_bits(void **state) {
  (void)state;
  static const struct {
    const char *name;
    runner *run;
  } runners[] = {{"normalize", run_normalize},
                 {"layer_norm", run_layer_norm},
                 {"softmax", run_softmax},
                 {"attention", run_attention},
                 {"elementwise", run_elementwise},
                 {"binary", run_binary},
                 {"copy", run_copy}};
  float *x = filled(COUNT_ALL, 1);
  for (size_t build = 0; build < COUNT(isa_names); build++) {
    const hl_kernels *k = hl_kernels_by_name(isa_names[build]);
    for (size_t i = 0; k && i < COUNT(runners); i++) {
      float *one = calloc(COUNT_ALL, sizeof *one);
      runners[i].run(k, 1, x, one);
      for (unsigned threads = 2; threads <= 40; threads = threads * 2 + 1) {
        float *more = calloc(COUNT_ALL, sizeof *more);
        runners[i].run(k, threads, x, more);
        if (memcmp(one, more, COUNT_ALL * sizeof *one) != 0)
          fail_msg("%s, %s: other bits on %u threads", k->isa, runners[i].name, threads);
        free(more);
      }
      free(one);
    }
  }
  free(x);
}

/* Each share is run once, whatever team the runtime gives. */
static void count_share(void *context, unsigned thread, unsigned threads) {
  unsigned *counts = context;
  assert_true(thread < threads);
  __atomic_add_fetch(&counts[thread], 1, __ATOMIC_RELAXED);
}

static void test_parallel(void **state) {
  (void)state;
  for (unsigned threads = 0; threads <= 20; threads++) {
    unsigned counts[20] = {0};
    hl_kernels_parallel(count_share, counts, threads);
    for (unsigned i = 0; i < 20; i++)
      assert_int_equal(counts[i], i < (threads ? threads : 1) ? 1 : 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits),
                                     cmocka_unit_test(test_parallel)};
  return cmocka_run_group_tests_name("kernels/threads", tests, NULL, NULL);
}
