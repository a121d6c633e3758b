/*
 * engines/onnxruntime/api.h - the part of ONNX Runtime's C interface that the engine calls.
 *
 * The library exports one function, OrtGetApiBase, which leads to a table of function pointers that
 * only ever grows at its end: a function keeps its place in every later release. So instead of the
 * table's several hundred members this file names the ones in use, each with its place, and
 * `hl_ort_library_open` copies them into a struct of named pointers:
 *
 *     hl_ort_status *failed = library->api.CreateSession(env, path, options, &session);
 *
 * A call that can fail returns NULL on success, else a status that `ReleaseStatus` frees. The
 * places are those of the documented order of OrtApi, onnxruntime_c_api.h; all of them exist
 * since 1.11.
 */
#ifndef HOTLAP_ONNXRUNTIME_API_H
#define HOTLAP_ONNXRUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

/* Opaque there, opaque here. */
typedef struct hl_ort_status hl_ort_status;
typedef struct hl_ort_env hl_ort_env;
typedef struct hl_ort_session hl_ort_session;
typedef struct hl_ort_session_options hl_ort_session_options;
typedef struct hl_ort_value hl_ort_value;
typedef struct hl_ort_binding hl_ort_binding;
typedef struct hl_ort_type hl_ort_type;
typedef struct hl_ort_shape hl_ort_shape;
typedef struct hl_ort_memory hl_ort_memory;
typedef struct hl_ort_allocator hl_ort_allocator;
typedef struct hl_ort_cuda hl_ort_cuda;
typedef struct hl_ort_tensorrt hl_ort_tensorrt;

/* The version of the table that is asked for: release 1.17. */
enum { HL_ORT_API_VERSION = 17 };

typedef enum hl_ort_code {
  HL_ORT_INVALID_ARGUMENT = 2,
  HL_ORT_NO_FILE = 3,
  HL_ORT_INVALID_PROTOBUF = 7,
  HL_ORT_NOT_IMPLEMENTED = 9,
  HL_ORT_INVALID_GRAPH = 10
} hl_ort_code;

typedef enum hl_ort_optimization {
  HL_ORT_DISABLED = 0,
  HL_ORT_BASIC = 1,
  HL_ORT_EXTENDED = 2,
  HL_ORT_ALL = 99
} hl_ort_optimization;

enum { HL_ORT_SEQUENTIAL = 0, HL_ORT_WARNING = 2, HL_ORT_ARENA = 1, HL_ORT_MEMORY_DEFAULT = 0 };

typedef void (*hl_ort_log)(void *context, int severity, const char *category, const char *id,
                           const char *place, const char *message);

/* Place in the table, result, name, arguments. Element types have ONNX's numbers. */
#define HL_ORT_MAP(X)                                                                              \
  X(1, hl_ort_code, GetErrorCode, (const hl_ort_status *))                                         \
  X(2, const char *, GetErrorMessage, (const hl_ort_status *))                                     \
  X(4, hl_ort_status *, CreateEnvWithCustomLogger,                                                 \
    (hl_ort_log, void *context, int severity, const char *id, hl_ort_env **))                      \
  X(6, hl_ort_status *, DisableTelemetryEvents, (const hl_ort_env *))                              \
  X(7, hl_ort_status *, CreateSession,                                                             \
    (const hl_ort_env *, const char *path, const hl_ort_session_options *, hl_ort_session **))     \
  X(10, hl_ort_status *, CreateSessionOptions, (hl_ort_session_options **))                        \
  X(13, hl_ort_status *, SetSessionExecutionMode, (hl_ort_session_options *, int))                 \
  X(14, hl_ort_status *, EnableProfiling, (hl_ort_session_options *, const char *prefix))          \
  X(16, hl_ort_status *, EnableMemPattern, (hl_ort_session_options *))                             \
  X(18, hl_ort_status *, EnableCpuMemArena, (hl_ort_session_options *))                            \
  X(23, hl_ort_status *, SetSessionGraphOptimizationLevel, (hl_ort_session_options *, int))        \
  X(24, hl_ort_status *, SetIntraOpNumThreads, (hl_ort_session_options *, int))                    \
  X(25, hl_ort_status *, SetInterOpNumThreads, (hl_ort_session_options *, int))                    \
  X(30, hl_ort_status *, SessionGetInputCount, (const hl_ort_session *, size_t *))                 \
  X(31, hl_ort_status *, SessionGetOutputCount, (const hl_ort_session *, size_t *))                \
  X(33, hl_ort_status *, SessionGetInputTypeInfo,                                                  \
    (const hl_ort_session *, size_t, hl_ort_type **))                                              \
  X(34, hl_ort_status *, SessionGetOutputTypeInfo,                                                 \
    (const hl_ort_session *, size_t, hl_ort_type **))                                              \
  X(36, hl_ort_status *, SessionGetInputName,                                                      \
    (const hl_ort_session *, size_t, hl_ort_allocator *, char **))                                 \
  X(37, hl_ort_status *, SessionGetOutputName,                                                     \
    (const hl_ort_session *, size_t, hl_ort_allocator *, char **))                                 \
  X(49, hl_ort_status *, CreateTensorWithDataAsOrtValue,                                           \
    (const hl_ort_memory *, void *data, size_t bytes, const int64_t *dims, size_t rank, int dtype, \
     hl_ort_value **))                                                                             \
  X(51, hl_ort_status *, GetTensorMutableData, (hl_ort_value *, void **))                          \
  X(55, hl_ort_status *, CastTypeInfoToTensorInfo, (const hl_ort_type *, const hl_ort_shape **))   \
  X(60, hl_ort_status *, GetTensorElementType, (const hl_ort_shape *, int *dtype))                 \
  X(61, hl_ort_status *, GetDimensionsCount, (const hl_ort_shape *, size_t *))                     \
  X(62, hl_ort_status *, GetDimensions, (const hl_ort_shape *, int64_t *dims, size_t rank))        \
  X(65, hl_ort_status *, GetTensorTypeAndShape, (const hl_ort_value *, hl_ort_shape **))           \
  X(69, hl_ort_status *, CreateCpuMemoryInfo, (int allocator, int memory, hl_ort_memory **))       \
  X(76, hl_ort_status *, AllocatorFree, (hl_ort_allocator *, void *))                              \
  X(78, hl_ort_status *, GetAllocatorWithDefaultOptions, (hl_ort_allocator **))                    \
  X(92, void, ReleaseEnv, (hl_ort_env *))                                                          \
  X(93, void, ReleaseStatus, (hl_ort_status *))                                                    \
  X(94, void, ReleaseMemoryInfo, (hl_ort_memory *))                                                \
  X(95, void, ReleaseSession, (hl_ort_session *))                                                  \
  X(96, void, ReleaseValue, (hl_ort_value *))                                                      \
  X(98, void, ReleaseTypeInfo, (hl_ort_type *))                                                    \
  X(99, void, ReleaseTensorTypeAndShapeInfo, (hl_ort_shape *))                                     \
  X(100, void, ReleaseSessionOptions, (hl_ort_session_options *))                                  \
  X(110, hl_ort_status *, SessionEndProfiling,                                                     \
    (hl_ort_session *, hl_ort_allocator *, char **ret_path))                                       \
  X(125, hl_ort_status *, GetAvailableProviders, (char ***names, int *count))                      \
  X(126, hl_ort_status *, ReleaseAvailableProviders, (char **names, int count))                    \
  X(133, hl_ort_status *, RunWithBinding,                                                          \
    (hl_ort_session *, const void *run_options, const hl_ort_binding *))                           \
  X(134, hl_ort_status *, CreateIoBinding, (hl_ort_session *, hl_ort_binding **))                  \
  X(135, void, ReleaseIoBinding, (hl_ort_binding *))                                               \
  X(136, hl_ort_status *, BindInput, (hl_ort_binding *, const char *name, const hl_ort_value *))   \
  X(137, hl_ort_status *, BindOutput, (hl_ort_binding *, const char *name, const hl_ort_value *))  \
  X(138, hl_ort_status *, BindOutputToDevice,                                                      \
    (hl_ort_binding *, const char *name, const hl_ort_memory *))                                   \
  X(140, hl_ort_status *, GetBoundOutputValues,                                                    \
    (const hl_ort_binding *, hl_ort_allocator *, hl_ort_value ***, size_t *))                      \
  X(170, hl_ort_status *, SessionOptionsAppendExecutionProvider_TensorRT_V2,                       \
    (hl_ort_session_options *, const hl_ort_tensorrt *))                                           \
  X(171, hl_ort_status *, CreateTensorRTProviderOptions, (hl_ort_tensorrt **))                     \
  X(172, hl_ort_status *, UpdateTensorRTProviderOptions,                                           \
    (hl_ort_tensorrt *, const char *const *keys, const char *const *values, size_t count))         \
  X(174, void, ReleaseTensorRTProviderOptions, (hl_ort_tensorrt *))                                \
  X(204, hl_ort_status *, SessionOptionsAppendExecutionProvider_CUDA_V2,                           \
    (hl_ort_session_options *, const hl_ort_cuda *))                                               \
  X(205, hl_ort_status *, CreateCUDAProviderOptions, (hl_ort_cuda **))                             \
  X(206, hl_ort_status *, UpdateCUDAProviderOptions,                                               \
    (hl_ort_cuda *, const char *const *keys, const char *const *values, size_t count))             \
  X(208, void, ReleaseCUDAProviderOptions, (hl_ort_cuda *))

typedef struct hl_ort_api {
#define X(place, result, name, arguments) result(*name) arguments;
  HL_ORT_MAP(X)
#undef X
} hl_ort_api;

/* What OrtGetApiBase() returns. */
typedef struct hl_ort_base {
  const void *(*GetApi)(uint32_t version);
  const char *(*GetVersionString)(void);
} hl_ort_base;

#endif
