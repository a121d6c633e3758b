/*
 * graph/onnx-checkpoint.h - a network in training as one ONNX file, with all that going on needs.
 *
 *     const hl_checkpoint checkpoint = {.facts = json, .ports = states, .count = n,
 *                                       .read = read_state, .context = program};
 *     hl_checkpoint_write(network, &checkpoint, "net.onnx", error);
 *     ...
 *     hl_graph *network, *states;
 *     const char *facts;
 *     hl_checkpoint_read("net.onnx", &network, &states, &facts, error);
 *
 * States with the name of an initialiser are the trained weights and stand there, so that the file
 * is a model like any other. The rest (the optimiser's) stands in ModelProto's field training_info,
 * where ONNX has a place for it: initialisers of its `algorithm` graph, whose doc_string holds the
 * facts. One file, since two could not be replaced together: a crash between them would leave
 * weights without their optimiser. Not thread-safe.
 */
#ifndef HL_GRAPH_ONNX_CHECKPOINT_H
#define HL_GRAPH_ONNX_CHECKPOINT_H

#include "graph/graph.h"

typedef struct hl_checkpoint {
  const char *facts;    /* text that says where training stands */
  const hl_port *ports; /* of all states, float32 */
  size_t count;
  /* The data of a state, valid until the next call. */
  hl_status (*read)(void *context, const char *name, hl_tensor_view *ret_view, hl_error *error);
  void *context;
} hl_checkpoint;

/* Replaces `path` atomically: on failure, also of a full disk, what was there stays. LIMIT beyond
 * 2 GB, which other readers of ONNX do not take. */
hl_status hl_checkpoint_write(const hl_graph *network, const hl_checkpoint *checkpoint,
                              const char *path, hl_error *error);

/* Reads one back: the network with its weights, the other states as constants of a graph of their
 * own, and the facts, which belong to `ret_states`. BAD_DATA for a model that is no checkpoint, or
 * was cut short; as hl_onnx_read. */
hl_status hl_checkpoint_read(const char *path, hl_graph **ret_network, hl_graph **ret_states,
                             const char **ret_facts, hl_error *error);

#endif
