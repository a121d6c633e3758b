#include "plan/configuration.h"

#include "base/hash.h"
#include "base/json-writer.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hl_configuration hl_configuration_with_batch(const hl_configuration *configuration, int64_t batch) {
  hl_configuration copy = *configuration;
  copy.batch_size = batch;
  if (copy.memory && copy.train) copy.n_images = batch;
  return copy;
}

hl_configuration hl_configuration_without_engine(const hl_configuration *configuration,
                                                 int64_t batch) {
  hl_configuration copy = hl_configuration_with_batch(configuration, batch);
  copy.engine = "null";
  copy.plugins = NULL;
  copy.plugin_count = 0;
  copy.engine_option_count = 0;
  copy.progressive = NULL; /* which trains */
  return copy;
}

void hl_shell_quote(hl_text *out, const char *word) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_-+=:,./@%";
  if (word[0] && word[strspn(word, safe)] == '\0') {
    hl_text_append(out, word);
    return;
  }
  hl_text_char(out, '\'');
  for (; *word; word++) {
    if (*word == '\'')
      hl_text_append(out, "'\\''");
    else
      hl_text_char(out, *word);
  }
  hl_text_char(out, '\'');
}

static void option_text(hl_text *out, const char *name, const char *value) {
  hl_text_format(out, " --%s ", name);
  hl_shell_quote(out, value);
}

/* With the digits that it takes to read the same number back. */
static void option_real(hl_text *out, const char *name, double value) {
  char text[32];
  hl_json_format_real(value, text);
  hl_text_format(out, " --%s %s", name, text);
}

static void option_int(hl_text *out, const char *name, int64_t value) {
  hl_text_format(out, " --%s %" PRId64, name, value);
}

/* What the row computes: common to the command that repeats it and to its identity. */
static void append_identity(hl_text *out, const hl_configuration *c) {
  if (c->model[0] == '-')
    hl_text_append(out, "--model "); /* else it would be taken for an option */
  hl_shell_quote(out, c->model);
  for (size_t i = 0; i < c->plugin_count; i++) option_text(out, "plugin", c->plugins[i]);
  if (c->launcher) hl_launcher_options(c->launcher, out);
  option_text(out, "engine", c->engine);
  for (size_t i = 0; i < c->engine_option_count; i++) {
    const char *key = c->engine_options[i].key;
    bool dotted =
        strchr(key, '.') != NULL; /* what is before the dot would be taken for an engine */
    HL_CLEANUP(hl_free_pointer) char *scope = dotted ? hl_format("%s.", c->engine) : hl_strdup("");
    HL_CLEANUP(hl_free_pointer)
    char *pair = hl_format("%s%s=%s", scope ? scope : "", key, c->engine_options[i].value);
    if (pair) option_text(out, "engine-option", pair);
  }
  if (c->weights) option_text(out, "weights", c->weights);
  option_text(out, "dtype", c->dtype);
  if (strcmp(c->device, "cpu") != 0) option_text(out, "device", c->device);
  if (c->provider) option_text(out, "provider", c->provider);
  option_int(out, "threads", c->threads);
  for (size_t i = 0; i < c->input_shape_count; i++) {
    hl_text shape = HL_TEXT_INIT;
    hl_input_shape_format(&c->input_shapes[i], &shape);
    option_text(out, "input-shape", shape.data);
    hl_text_release(&shape);
  }
  option_int(out, "batch-sizes", c->batch_size);
  if (c->test_data) option_text(out, "test-data", c->test_data);
  if (c->n_images && !c->memory) option_int(out, "n-images", c->n_images);
  if (c->decodes_scaled) option_text(out, "decode", "scaled");
  bool is_fed = c->test_data && !c->train && !c->load && !c->memory && !c->pipeline;
  if (is_fed && c->loader_threads != 1) option_int(out, "loader-threads", c->loader_threads);
  option_int(out, "seed", c->seed);
  if (c->load) hl_load_spec_options(c->load, out);
  if (c->pipeline) hl_pipeline_spec_options(c->pipeline, out);
  if (c->progressive) hl_progressive_spec_options(c->progressive, out);
  if (c->memory) option_text(out, "mode", c->train ? "training" : "inference");
  if (c->train && c->memory)
    hl_train_spec_memory_options(c->train, out);
  else if (c->train)
    hl_train_spec_options(c->train, out);
  if (c->simulated) {
    option_real(out, "simulated-clock", c->simulated_t0_ns);
    char text[32];
    hl_json_format_real(c->simulated_t1_ns, text);
    hl_text_format(out, "+%s", text);
  }
}

/* Of the method, what load tests and training have, too. */
static void append_limits(hl_text *out, const hl_method_options *m) {
  if (m->setup_given) option_real(out, "setup-timeout", m->setup_s);
  if (m->memory_limit_mb) option_int(out, "memory-limit", m->memory_limit_mb);
  for (size_t i = 0; i < m->metric_plugin_count; i++)
    option_text(out, "metric-plugin", m->metric_plugins[i]);
  if (m->python) option_text(out, "python", m->python);
  for (size_t i = 0; i < m->requirement_count; i++) option_text(out, "require", m->requirements[i]);
  if (!m->predict) hl_text_append(out, " --no-predict");
}

static void append_method(hl_text *out, const hl_method_options *m) {
  if (m->iterations) option_int(out, "iterations", m->iterations);
  if (m->num_runs) option_int(out, "num-runs", m->num_runs);
  if (m->warmup_iterations >= 0) option_int(out, "warmup-iterations", m->warmup_iterations);
  if (m->warmup_runs) option_int(out, "warmup-runs", m->warmup_runs);
  if (m->min_time_s > 0) option_real(out, "min-time", m->min_time_s);
  if (m->max_time_given) option_real(out, "max-time", m->max_time_s);
  if (m->counters) hl_text_append(out, " --counters");
  append_limits(out, m);
}

char *hl_configuration_reproduce(const hl_configuration *configuration,
                                 const hl_method_options *method) {
  hl_text text = HL_TEXT_INIT;
  const hl_configuration *c = configuration;
  hl_text_format(&text, "hotlap %s ",
                 c->memory  ? "memory"
                 : c->train ? "train"
                 : c->load  ? "load"
                            : "sweep");
  append_identity(&text, c);
  if (c->load || c->train || c->memory)
    append_limits(&text, method);
  else
    append_method(&text, method);
  if (!c->train && !c->memory && !method->check) hl_text_append(&text, " --no-check");
  return hl_text_take(&text);
}

/* An entry of a plan measures its rows for itself, also those that another has, too. */
static void append_entry(hl_text *out, const hl_configuration *c) {
  if (c->entry) hl_text_format(out, "%s: ", c->entry);
}

char *hl_configuration_key(const hl_configuration *configuration) {
  hl_text text = HL_TEXT_INIT;
  append_entry(&text, configuration);
  append_identity(&text, configuration);
  return hl_text_take(&text);
}

static void append_whole_method(hl_text *out, const hl_method_options *m) {
  append_method(out, m);
  if (!m->check) hl_text_append(out, " --no-check");
  if (m->sequence) hl_text_append(out, " --order sequence");
  hl_text_format(out, " %d %" PRId64, m->adaptive, m->max_batch);
}

char *hl_method_text(const hl_method_options *method) {
  hl_text text = HL_TEXT_INIT;
  append_whole_method(&text, method);
  option_real(&text, "safety-margin", method->safety_margin);
  return hl_text_take(&text);
}

const hl_method_options *hl_plan_method(const hl_plan *plan,
                                        const hl_configuration *configuration) {
  return configuration->method ? configuration->method : &plan->method;
}

void hl_plan_hash(const hl_plan *plan, char ret_text[17]) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < plan->count; i++) {
    const hl_configuration *c = &plan->items[i];
    append_entry(&text, c);
    append_identity(&text, c);
    if (c->method) append_whole_method(&text, c->method);
    hl_text_char(&text, '\n');
  }
  append_whole_method(&text, &plan->method);
  uint64_t hash = hl_hash_text(HL_HASH_START, text.data);
  hl_text_release(&text);
  snprintf(ret_text, 17, "%016" PRIx64, hash);
}
