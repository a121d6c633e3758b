/* What hotlap predict shows. */
#ifndef HL_CLI_PREDICT_VIEW_H
#define HL_CLI_PREDICT_VIEW_H

#include "run/predict.h"

/* A line for the volume that was predicted last: an hl_predict_view's hook. */
void hl_cli_predict_volume(void *context, const hl_predict_result *result);

/* The table of parts, on standard output. */
void hl_cli_predict_text(const hl_predict_request *request, const hl_predict_result *result);

/* The document of schema hotlap.prediction/1; `failure` NULL: all went well. */
void hl_cli_predict_json(const hl_predict_request *request, const hl_predict_result *result,
                         const hl_error *failure);

#endif
