/*
 * python/python.h - what hotlap-python.so gives to python/hotlap/engines, through ctypes.
 *
 * The interpreter is a worker that has replaced itself (worker/python.h), or one that `hotlap
 * engines` asks (engine/look.h). It calls these from its main thread.
 */
#ifndef HL_PYTHON_PYTHON_H
#define HL_PYTHON_PYTHON_H

#include <hotlap/engine.h>
#include <stdbool.h>

#define HL_PYTHON_EXPORT __attribute__((visibility("default")))

/* Sizes of the structs of engine.h, in the order of STRUCTS in
 * python/hotlap/engines/abi.py, which has to agree. */
HL_PYTHON_EXPORT size_t hl_python_sizes(uint64_t *ret_sizes, size_t capacity);

/* Goes on as a worker with `ops` as its engine. `directory` is that of the hotlap program. Never
 * returns. */
HL_PYTHON_EXPORT int hl_python_worker(const hl_engine_ops *ops, const char *directory, int in,
                                      int out, int requests);

/* Answers hl_engine_look into `fd` and ends the process. */
HL_PYTHON_EXPORT void hl_python_look(const hl_engine_ops *ops, const char *directory, int fd,
                                     bool tables_only);

/* Opens an ONNX file. With `inputs` (one for each input of the model, every dimension known) what
 * follows from their shapes is worked out, without them what the file declares. NULL: `error` is
 * filled, also for an attribute that JSON cannot hold. What it holds lies in memory until it is
 * closed. */
typedef struct hl_graph hl_python_graph;
HL_PYTHON_EXPORT hl_python_graph *hl_python_graph_open(const char *path, const hl_port *inputs,
                                                       size_t input_count, hl_error *error);
/* Its nodes, values and where their data lies, as JSON (see graph.c); NULL without memory. free()
 * it with hl_python_free. */
HL_PYTHON_EXPORT char *hl_python_graph_text(const hl_python_graph *graph);
/* Gives back the memory behind what was read of the file; what is read again comes from it again.
 */
HL_PYTHON_EXPORT void hl_python_graph_drop(const hl_python_graph *graph);
HL_PYTHON_EXPORT void hl_python_graph_close(hl_python_graph *graph);
HL_PYTHON_EXPORT void hl_python_free(char *text);

#endif
