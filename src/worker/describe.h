/* What the verb `configure` says of the model. */
#ifndef HL_WORKER_DESCRIBE_H
#define HL_WORKER_DESCRIBE_H

#include "protocol/channel.h"
#include "workloads/model-file.h"

void hl_worker_describe_model(const hl_model_file *file, int64_t batch, json_t *reply);

#endif
