#include "workloads/open-engine.h"

#include "base/text.h"
#include "engine/registry.h"
#include "workloads/foreign-model.h"
#include "workloads/split.h"
#include <stdlib.h>
#include <string.h>

/* A provider is the user's wish: an engine without any cannot quietly leave it out. */
static hl_status check_provider(const hl_engine_ops *ops, const char *provider, hl_error *error) {
  if (!provider) return HL_OK;
  hl_text names = HL_TEXT_INIT;
  bool found = false;
  for (const char *const *name = ops->providers; name && *name && !found; name++) {
    found = strcmp(*name, provider) == 0;
    hl_text_format(&names, "%s%s", names.length ? ", " : "", *name);
  }
  hl_status status = HL_OK;
  if (!ops->providers && strcmp(provider, "cpu") != 0)
    status = hl_error_set(error, HL_UNAVAILABLE,
                          "engine %s has no execution providers; --provider %s is for onnxruntime",
                          ops->name, provider);
  else if (ops->providers && !found)
    status =
        hl_error_set(error, HL_INVALID_ARGUMENT, "--provider: engine %s has no '%s'; it has %s",
                     ops->name, provider, names.data);
  hl_text_release(&names);
  return status;
}

static hl_status open_with(const hl_configuration *c, const hl_model_file *file, hl_host *host,
                           hl_engine_ops *ret_ops, hl_engine **ret_engine, hl_error *error) {
  for (size_t i = 0; i < c->engine_option_count; i++)
    if (strcmp(c->engine_options[i].key, "library") == 0)
      host->library = c->engine_options[i].value;
  hl_status status = hl_engine_find(c->engine, c->plugins, c->plugin_count, ret_ops, NULL, error);
  if (status == HL_OK) status = check_provider(ret_ops, c->provider, error);
  if (status == HL_OK) status = ret_ops->probe(host, error);
  if (status != HL_OK) return status;
  const hl_engine_config config = {.size = sizeof config,
                                   .threads = (int32_t)c->threads,
                                   .device = c->device,
                                   .options = c->engine_options,
                                   .option_count = c->engine_option_count,
                                   .provider = c->provider};
  if (hl_device_is_split(c->device))
    return hl_split_open(ret_ops, file, host, &config, ret_engine, error);
  return ret_ops->open(host, &config, ret_engine, error);
}

hl_status hl_open_engine(const hl_configuration *configuration, const hl_model_file *file,
                         const hl_host *host, hl_engine_ops *ret_ops, hl_host **ret_host,
                         hl_engine **ret_engine, hl_error *error) {
  hl_foreign_model *foreign = file ? file->foreign : NULL;
  if (foreign && !foreign->engine_taken) {
    foreign->engine_taken = true;
    *ret_ops = foreign->ops;
    *ret_host = foreign->host;
    *ret_engine = foreign->engine;
    return HL_OK;
  }
  hl_host *copy = calloc(1, sizeof *copy);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the engine");
  *copy = host ? *host : (hl_host){.abi = HL_ENGINE_ABI, .size = sizeof *copy};
  hl_status status = open_with(configuration, file, copy, ret_ops, ret_engine, error);
  if (status == HL_OK)
    *ret_host = copy;
  else
    free(copy);
  return status;
}
