/*
 * Reading a hostile checkpoint: refused by an error that names it, or a network, states whose data
 * is all there, and facts.
 */
#include "driver.h"
#include "graph/onnx-checkpoint.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static int fd = -1;

/* The one file that is read, written anew for each input. */
static void open_file(void) {
  if (fd >= 0) return;
  snprintf(path, sizeof path, "/tmp/hotlap-fuzz-checkpoint-%ld", (long)getpid());
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) abort();
}

static void remove_file(void) {
  if (path[0]) unlink(path);
}

/* -- seeds ----------------------------------------------------------------------------------- */

static hl_status read_zeros(void *context, const char *name, hl_tensor_view *ret_view,
                            hl_error *error) {
  static float zeros[16];
  (void)context, (void)error;
  *ret_view = (hl_tensor_view){.name = name, .dtype = HL_FLOAT32, .data = zeros};
  ret_view->bytes = strncmp(name, "w", 1) == 0 ? 8 * sizeof(float) : 2 * sizeof(float);
  return HL_OK;
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const hl_port ports[] = {
      {.name = "w", .dtype = HL_FLOAT32, .rank = 2, .dims = {4, 2}},
      {.name = "b", .dtype = HL_FLOAT32, .rank = 1, .dims = {2}},
      {.name = "w/mean", .dtype = HL_FLOAT32, .rank = 2, .dims = {4, 2}},
      {.name = "b/mean", .dtype = HL_FLOAT32, .rank = 1, .dims = {2}}};
  hl_graph *graph;
  if (index > 1 || hl_graph_new("seed", &graph, NULL) != HL_OK) return 0;
  hl_value_id y = -1,
              in[3] = {hl_graph_input(graph, "x", HL_FLOAT32, 2, (int64_t[]){-1, 4}),
                       hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){4, 2}, NULL),
                       hl_graph_constant(graph, "b", HL_FLOAT32, 1, (int64_t[]){2}, NULL)};
  hl_graph_node(graph, "Gemm", "", in, 3, &y, 1);
  hl_graph_output(graph, y);
  const hl_checkpoint checkpoint = {.facts = "network 00\nloss mse\nstep 7\nepoch 1\nbatch 2\n",
                                    .ports = ports,
                                    .count = index ? HL_COUNT(ports) : 2,
                                    .read = read_zeros};
  char seed[96];
  open_file();
  snprintf(seed, sizeof seed, "%s-seed", path);
  hl_status status = hl_checkpoint_write(graph, &checkpoint, seed, NULL);
  hl_graph_free(graph);
  int from = open(seed, O_RDONLY | O_CLOEXEC);
  ssize_t size = status == HL_OK && from >= 0 ? pread(from, ret_data, capacity, 0) : 0;
  if (from >= 0) close(from);
  unlink(seed);
  if (size <= 0) abort();
  return (size_t)size;
}

/* -- target ---------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_graph *network = NULL, *states = NULL;
  const char *facts = NULL;
  hl_error error = {0};
  static bool registered;
  if (!registered) atexit(remove_file);
  registered = true;
  open_file();
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
  hl_status status = hl_checkpoint_read(path, &network, &states, &facts, &error);
  if (status != HL_OK) {
    if (error.status != status || !strstr(error.msg, path)) abort();
    return 0;
  }
  if (!network || !states || !facts) abort();
  volatile size_t sum = strlen(facts);
  for (size_t v = 0; v < states->value_count; v++) {
    const hl_value *value = &states->values[v];
    const unsigned char *bytes = value->data;
    for (uint64_t i = 0; bytes && i < value->bytes; i++) sum = sum + bytes[i]; /* all is there */
  }
  hl_graph_free(states);
  hl_graph_free(network);
  return 0;
}
