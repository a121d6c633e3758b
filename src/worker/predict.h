/*
 * worker/predict.h - the verbs `volumes` and `predict`: whole volumes through the network, window
 * by window.
 */
#ifndef HL_WORKER_PREDICT_H
#define HL_WORKER_PREDICT_H

#include "protocol/channel.h"
#include "workloads/prediction.h"

/* Cuts the batch of a worker that is to be configured to what the volumes of `request`, as of
 * hl_worker_volumes, have windows for, and replies with it. Their failures are said here already.
 */
hl_status hl_worker_volumes_cut(const json_t *request, const hl_model_file *file,
                                hl_configuration *configuration, json_t *reply, hl_error *error);

/* Opens the volumes that the request names (docs/protocol.md) and replies with how many there are.
 * `ret_prediction` is NULL before; hl_prediction_free() it. */
hl_status hl_worker_volumes(hl_inference *inference, const json_t *request, json_t *reply,
                            hl_prediction **ret_prediction, hl_error *error);

/* Predicts one of them and replies with the times. */
hl_status hl_worker_predict(hl_prediction *prediction, const json_t *request, json_t *reply,
                            hl_error *error);

#endif
