#include "cli/knowledge.h"

#include "engine/registry.h"
#include <stdlib.h>
#include <string.h>

const char *hl_cli_library_of(const hl_options *options, const char *engine) {
  const char *text, *found = NULL;
  for (size_t i = 0; engine && (text = hl_options_at(options, HL_OPTION_ENGINE_LIBRARY, i)); i++) {
    size_t length = hl_plan_scope(text);
    if (length == strlen(engine) && strncmp(text, engine, length) == 0) found = text + length + 1;
  }
  return found;
}

hl_status hl_cli_check_libraries(const hl_options *options, hl_error *error) {
  const char *text;
  for (size_t i = 0; (text = hl_options_at(options, HL_OPTION_ENGINE_LIBRARY, i)); i++) {
    size_t length = hl_plan_scope(text);
    bool known = false;
    const char *name;
    for (size_t k = 0; (name = hl_engine_builtin(k)); k++)
      known = known || (length == strlen(name) && strncmp(text, name, length) == 0);
    if (!known)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--engine-library: '%s' is not ENGINE=PATH with the name of an engine, "
                          "such as openvino=%.*s",
                          text, (int)strnlen(text, 200), text);
  }
  return HL_OK;
}

/* Who gives an engine less time to load gives it no more for this. */
static double limit_of(const hl_options *options) {
  double most_s = HL_CLI_LOOK_S;
  if (!hl_options_given(options, HL_OPTION_SETUP_TIMEOUT)) return most_s;
  hl_options_real(options, HL_OPTION_SETUP_TIMEOUT, 0.001, HL_CLI_LOOK_S, 0, &most_s, NULL);
  return most_s;
}

static void look(const hl_knowledge *k, const char *engine, bool tables_only,
                 hl_engine_finding *ret_finding) {
  size_t plugins = 0;
  while (hl_options_at(k->options, HL_OPTION_PLUGIN, plugins)) plugins++;
  const char **paths = calloc(plugins + 1, sizeof *paths);
  for (size_t i = 0; paths && i < plugins; i++)
    paths[i] = hl_options_at(k->options, HL_OPTION_PLUGIN, i);
  hl_engine_look(&(hl_engine_question){.name = engine,
                                       .plugins = paths,
                                       .plugin_count = paths ? plugins : 0,
                                       .python = hl_options_get(k->options, HL_OPTION_PYTHON),
                                       .tables_only = tables_only,
                                       .limit_s = limit_of(k->options)},
                 ret_finding);
  free(paths);
}

/* What is known of `engine`; NULL without memory. */
static const hl_engine_finding *find(hl_knowledge *k, const char *engine) {
  for (size_t i = 0; i < k->count; i++)
    if (strcmp(k->names[i], engine) == 0) return &k->findings[i];
  hl_engine_finding *findings = realloc(k->findings, (k->count + 1) * sizeof *findings);
  if (findings) k->findings = findings;
  char **names = realloc(k->names, (k->count + 1) * sizeof *names);
  if (names) k->names = names;
  char **devices = realloc(k->devices, (k->count + 1) * sizeof *devices);
  if (devices) k->devices = devices;
  char *name = hl_strdup(engine);
  if (!findings || !names || !devices || !name) {
    free(name);
    return NULL;
  }
  look(k, engine, true, &findings[k->count]);
  names[k->count] = name;
  devices[k->count] = NULL;
  return &k->findings[k->count++];
}

const char *hl_knowledge_devices(void *context, const char *engine) {
  hl_knowledge *k = context;
  const hl_engine_finding *known = find(k, engine);
  if (!known || !hl_engine_finding_has_option(known, "python")) return NULL;
  char **devices = &k->devices[known - k->findings];
  if (!*devices) {
    hl_engine_finding f;
    const char *found = "";
    look(k, engine, false, &f);
    for (size_t i = 0; f.usable && i < f.fact_count; i++)
      if (f.facts[i].kind == HL_FACT_PLAIN && strcmp(f.facts[i].name, "devices") == 0)
        found = f.facts[i].text;
    *devices = hl_strdup(found);
    hl_engine_finding_release(&f);
  }
  return *devices && **devices ? *devices : NULL;
}

/* An engine that cannot be opened, or has no table, may know any option: its row will tell. */
static hl_plan_known knows(void *context, const char *engine, const char *key) {
  const hl_engine_finding *f = find(context, engine);
  if (!f || !f->tells_options) return HL_PLAN_MAYBE;
  return hl_engine_finding_has_option(f, key) ? HL_PLAN_YES : HL_PLAN_NO;
}

static void options_of(void *context, const char *engine, hl_text *out) {
  const hl_engine_finding *f = find(context, engine);
  for (size_t i = 0; f && i < f->fact_count; i++)
    if (f->facts[i].kind == HL_FACT_OPTION)
      hl_text_format(out, "%s%s.%s=%s", out->length ? ", " : "", engine, f->facts[i].name,
                     f->facts[i].text);
}

hl_plan_engines hl_knowledge_for_plan(hl_knowledge *knowledge) {
  return (hl_plan_engines){.knows = knows, .options_of = options_of, .context = knowledge};
}

void hl_knowledge_release(hl_knowledge *knowledge) {
  for (size_t i = 0; i < knowledge->count; i++) {
    hl_engine_finding_release(&knowledge->findings[i]);
    free(knowledge->names[i]);
    free(knowledge->devices[i]);
  }
  free(knowledge->findings);
  free(knowledge->names);
  free(knowledge->devices);
  knowledge->devices = NULL;
  knowledge->findings = NULL;
  knowledge->names = NULL;
  knowledge->count = 0;
}
