/* What the worker says of the model. */
#ifndef HL_WORKER_DESCRIBE_H
#define HL_WORKER_DESCRIBE_H

#include "data/data.h"
#include "protocol/channel.h"
#include "workloads/model-file.h"

/* The verb `configure`. */
/* What the verb `prepare` says of a program: how long it was compiled, where the engine tells. */
void hl_worker_describe_program(const hl_engine_ops *ops, hl_program *program, json_t *reply);

void hl_worker_describe_model(const hl_model_file *file, int64_t batch, json_t *reply);

/* The declared shape of an output with one image in the place of the batch, a new reference; null
 * where `elements`, which belong to the first image, are not all of that. */
json_t *hl_worker_output_shape(const hl_model_file *file, size_t output, size_t elements);

/* The verb `plan`. */
void hl_worker_describe_plan(const hl_program_plan *plan, bool known, json_t *reply);

/* The verb `quantize`: the 8-bit copy, made unless the cache has it. */
hl_status hl_worker_quantize(const hl_configuration *configuration, const hl_model_file *file,
                             const char *cache_directory, json_t *reply, hl_error *error);

/* How a folder of pictures was read. */
void hl_worker_describe_pictures(const hl_dataset *dataset, json_t *reply);

/* The name of a row's type is what its products are computed in: UNIMPLEMENTED where the model is
 * quantised and that is not int8, or the other way. */
hl_status hl_worker_check_type(const hl_model_file *file, const hl_configuration *configuration,
                               hl_error *error);

#endif
