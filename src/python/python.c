#include "python/python.h"

#include "base/file.h"
#include "engine/look.h"
#include "engine/python.h"
#include "worker/worker.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

size_t hl_python_sizes(uint64_t *ret_sizes, size_t capacity) {
  static const uint64_t sizes[] = {
      sizeof(hl_error),        sizeof(hl_tensor_view),   sizeof(hl_port),
      sizeof(hl_host),         sizeof(hl_engine_config), sizeof(hl_model_source),
      sizeof(hl_model_info),   sizeof(hl_model_facts),   sizeof(hl_training_spec),
      sizeof(hl_program_spec), sizeof(hl_engine_memory), sizeof(hl_compilations),
      sizeof(hl_span),         sizeof(hl_engine_ops)};
  for (size_t i = 0; i < HL_COUNT(sizes) && i < capacity; i++) ret_sizes[i] = sizes[i];
  return HL_COUNT(sizes);
}

int hl_python_worker(const hl_engine_ops *ops, const char *directory, int in, int out,
                     int requests) {
  hl_python_hold(ops);
  hl_program_directory_set(directory);
  fcntl(in, F_SETFD, FD_CLOEXEC); /* not for what the engine may start */
  fcntl(out, F_SETFD, FD_CLOEXEC);
  return hl_worker_resume(&(hl_worker_handover){.in = in, .out = out, .requests = requests});
}

void hl_python_look(const hl_engine_ops *ops, const char *directory, int fd, bool tables_only) {
  hl_python_hold(ops);
  hl_program_directory_set(directory);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  hl_engine_look_answer(&(hl_engine_question){.name = ops->name, .tables_only = tables_only}, fd);
  _exit(1);
}

void hl_python_free(char *text) {
  free(text);
}
