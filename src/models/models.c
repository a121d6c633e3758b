#include "models/models.h"

#include "base/text.h"
#include "models/network.h"
#include <string.h>

const hl_builtin_model *hl_models_at(size_t index) {
  const hl_model_row *row = hl_model_row_at(index);
  return row ? &row->model : NULL;
}

const hl_builtin_model *hl_models_find(const char *spec) {
  const hl_model_row *row = hl_model_row_find(spec);
  return row ? &row->model : NULL;
}

bool hl_models_has(const char *spec) {
  return hl_model_row_find(spec) != NULL;
}

hl_status hl_models_canonical(const char *spec, char **ret_spec, hl_error *error) {
  hl_model_spec parsed;
  hl_status status = hl_model_spec_parse(spec, &parsed, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, parsed.row->model.name);
  char before = ':';
  const hl_model_parameter *list = parsed.row->model.parameters;
  for (size_t i = 0; list[i].key; i++) {
    if (strcmp(parsed.text[i], list[i].value) == 0) continue;
    hl_text_format(&text, "%c%s=%s", before, list[i].key, parsed.text[i]);
    before = ',';
  }
  char *canonical = hl_text_take(&text);
  if (!canonical) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a model's name");
  *ret_spec = canonical;
  return HL_OK;
}

hl_status hl_models_build(const char *spec, uint64_t seed, hl_graph **ret_graph, hl_error *error) {
  hl_model_spec parsed;
  hl_status status = hl_model_spec_parse(spec, &parsed, error);
  if (status != HL_OK) return status;
  hl_graph *graph;
  status = hl_graph_new(parsed.row->model.name, &graph, error);
  if (status != HL_OK) return status;
  parsed.row->build(&(hl_network){.graph = graph, .spec = &parsed, .seed = seed});
  status = hl_graph_status(graph, error);
  if (status == HL_OK) status = hl_graph_sort(graph, error);
  if (status == HL_OK) status = hl_graph_resolve(graph, error);
  if (status != HL_OK) {
    hl_graph_free(graph);
    hl_error_prefix(error, "model '%s'", parsed.row->model.name);
    return status;
  }
  *ret_graph = graph;
  return HL_OK;
}

int64_t hl_models_patterns_per_input(const char *spec) {
  hl_model_spec parsed;
  if (hl_model_spec_parse(spec, &parsed, NULL) != HL_OK) return 1;
  const hl_model_parameter *list = parsed.row->model.parameters;
  for (size_t i = 0; list[i].key; i++)
    if (strcmp(list[i].key, "gridsize") == 0) {
      int64_t grid = hl_model_int(&parsed, "gridsize");
      return grid * grid;
    }
  return 1;
}
