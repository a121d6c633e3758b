#include "protocol/messages.h"

#include "protocol/train-message.h"
#include <math.h>

static json_t *plugins_of(const hl_configuration *c) {
  json_t *plugins = json_array();
  for (size_t i = 0; i < c->plugin_count; i++)
    if (json_array_append_new(plugins, json_string(c->plugins[i])) != 0) {
      json_decref(plugins);
      return NULL;
    }
  return plugins;
}

static json_t *engine_options_of(const hl_configuration *c) {
  json_t *options = json_array();
  for (size_t i = 0; i < c->engine_option_count; i++) {
    const hl_option *option = &c->engine_options[i];
    if (json_array_append_new(options, json_pack("[s, s]", option->key, option->value)) != 0) {
      json_decref(options);
      return NULL;
    }
  }
  return options;
}

static json_t *input_shapes_of(const hl_configuration *c) {
  json_t *shapes = json_array();
  for (size_t i = 0; i < c->input_shape_count; i++) {
    hl_text text = HL_TEXT_INIT;
    hl_input_shape_format(&c->input_shapes[i], &text);
    int failed = text.failed || json_array_append_new(shapes, json_string(text.data)) != 0;
    hl_text_release(&text);
    if (!failed) continue;
    json_decref(shapes);
    return NULL;
  }
  return shapes;
}

static json_t *pipeline_of(const hl_pipeline_spec *spec) {
  return json_pack("{s:I, s:I, s:b}", "preprocess_batch", (json_int_t)spec->preprocess_batch,
                   "reassemble_batch", (json_int_t)spec->reassemble_batch, "on_disk",
                   spec->on_disk);
}

static json_t *progressive_of(const hl_progressive_spec *s) {
  json_t *object =
      json_pack("{s:s, s:I, s:I, s:I, s:f, s:s, s:I, s:I}", "scenario", s->scenario, "samples",
                (json_int_t)s->samples, "rounds", (json_int_t)s->rounds, "epochs",
                (json_int_t)s->epochs, "radius", s->radius, "pattern", s->pattern, "optimizations",
                (json_int_t)s->optimizations, "cache_mb", (json_int_t)s->cache_mb);
  if (!object) return NULL;
  hl_json_set_text(object, "object", s->object);
  hl_json_set_real(object, "snr_db", s->snr_db);
  hl_json_set_text(object, "optimizer", hl_optimizer_name(s->optimizer));
  hl_json_set_real(object, "rate", s->rate);
  return object;
}

json_t *hl_message_from_configuration(const hl_configuration *configuration,
                                      const char *cache_directory) {
  const hl_configuration *c = configuration;
  json_t *object = json_object();
  if (!object) return NULL;
  hl_json_set_text(object, "model", c->model);
  hl_json_set_bool(object, "builtin", c->is_builtin);
  if (c->is_foreign) hl_json_set_bool(object, "foreign", true);
  if (c->weights) hl_json_set_text(object, "weights", c->weights);
  hl_json_set_text(object, "model_file", c->model_file);
  hl_json_set_text(object, "engine", c->engine);
  int failed = json_object_set_new(object, "plugins", plugins_of(c));
  failed |= json_object_set_new(object, "engine_options", engine_options_of(c));
  failed |= json_object_set_new(object, "input_shapes", input_shapes_of(c));
  hl_json_set_text(object, "dtype", c->dtype);
  hl_json_set_text(object, "device", c->device);
  hl_json_set_text(object, "provider", c->provider);
  failed |= json_object_set_new(object, "batch_size", json_integer(c->batch_size));
  failed |= json_object_set_new(object, "threads", json_integer(c->threads));
  hl_json_set_text(object, "test_data", c->test_data);
  failed |= json_object_set_new(object, "n_images", json_integer(c->n_images));
  hl_json_set_bool(object, "decodes_scaled", c->decodes_scaled);
  failed |= json_object_set_new(object, "seed", json_integer(c->seed));
  if (c->simulated)
    failed |= json_object_set_new(object, "simulated_clock",
                                  json_pack("[f, f]", c->simulated_t0_ns, c->simulated_t1_ns));
  if (c->pipeline) failed |= json_object_set_new(object, "pipeline", pipeline_of(c->pipeline));
  if (c->progressive)
    failed |= json_object_set_new(object, "progressive", progressive_of(c->progressive));
  if (c->train) failed |= json_object_set_new(object, "train", hl_train_message(c->train));
  hl_json_set_text(object, "cache_directory", cache_directory);
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static hl_status need_text(const json_t *object, const char *key, const char **ret_text,
                           hl_error *error) {
  *ret_text = hl_json_get_text(object, key, NULL);
  if (*ret_text && (*ret_text)[0]) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "configure: '%s' is missing", key);
}

static hl_status need_int(const json_t *object, const char *key, int64_t min, int64_t max,
                          int64_t *ret_value, hl_error *error) {
  *ret_value = hl_json_get_int(object, key, INT64_MIN);
  if (*ret_value >= min && *ret_value <= max) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "configure: '%s' is missing or out of range",
                      key);
}

static hl_status read_plugins(const json_t *object, hl_arena *arena, hl_configuration *c,
                              hl_error *error) {
  const json_t *list = json_object_get(object, "plugins");
  size_t count = json_array_size(list);
  const char **paths = hl_arena_array(arena, count, sizeof *paths);
  if (!paths) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for plug-ins");
  for (size_t i = 0; i < count; i++) {
    paths[i] = json_string_value(json_array_get(list, i));
    if (!paths[i])
      return hl_error_set(error, HL_INVALID_ARGUMENT, "configure: 'plugins' holds no paths");
  }
  c->plugins = paths;
  c->plugin_count = count;
  return HL_OK;
}

static hl_status read_input_shapes(const json_t *object, hl_arena *arena, hl_configuration *c,
                                   hl_error *error) {
  const json_t *list = json_object_get(object, "input_shapes");
  size_t count = json_array_size(list);
  hl_input_shape *shapes = hl_arena_array(arena, count, sizeof *shapes);
  if (!shapes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for input shapes");
  for (size_t i = 0; i < count; i++) {
    const char *text = json_string_value(json_array_get(list, i));
    if (!text || hl_input_shape_parse(text, arena, &shapes[i], NULL) != HL_OK)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "configure: 'input_shapes' holds other things than NAME=DIMS");
  }
  c->input_shapes = shapes;
  c->input_shape_count = count;
  return HL_OK;
}

static hl_status read_clock(const json_t *object, hl_configuration *c, hl_error *error) {
  const json_t *clock = json_object_get(object, "simulated_clock");
  if (!clock) return HL_OK;
  double t0 = json_number_value(json_array_get(clock, 0));
  double t1 = json_number_value(json_array_get(clock, 1));
  if (json_array_size(clock) != 2 ||
      !(t0 >= 0 && t0 <= HL_CLOCK_T0_LIMIT && t1 >= 0 && t1 <= HL_CLOCK_T1_LIMIT))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "configure: 'simulated_clock' is not two durations");
  c->simulated = true;
  c->simulated_t0_ns = t0;
  c->simulated_t1_ns = t1;
  return HL_OK;
}

static hl_status read_pipeline(const json_t *object, hl_arena *arena, hl_configuration *c,
                               hl_error *error) {
  const json_t *pipeline = json_object_get(object, "pipeline");
  if (!pipeline) return HL_OK;
  hl_pipeline_spec *spec = hl_arena_array(arena, 1, sizeof *spec);
  if (!spec) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the pipeline");
  hl_status status =
      need_int(pipeline, "preprocess_batch", 1, HL_BATCH_LIMIT, &spec->preprocess_batch, error);
  if (status == HL_OK)
    status =
        need_int(pipeline, "reassemble_batch", 1, HL_BATCH_LIMIT, &spec->reassemble_batch, error);
  spec->on_disk = hl_json_get_bool(pipeline, "on_disk", false);
  c->pipeline = spec;
  return status;
}

static hl_status read_progressive(const json_t *object, hl_arena *arena, hl_configuration *c,
                                  hl_error *error) {
  const json_t *from = json_object_get(object, "progressive");
  if (!from) return HL_OK;
  hl_progressive_spec *s = hl_arena_array(arena, 1, sizeof *s);
  if (!s) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for progressive imaging");
  int64_t optimizations = 0;
  s->object = hl_json_get_text(from, "object", NULL);
  s->snr_db = hl_json_get_real(from, "snr_db", (double)NAN);
  s->radius = hl_json_get_real(from, "radius", 0);
  s->rate = hl_json_get_real(from, "rate", (double)NAN);
  hl_status status = need_text(from, "scenario", &s->scenario, error);
  if (status == HL_OK) status = need_text(from, "pattern", &s->pattern, error);
  const char *optimizer = NULL;
  if (status == HL_OK) status = need_text(from, "optimizer", &optimizer, error);
  if (status == HL_OK && (!hl_optimizer_from_name(optimizer, &s->optimizer) || !(s->rate >= 0)))
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "configure: 'optimizer' or 'rate' of progressive imaging is none");
  const struct {
    const char *key;
    int64_t least, most, *value;
  } numbers[] = {{"samples", 1, HL_PROGRESSIVE_COUNT_LIMIT, &s->samples},
                 {"rounds", 1, HL_PROGRESSIVE_COUNT_LIMIT, &s->rounds},
                 {"epochs", 1, HL_PROGRESSIVE_COUNT_LIMIT, &s->epochs},
                 {"cache_mb", 0, HL_PROGRESSIVE_CACHE_LIMIT, &s->cache_mb},
                 {"optimizations", 0, (1 << HL_OPTIMIZE_COUNT) - 1, &optimizations}};
  for (size_t i = 0; i < HL_COUNT(numbers) && status == HL_OK; i++)
    status =
        need_int(from, numbers[i].key, numbers[i].least, numbers[i].most, numbers[i].value, error);
  s->optimizations = (unsigned)optimizations;
  c->progressive = s;
  return status;
}

static hl_status read_options(const json_t *object, hl_arena *arena, hl_configuration *c,
                              hl_error *error) {
  const json_t *list = json_object_get(object, "engine_options");
  size_t count = json_array_size(list);
  hl_option *options = hl_arena_array(arena, count, sizeof *options);
  if (!options) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for engine options");
  for (size_t i = 0; i < count; i++) {
    const json_t *pair = json_array_get(list, i);
    options[i].key = json_string_value(json_array_get(pair, 0));
    options[i].value = json_string_value(json_array_get(pair, 1));
    if (!options[i].key || !options[i].value)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "configure: 'engine_options' holds no pairs of text");
  }
  c->engine_options = options;
  c->engine_option_count = count;
  return HL_OK;
}

hl_status hl_message_to_configuration(const json_t *object, hl_arena *arena,
                                      hl_configuration *ret_configuration, hl_error *error) {
  hl_configuration c = {.is_builtin = hl_json_get_bool(object, "builtin", false),
                        .is_foreign = hl_json_get_bool(object, "foreign", false),
                        .weights = hl_json_get_text(object, "weights", NULL),
                        .provider = hl_json_get_text(object, "provider", NULL),
                        .model_file = hl_json_get_text(object, "model_file", NULL),
                        .test_data = hl_json_get_text(object, "test_data", NULL),
                        .decodes_scaled = hl_json_get_bool(object, "decodes_scaled", false)};
  hl_status status = need_text(object, "model", &c.model, error);
  if (status == HL_OK) status = need_text(object, "engine", &c.engine, error);
  if (status == HL_OK) status = need_text(object, "dtype", &c.dtype, error);
  if (status == HL_OK) status = need_text(object, "device", &c.device, error);
  if (status == HL_OK)
    status = need_int(object, "batch_size", 1, HL_BATCH_LIMIT, &c.batch_size, error);
  if (status == HL_OK) status = need_int(object, "threads", 1, HL_THREADS_LIMIT, &c.threads, error);
  if (status == HL_OK)
    status = need_int(object, "n_images", 0, HL_IMAGES_LIMIT, &c.n_images, error);
  if (status == HL_OK) status = need_int(object, "seed", 0, INT64_MAX, &c.seed, error);
  if (status == HL_OK) status = read_plugins(object, arena, &c, error);
  if (status == HL_OK) status = read_options(object, arena, &c, error);
  if (status == HL_OK) status = read_input_shapes(object, arena, &c, error);
  if (status == HL_OK) status = read_clock(object, &c, error);
  if (status == HL_OK) status = read_pipeline(object, arena, &c, error);
  if (status == HL_OK) status = read_progressive(object, arena, &c, error);
  const json_t *train = json_object_get(object, "train");
  if (status == HL_OK && train) status = hl_train_message_read(train, arena, &c.train, error);
  if (status != HL_OK) return status;
  *ret_configuration = c;
  return HL_OK;
}

hl_status hl_message_status(const json_t *reply, hl_error *error) {
  const json_t *ok = json_object_get(reply, "ok");
  if (json_is_true(ok)) return HL_OK;
  if (!json_is_false(ok))
    return hl_error_set(error, HL_BAD_DATA, "the worker's reply has no member 'ok'");
  hl_status status = hl_status_from_name(hl_json_get_text(reply, "status", ""));
  if (status == HL_OK) status = HL_INTERNAL;
  /* An engine may fail without a word. */
  const char *message = hl_json_get_text(reply, "message", "");
  return hl_error_set(error, status, "%s", message[0] ? message : hl_status_text(status));
}
