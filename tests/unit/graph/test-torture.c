/*
 * Memory runs out: each allocation of a whole round (build, write, read, copy, bind, infer, run)
 * fails in turn. Nothing may crash or leak, and the status must say what happened.
 */
#include "graph/onnx.h"
#include "graph/operator.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* The linker sends the calls of this program's own code here (--wrap). */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_reallocarray(void *old, size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static long until_failure = -1; /* allocations that still succeed; -1: all */

static bool failed;

static bool fails(void) {
  if (until_failure < 0) return false;
  if (until_failure == 0) return failed = true;
  until_failure--;
  return false;
}

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
  return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes) {
  return fails() ? NULL : __real_reallocarray(old, count, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

static hl_status build(hl_graph **ret_graph, hl_error *error) {
  hl_graph *graph;
  hl_status status = hl_graph_new("torture", &graph, error);
  if (status != HL_OK) return status;
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 2, 4, 4}), y, parts[2];
  hl_graph_symbol(graph, x, 0, "batch");
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 4, (int64_t[]){4, 2, 3, 3}, NULL);
  hl_value_id to = hl_graph_constant(graph, "to", HL_INT64, 1, (int64_t[]){2}, (int64_t[]){-1, 18});
  hl_node *node = hl_graph_node(graph, "Conv", "conv", (hl_value_id[]){x, w}, 2, &y, 1);
  hl_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  node = hl_graph_node(graph, "MaxPool", "pool", &y, 1, &y, 1);
  hl_node_set_ints(graph, node, "kernel_shape", (int64_t[]){2, 2}, 2);
  node = hl_graph_node(graph, "Split", "split", &y, 1, parts, 2);
  hl_node_set_int(graph, node, "axis", 1);
  hl_graph_node(graph, "Softmax", "soft", &parts[1], 1, &y, 1);
  hl_graph_node(graph, "Reshape", "shape", (hl_value_id[]){parts[0], to}, 2, &parts[0], 1);
  hl_graph_output(graph, y);
  hl_graph_rename(graph, y, "probabilities");
  hl_graph_output(graph, parts[0]);
  status = hl_graph_status(graph, error);
  if (status == HL_OK)
    *ret_graph = graph;
  else
    hl_graph_free(graph);
  return status;
}

static hl_status reread(const hl_graph *graph, hl_graph **ret_graph, void **ret_data,
                        size_t *ret_bytes, hl_error *error) {
  int fd = memfd_create("torture", MFD_CLOEXEC);
  hl_status status = hl_onnx_write_fd(graph, fd, error);
  *ret_bytes = (size_t)lseek(fd, 0, SEEK_END);
  *ret_data = *ret_bytes ? mmap(NULL, *ret_bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  close(fd);
  if (status != HL_OK) return status;
  return hl_onnx_read_memory(*ret_data, *ret_bytes, "torture", ret_graph, error);
}

static hl_status evaluate(hl_graph *graph, hl_error *error) {
  static float data[2 * 2 * 4 * 4];
  hl_tensor_view in = {.dtype = HL_FLOAT32,
                       .rank = 4,
                       .dims = {2, 2, 4, 4},
                       .data = data,
                       .bytes = sizeof data},
                 out[2] = {0};
  hl_status status = hl_graph_bind_batch(graph, 2, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = hl_graph_evaluate(graph, &in, out, error);
  free(out[0].data);
  free(out[1].data);
  return status;
}

static hl_status round_trip(hl_error *error) {
  hl_graph *graph = NULL, *read = NULL, *copy = NULL;
  void *data = NULL;
  size_t bytes = 0;
  hl_status status = build(&graph, error);
  if (status == HL_OK) status = reread(graph, &read, &data, &bytes, error);
  if (status == HL_OK) status = hl_graph_clone(read, &copy, error);
  if (status == HL_OK) status = evaluate(copy, error);
  hl_graph_free(copy);
  hl_graph_free(read);
  hl_graph_free(graph);
  if (data) munmap(data, bytes);
  return status;
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  long failures = 0;
  for (long n = 0;; n++) {
    hl_error error = {0};
    until_failure = n;
    failed = false;
    hl_status status = round_trip(&error);
    until_failure = -1;
    if (!failed) {
      assert_int_equal(status, HL_OK);
      break;
    }
    if (status == HL_OK) fail_msg("allocation %ld failed and nobody noticed", n);
    /* LIMIT where an arena or a text cannot tell a cap from a lack of memory. */
    if (status != HL_OUT_OF_MEMORY && status != HL_LIMIT)
      fail_msg("allocation %ld: status %d, '%s'", n, (int)status, error.msg);
    assert_true(error.msg[0] != '\0');
    failures++;
  }
  assert_true(failures > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
