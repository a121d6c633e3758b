/*
 * engines/openvino/api.h - the part of OpenVINO's C interface that the engine calls.
 *
 * Own declarations of what openvino/c/openvino.h declares, so that nothing of OpenVINO is needed to
 * build. `hl_ov_library_open` fills a struct of pointers that are named as the functions are, less
 * their prefix `ov_`:
 *
 *     if (library->api.core_create(&core) != HL_OV_OK) ...
 *
 * Every function here exists in 2024.6 and has not changed since. The numbers of element types
 * have: see library.h.
 */
#ifndef HOTLAP_OPENVINO_API_H
#define HOTLAP_OPENVINO_API_H

#include <stddef.h>
#include <stdint.h>

/* Opaque there, opaque here. */
typedef struct hl_ov_core hl_ov_core;
typedef struct hl_ov_model hl_ov_model;
typedef struct hl_ov_port hl_ov_port;
typedef struct hl_ov_compiled hl_ov_compiled;
typedef struct hl_ov_infer_request hl_ov_infer_request;
typedef struct hl_ov_tensor hl_ov_tensor;

typedef enum hl_ov_status {
  HL_OV_OK = 0,
  HL_OV_NOT_IMPLEMENTED = -2,
  HL_OV_PARAMETER_MISMATCH = -4,
  HL_OV_NOT_FOUND = -5
} hl_ov_status;

typedef struct hl_ov_version {
  const char *build; /* "2026.4.1-22982-..." */
  const char *description;
} hl_ov_version;

typedef struct hl_ov_devices {
  char **names;
  size_t count;
} hl_ov_devices;

/* Inclusive limits; equal where the dimension is known. */
typedef struct hl_ov_dimension {
  int64_t min, max;
} hl_ov_dimension;

typedef struct hl_ov_shape {
  int64_t rank;
  int64_t *dims;
} hl_ov_shape;

typedef struct hl_ov_partial_shape {
  hl_ov_dimension rank;
  hl_ov_dimension *dims;
} hl_ov_partial_shape;

/* Of a node: whether it ran, and for how many microseconds. */
typedef struct hl_ov_node_time {
  int status; /* HL_OV_EXECUTED, or it did not */
  int64_t real_us, cpu_us;
  const char *name, *exec_type, *type;
} hl_ov_node_time;
enum { HL_OV_EXECUTED = 2 };

typedef struct hl_ov_node_times {
  hl_ov_node_time *nodes;
  size_t count;
} hl_ov_node_times;

/* Result, name, arguments. `compile_model` takes `property_count` strings after its last named
 * argument, key and value in turns. */
#define HL_OV_MAP(X)                                                                               \
  X(hl_ov_status, get_openvino_version, (hl_ov_version *))                                         \
  X(void, version_free, (hl_ov_version *))                                                         \
  X(const char *, get_error_info, (hl_ov_status))                                                  \
  X(const char *, get_last_err_msg, (void))                                                        \
  X(void, free, (const char *))                                                                    \
  X(hl_ov_status, core_create, (hl_ov_core **))                                                    \
  X(void, core_free, (hl_ov_core *))                                                               \
  X(hl_ov_status, core_get_available_devices, (const hl_ov_core *, hl_ov_devices *))               \
  X(void, available_devices_free, (hl_ov_devices *))                                               \
  X(hl_ov_status, core_get_property,                                                               \
    (const hl_ov_core *, const char *device, const char *key, char **value))                       \
  X(hl_ov_status, core_read_model,                                                                 \
    (const hl_ov_core *, const char *path, const char *weights, hl_ov_model **))                   \
  X(hl_ov_status, core_compile_model,                                                              \
    (const hl_ov_core *, const hl_ov_model *, const char *device, size_t property_count,           \
     hl_ov_compiled **, ...))                                                                      \
  X(void, model_free, (hl_ov_model *))                                                             \
  X(hl_ov_status, model_inputs_size, (const hl_ov_model *, size_t *))                              \
  X(hl_ov_status, model_outputs_size, (const hl_ov_model *, size_t *))                             \
  X(hl_ov_status, model_const_input_by_index, (const hl_ov_model *, size_t, hl_ov_port **))        \
  X(hl_ov_status, model_const_output_by_index, (const hl_ov_model *, size_t, hl_ov_port **))       \
  X(hl_ov_status, model_reshape,                                                                   \
    (const hl_ov_model *, const char **names, const hl_ov_partial_shape *, size_t count))          \
  X(hl_ov_status, port_get_any_name, (const hl_ov_port *, char **))                                \
  X(hl_ov_status, port_get_element_type, (const hl_ov_port *, int *))                              \
  X(hl_ov_status, port_get_partial_shape, (const hl_ov_port *, hl_ov_partial_shape *))             \
  X(void, output_const_port_free, (hl_ov_port *))                                                  \
  X(void, partial_shape_free, (hl_ov_partial_shape *))                                             \
  X(hl_ov_status, shape_free, (hl_ov_shape *))                                                     \
  X(void, compiled_model_free, (hl_ov_compiled *))                                                 \
  X(hl_ov_status, compiled_model_get_property, (const hl_ov_compiled *, const char *, char **))    \
  X(hl_ov_status, compiled_model_input_by_name,                                                    \
    (const hl_ov_compiled *, const char *name, hl_ov_port **))                                     \
  X(hl_ov_status, compiled_model_output_by_index, (const hl_ov_compiled *, size_t, hl_ov_port **)) \
  X(hl_ov_status, compiled_model_create_infer_request,                                             \
    (const hl_ov_compiled *, hl_ov_infer_request **))                                              \
  X(void, infer_request_free, (hl_ov_infer_request *))                                             \
  X(hl_ov_status, infer_request_set_tensor_by_const_port,                                          \
    (hl_ov_infer_request *, const hl_ov_port *, const hl_ov_tensor *))                             \
  X(hl_ov_status, infer_request_set_output_tensor_by_index,                                        \
    (hl_ov_infer_request *, size_t, const hl_ov_tensor *))                                         \
  X(hl_ov_status, infer_request_get_output_tensor_by_index,                                        \
    (const hl_ov_infer_request *, size_t, hl_ov_tensor **))                                        \
  X(hl_ov_status, infer_request_infer, (hl_ov_infer_request *))                                    \
  X(hl_ov_status, infer_request_start_async, (hl_ov_infer_request *))                              \
  X(hl_ov_status, infer_request_wait, (hl_ov_infer_request *))                                     \
  X(hl_ov_status, infer_request_get_profiling_info,                                                \
    (const hl_ov_infer_request *, hl_ov_node_times *))                                             \
  X(void, profiling_info_list_free, (hl_ov_node_times *))                                          \
  X(hl_ov_status, tensor_create, (int type, hl_ov_shape, hl_ov_tensor **))                         \
  X(hl_ov_status, tensor_create_from_host_ptr, (int type, hl_ov_shape, void *, hl_ov_tensor **))   \
  X(hl_ov_status, tensor_get_element_type, (const hl_ov_tensor *, int *))                          \
  X(hl_ov_status, tensor_get_shape, (const hl_ov_tensor *, hl_ov_shape *))                         \
  X(hl_ov_status, tensor_get_byte_size, (const hl_ov_tensor *, size_t *))                          \
  X(hl_ov_status, tensor_data, (const hl_ov_tensor *, void **))                                    \
  X(void, tensor_free, (hl_ov_tensor *))

typedef struct hl_ov_api {
#define X(result, name, arguments) result(*name) arguments;
  HL_OV_MAP(X)
#undef X
} hl_ov_api;

#endif
