/*
 * workloads/foreign-model.h - a model that is no ONNX file: its engine gets it, and says what it
 * is.
 *
 * What an ONNX file would say is known only once the engine has loaded the model, so this comes
 * before anything that needs ports:
 *
 *     hl_foreign_model_open(configuration, host, &file, error);     opens the engine
 *     hl_foreign_model_load(configuration, &file, error);           loads the model, fills `file`
 *     hl_inference_open(configuration, &file, host, &in, error);    takes the engine over
 *     hl_inference_load(&in, error);                                and the model
 */
#ifndef HL_WORKLOADS_FOREIGN_MODEL_H
#define HL_WORKLOADS_FOREIGN_MODEL_H

#include "workloads/model-file.h"

/* An engine that waits, with its model, for the workload that takes it over. */
typedef struct hl_foreign_model {
  hl_engine_ops ops;
  hl_host *host;
  hl_engine *engine;
  hl_model *model;
  bool engine_taken, model_taken; /* they belong to somebody else now */
} hl_foreign_model;

/* Opens the engine of the configuration and gives `ret_file` a foreign model. UNIMPLEMENTED where
 * the engine takes ONNX files only. `host` is copied. */
hl_status hl_foreign_model_open(const hl_configuration *configuration, const hl_host *host,
                                hl_model_file *ret_file, hl_error *error);

/* Loads the model and describes it in `file`, which stays to be released also on failure. */
hl_status hl_foreign_model_load(const hl_configuration *configuration, hl_model_file *file,
                                hl_error *error);

/* Writes the loaded model as an ONNX file. UNIMPLEMENTED where the engine cannot. */
hl_status hl_foreign_model_export(const hl_model_file *file, const char *path, hl_error *error);

/* Closes what nobody has taken over; NULL is allowed. */
void hl_foreign_model_free(hl_foreign_model *foreign);

/* Any model for any engine: takes over what is loaded if `engine` has done so, else loads it. */
hl_status hl_model_load(const hl_configuration *configuration, const hl_model_file *file,
                        const hl_engine_ops *ops, hl_engine *engine, hl_model **ret_model,
                        hl_error *error);

#endif
