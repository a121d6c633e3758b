/*
 * Stands in for ONNX Runtime's library. The environment variable FAKE says how it behaves:
 *   crash, hang, exit    on being opened
 *   version=V            it is release V; 1.99.0 otherwise
 *   gpu                  it has the providers for CUDA and TensorRT, and says what it was asked for
 *   refuse               it rejects every model, in 3000 letters
 * A model is an input `input` and an output `output` of N x 8 numbers, and a step copies.
 */
#include "onnxruntime/api.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { table_length = 400, width = 8, most_batch = 64 };

/* Everything opaque is this. */
typedef struct thing {
  char text[3200];
  const float *in;
  float *out;
  int64_t batch;
} thing;

static hl_ort_log logger;
static void *logger_context;

static const char *fake(void) {
  const char *how = getenv("FAKE");
  return how ? how : "";
}

__attribute__((constructor)) static void on_open(void) {
  if (strcmp(fake(), "crash") == 0) raise(SIGSEGV);
  if (strcmp(fake(), "exit") == 0) _exit(5);
  while (strcmp(fake(), "hang") == 0) pause();
}

static void *new_thing(void) {
  return calloc(1, sizeof(thing));
}

static hl_ort_status *failure(const char *text) {
  thing *status = new_thing();
  snprintf(status->text, sizeof status->text, "%s", text);
  return (hl_ort_status *)status;
}

static hl_ort_code get_code(const hl_ort_status *status) {
  (void)status;
  return 1;
}
static const char *get_message(const hl_ort_status *status) {
  return ((const thing *)status)->text;
}
static hl_ort_status *create_env(hl_ort_log log, void *context, int severity, const char *id,
                                 hl_ort_env **ret) {
  (void)severity, (void)id;
  logger = log;
  logger_context = context;
  *ret = new_thing();
  return NULL;
}
static hl_ort_status *make(void **ret) {
  *ret = new_thing();
  return NULL;
}
static hl_ort_status *nothing(void) {
  return NULL;
}
static void release(void *what) {
  free(what);
}
static hl_ort_status *create_session(const hl_ort_env *env, const char *path,
                                     const hl_ort_session_options *options, hl_ort_session **ret) {
  (void)env, (void)path, (void)options;
  if (strcmp(fake(), "refuse") == 0) {
    char text[3001];
    memset(text, 'x', sizeof text);
    memcpy(text, "This is an invalid model,\nthe fake says: ", 41);
    memcpy(text + 2990, "that is it", 11);
    return failure(text);
  }
  logger(logger_context, HL_ORT_WARNING, "", "", "here",
         "Some nodes were not assigned to the preferred execution providers");
  *ret = new_thing();
  return NULL;
}
static hl_ort_status *count_one(const hl_ort_session *session, size_t *ret) {
  (void)session;
  *ret = 1;
  return NULL;
}
static hl_ort_status *type_info(const hl_ort_session *session, size_t index, hl_ort_type **ret) {
  (void)session, (void)index;
  *ret = new_thing();
  return NULL;
}
static hl_ort_status *input_name(const hl_ort_session *session, size_t index, hl_ort_allocator *a,
                                 char **ret) {
  (void)session, (void)index, (void)a;
  *ret = strdup("input");
  return NULL;
}
static hl_ort_status *output_name(const hl_ort_session *session, size_t index, hl_ort_allocator *a,
                                  char **ret) {
  (void)session, (void)index, (void)a;
  *ret = strdup("output");
  return NULL;
}
static hl_ort_status *to_shape(const hl_ort_type *type, const hl_ort_shape **ret) {
  *ret = (const hl_ort_shape *)type;
  return NULL;
}
static hl_ort_status *element_type(const hl_ort_shape *shape, int *ret) {
  (void)shape;
  *ret = 1;
  return NULL;
}
static hl_ort_status *rank_of(const hl_ort_shape *shape, size_t *ret) {
  (void)shape;
  *ret = 2;
  return NULL;
}
static hl_ort_status *dims_of(const hl_ort_shape *shape, int64_t *dims, size_t rank) {
  const thing *t = (const thing *)shape;
  if (rank == 2) dims[0] = t->batch ? t->batch : -1;
  if (rank == 2) dims[1] = width;
  return NULL;
}
static hl_ort_status *wrap(const hl_ort_memory *memory, void *data, size_t bytes,
                           const int64_t *dims, size_t rank, int dtype, hl_ort_value **ret) {
  (void)memory, (void)bytes, (void)rank, (void)dtype;
  thing *value = new_thing();
  value->in = data;
  value->batch = dims[0];
  *ret = (hl_ort_value *)value;
  return NULL;
}
static hl_ort_status *bind_input(hl_ort_binding *binding, const char *name, const hl_ort_value *v) {
  (void)name;
  ((thing *)binding)->in = ((const thing *)v)->in;
  ((thing *)binding)->batch = ((const thing *)v)->batch;
  return NULL;
}
static float outputs[most_batch * width];
static hl_ort_status *step(hl_ort_session *session, const void *options, const hl_ort_binding *b) {
  (void)session, (void)options;
  const thing *binding = (const thing *)b;
  memcpy(outputs, binding->in, (size_t)binding->batch * width * sizeof *outputs);
  return NULL;
}
static hl_ort_status *bound_outputs(const hl_ort_binding *binding, hl_ort_allocator *a,
                                    hl_ort_value ***ret, size_t *ret_count) {
  (void)a;
  thing *value = new_thing();
  value->batch = ((const thing *)binding)->batch;
  *ret = malloc(sizeof **ret);
  (*ret)[0] = (hl_ort_value *)value;
  *ret_count = 1;
  return NULL;
}
static hl_ort_status *shape_of(const hl_ort_value *value, hl_ort_shape **ret) {
  thing *shape = new_thing();
  shape->batch = ((const thing *)value)->batch;
  *ret = (hl_ort_shape *)shape;
  return NULL;
}
static hl_ort_status *data_of(hl_ort_value *value, void **ret) {
  (void)value;
  *ret = outputs;
  return NULL;
}
static hl_ort_status *free_it(hl_ort_allocator *a, void *what) {
  (void)a;
  free(what);
  return NULL;
}

/* -- providers ------------------------------------------------------------------------------ */

static char *provider_names[] = {"TensorrtExecutionProvider", "CUDAExecutionProvider",
                                 "CPUExecutionProvider"};
static hl_ort_status *list(char ***ret, int *ret_count) {
  int skipped = strcmp(fake(), "gpu") == 0 ? 0 : 2;
  *ret = provider_names + skipped;
  *ret_count = 3 - skipped;
  return NULL;
}
static hl_ort_status *make_gpu(void **ret) {
  if (strcmp(fake(), "gpu") != 0) return failure("The fake has no GPU provider in this build.");
  *ret = new_thing();
  return NULL;
}
static hl_ort_status *update(void *what, const char *const *keys, const char *const *values,
                             size_t count) {
  thing *options = what;
  for (size_t i = 0; i < count; i++) {
    size_t used = strlen(options->text);
    snprintf(options->text + used, sizeof options->text - used, " %s=%s", keys[i], values[i]);
  }
  return NULL;
}
static hl_ort_status *append(hl_ort_session_options *session, const thing *options,
                             const char *name) {
  (void)session;
  const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
  char line[300];
  snprintf(line, sizeof line, "%s:%.200s tf32=%s", name, options->text, tf32 ? tf32 : "unset");
  if (strstr(options->text, "device_id=9")) return failure("invalid device ordinal");
  logger(logger_context, HL_ORT_WARNING, "", "", "fake", line);
  return NULL;
}
static hl_ort_status *append_tensorrt(hl_ort_session_options *s, const hl_ort_tensorrt *options) {
  return append(s, (const thing *)options, "TensorRT");
}
static hl_ort_status *append_cuda(hl_ort_session_options *s, const hl_ort_cuda *options) {
  return append(s, (const thing *)options, "CUDA");
}

static hl_ort_status *make_binding(hl_ort_session *session, hl_ort_binding **ret) {
  (void)session;
  *ret = new_thing();
  return NULL;
}

typedef void (*any)(void);

static const void *get_api(uint32_t version) {
  static any table[table_length];
  static const struct {
    int place;
    any function;
  } rows[] = {{1, (any)get_code},       {2, (any)get_message},     {4, (any)create_env},
              {7, (any)create_session}, {10, (any)make},           {30, (any)count_one},
              {31, (any)count_one},     {33, (any)type_info},      {34, (any)type_info},
              {36, (any)input_name},    {37, (any)output_name},    {49, (any)wrap},
              {51, (any)data_of},       {55, (any)to_shape},       {60, (any)element_type},
              {61, (any)rank_of},       {62, (any)dims_of},        {65, (any)shape_of},
              {76, (any)free_it},       {92, (any)release},        {93, (any)release},
              {95, (any)release},       {96, (any)release},        {98, (any)release},
              {99, (any)release},       {100, (any)release},       {125, (any)list},
              {133, (any)step},         {134, (any)make_binding},  {135, (any)release},
              {136, (any)bind_input},   {140, (any)bound_outputs}, {170, (any)append_tensorrt},
              {171, (any)make_gpu},     {172, (any)update},        {174, (any)release},
              {204, (any)append_cuda},  {205, (any)make_gpu},      {206, (any)update},
              {208, (any)release}};
  if (version > 99) return NULL;
  for (size_t i = 0; i < table_length; i++) table[i] = (any)nothing;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) table[rows[i].place] = rows[i].function;
  return table;
}

static const char *get_version(void) {
  return strncmp(fake(), "version=", 8) == 0 ? fake() + 8 : "1.99.0";
}

EXPORT const hl_ort_base *OrtGetApiBase(void);

EXPORT const hl_ort_base *OrtGetApiBase(void) {
  static const hl_ort_base base = {get_api, get_version};
  return &base;
}
