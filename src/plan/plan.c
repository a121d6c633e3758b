#include "plan/engine-options.h"

#include <stdlib.h>
#include <string.h>

enum { plan_bytes = 256 << 20, load_images = 64 };
/* Compiling may take minutes, and a hang is not to cost more than a handful of rows. */
enum { setup_budgets = 10, least_setup_s = 120 };

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

/* A list of words in the plan's arena. */
typedef struct words {
  const char **items;
  size_t count;
} words;

/* Drops repeated words: what is asked for twice is measured once. */
static void drop_repeats(words *w) {
  size_t kept = 0;
  for (size_t i = 0; i < w->count; i++) {
    bool seen = false;
    for (size_t k = 0; k < kept && !seen; k++) seen = strcmp(w->items[k], w->items[i]) == 0;
    if (!seen) w->items[kept++] = w->items[i];
  }
  w->count = kept;
}

static hl_status split(hl_arena *arena, const char *text, const char *option, words *ret_words,
                       hl_error *error) {
  words w = {0};
  w.items = hl_arena_array(arena, strlen(text) + 1, sizeof *w.items);
  char *copy = hl_arena_text(arena, text);
  if (!w.items || !copy) return no_memory(error);
  for (char *part; (part = strsep(&copy, ", "));)
    if (part[0]) w.items[w.count++] = part;
  if (w.count == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--%s: nothing in '%s'", option, text);
  drop_repeats(&w);
  *ret_words = w;
  return HL_OK;
}

const char *hl_engine_called(const char *name) {
  if (strcmp(name, "pytorch") == 0) return "torch";
  return strcmp(name, "tf") == 0 ? "tensorflow" : name;
}

static hl_status read_engines(const hl_options *o, hl_arena *arena, words *ret_engines,
                              hl_error *error) {
  const char *framework = hl_options_get(o, HL_OPTION_FRAMEWORK);
  bool by_framework = framework && !hl_options_given(o, HL_OPTION_ENGINE);
  if (!by_framework) framework = hl_options_get(o, HL_OPTION_ENGINE);
  /* The suites' word for these two. */
  if (by_framework && strcmp(framework, "both") == 0) framework = "pytorch,jax";
  hl_status status =
      split(arena, framework, by_framework ? "framework" : "engine", ret_engines, error);
  /* A plug-in may have such a name. */
  bool translate = by_framework || !hl_options_at(o, HL_OPTION_PLUGIN, 0);
  for (size_t i = 0; status == HL_OK && translate && i < ret_engines->count; i++)
    ret_engines->items[i] = hl_engine_called(ret_engines->items[i]);
  if (status == HL_OK) drop_repeats(ret_engines); /* pytorch,torch */
  return status;
}

/* All values of a repeatable option. */
static hl_status read_repeated(const hl_options *o, hl_option_id id, hl_arena *arena,
                               const char *const **ret_values, size_t *ret_count, hl_error *error) {
  size_t count = 0;
  while (hl_options_at(o, id, count)) count++;
  const char **values = hl_arena_array(arena, count, sizeof *values);
  if (!values) return no_memory(error);
  for (size_t i = 0; i < count; i++) values[i] = hl_options_at(o, id, i);
  *ret_values = values;
  *ret_count = count;
  return HL_OK;
}

/* Of a plus that belongs to an exponent, 1e+6+100, the first half is not a number: the next is. */
static bool clock_halves(const char *text, double *ret_t0, double *ret_t1) {
  for (const char *plus = strchr(text, '+'); plus; plus = strchr(plus + 1, '+')) {
    char first[64];
    size_t length = (size_t)(plus - text);
    if (length >= sizeof first) return false;
    memcpy(first, text, length);
    first[length] = '\0';
    if (hl_parse_real(first, 0, HL_CLOCK_T0_LIMIT, "T0", ret_t0, NULL) == HL_OK)
      return hl_parse_real(plus + 1, 0, HL_CLOCK_T1_LIMIT, "T1", ret_t1, NULL) == HL_OK;
  }
  return false;
}

static hl_status read_simulated(const hl_options *o, hl_configuration *base, hl_error *error) {
  const char *text = hl_options_get(o, HL_OPTION_SIMULATED_CLOCK);
  if (!text) return HL_OK;
  base->simulated = true;
  double *t0 = &base->simulated_t0_ns, *t1 = &base->simulated_t1_ns;
  if (clock_halves(text, t0, t1) && *t0 + *t1 >= 1) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--simulated-clock: '%s' is not T0+T1 in nanoseconds", text);
}

static hl_status read_decoding(const hl_options *o, hl_configuration *base, hl_error *error) {
  const char *how = hl_options_get(o, HL_OPTION_DECODE);
  base->decodes_scaled = how && strcmp(how, "scaled") == 0;
  if (!how || base->decodes_scaled || strcmp(how, "exact") == 0) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--decode: '%.60s' is neither exact nor scaled",
                      how);
}

static hl_status read_base(const hl_options *o, hl_arena *arena, hl_configuration *base,
                           hl_error *error) {
  *base = (hl_configuration){.test_data = hl_options_get(o, HL_OPTION_TEST_DATA),
                             .weights = hl_options_get(o, HL_OPTION_WEIGHTS)};
  if (base->test_data && strcmp(base->test_data, "synthetic") == 0) base->test_data = NULL;
  /* Which a pipeline takes anyway. */
  bool simulated = base->test_data && strcmp(base->test_data, HL_DATA_SIMULATED) == 0;
  if (simulated && hl_options_on(o, HL_OPTION_PIPELINE)) base->test_data = NULL;
  hl_status status =
      hl_options_int(o, HL_OPTION_N_IMAGES, 1, HL_IMAGES_LIMIT, 0, &base->n_images, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_SEED, 0, INT64_MAX, 42, &base->seed, error);
  if (status == HL_OK)
    status = read_repeated(o, HL_OPTION_PLUGIN, arena, &base->plugins, &base->plugin_count, error);
  if (status == HL_OK) status = read_decoding(o, base, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_LOADER_THREADS, 0, HL_TRAIN_LOADERS_LIMIT, 1,
                            &base->loader_threads, error);
  base->provider = hl_options_get(o, HL_OPTION_PROVIDER);
  if (status == HL_OK)
    status = hl_input_shapes_read(o, arena, &base->input_shapes, &base->input_shape_count, error);
  if (status == HL_OK) status = read_simulated(o, base, error);
  if (status == HL_OK) status = hl_launcher_read(o, arena, &base->launcher, error);
  return status;
}

static hl_status read_method(const hl_options *o, hl_method_options *m, hl_error *error) {
  *m = (hl_method_options){.check = !hl_options_on(o, HL_OPTION_NO_CHECK),
                           .predict = !hl_options_on(o, HL_OPTION_NO_PREDICT),
                           .adaptive = hl_options_on(o, HL_OPTION_ADAPTIVE_SIZING),
                           .counters = hl_options_on(o, HL_OPTION_COUNTERS),
                           .warmup_iterations = -1,
                           .max_time_given = hl_options_given(o, HL_OPTION_MAX_TIME)};
  double margin = 10;
  const char *warmup = hl_options_get(o, HL_OPTION_WARMUP_ITERATIONS);
  hl_status status = hl_options_real(o, HL_OPTION_MIN_TIME, 0, 86400, 0, &m->min_time_s, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_MAX_TIME, 0.001, 86400, 30, &m->max_time_s, error);
  m->setup_given = hl_options_given(o, HL_OPTION_SETUP_TIMEOUT);
  double setup_s = setup_budgets * m->max_time_s;
  if (setup_s < least_setup_s) setup_s = least_setup_s;
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SETUP_TIMEOUT, 0.001, 86400, setup_s, &m->setup_s, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_ITERATIONS, 1, 100000000, 0, &m->iterations, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_NUM_RUNS, 1, 1000000, 0, &m->num_runs, error);
  if (status == HL_OK && strcmp(warmup, "auto") != 0)
    status = hl_options_int(o, HL_OPTION_WARMUP_ITERATIONS, 0, 100000000, -1, &m->warmup_iterations,
                            error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_WARMUP_RUNS, 0, 1000000, 0, &m->warmup_runs, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_MEMORY_LIMIT, 1, 100000000, 0, &m->memory_limit_mb, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_MAX_BATCH, 1, HL_BATCH_LIMIT, 65536, &m->max_batch, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SAFETY_MARGIN, 0, 90, 10, &margin, error);
  const char *order = hl_options_get(o, HL_OPTION_ORDER);
  m->sequence = strcmp(order, "sequence") == 0;
  if (status == HL_OK && !m->sequence && strcmp(order, "interleaved") != 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--order: '%s' is neither interleaved nor sequence", order);
  m->safety_margin = margin / 100;
  /* The default gives way to a short budget; what was asked for does not. */
  if (!hl_options_given(o, HL_OPTION_MIN_TIME) && m->min_time_s > m->max_time_s / 2)
    m->min_time_s = m->max_time_s / 2;
  if (status == HL_OK && m->min_time_s > m->max_time_s)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--min-time %g is longer than --max-time %g: raise --max-time",
                          m->min_time_s, m->max_time_s);
  if (status == HL_OK && m->iterations && m->num_runs)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--iterations and --num-runs both fix the steps: give one of them");
  return status;
}

static hl_status read_threads(hl_arena *arena, const hl_options *o, int64_t default_threads,
                              int64_t **ret_threads, size_t *ret_count, hl_error *error) {
  const char *text = hl_options_get(o, HL_OPTION_THREADS);
  words w = {0};
  if (text) {
    hl_status status = split(arena, text, "threads", &w, error);
    if (status != HL_OK) return status;
  }
  size_t count = text ? 0 : 1;
  int64_t *threads = hl_arena_array(arena, text ? w.count : 1, sizeof *threads);
  if (!threads) return no_memory(error);
  threads[0] = default_threads;
  for (size_t i = 0; i < w.count; i++) {
    int64_t number;
    hl_status status = hl_parse_int(w.items[i], 1, HL_THREADS_LIMIT, "--threads", &number, error);
    if (status != HL_OK) return status;
    bool seen = false; /* "2,02" */
    for (size_t k = 0; k < count; k++) seen = seen || threads[k] == number;
    if (!seen) threads[count++] = number;
  }
  *ret_threads = threads;
  *ret_count = count;
  return HL_OK;
}

static hl_status check_dtypes(const words *dtypes, hl_error *error) {
  static const char *const known[] = {"float32", "float16", "bfloat16", "float64", "int8"};
  for (size_t i = 0; i < dtypes->count; i++) {
    bool found = false;
    for (size_t k = 0; k < HL_COUNT(known); k++)
      found = found || strcmp(dtypes->items[i], known[k]) == 0;
    if (!found)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--dtype: '%s' is none of float32, float16, bfloat16, float64, int8",
                          dtypes->items[i]);
  }
  return HL_OK;
}

/* Axes of the product of configurations. */
typedef struct axes {
  words engines, dtypes;
  hl_option_list *engine_options; /* one for each engine */
  hl_device_choice *devices;
  size_t device_count;
  const hl_device_inventory *here;
  int64_t *threads, *batches;
  size_t thread_count, batch_count;
  hl_load_spec *loads;         /* of a load test, else NULL */
  size_t load_count;           /* 1 at least */
  const hl_train_spec **modes; /* of memory: inference (NULL), training; of training: by ranks */
  size_t mode_count;           /* 1 at least */
  int64_t most_ranks;
} axes;

static hl_status read_devices(const hl_options *o, hl_arena *arena, axes *a, hl_error *error) {
  const char *prefer = hl_options_get(o, HL_OPTION_DEVICE_PREFER);
  if (prefer && hl_options_given(o, HL_OPTION_DEVICE))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--device and --device-prefer both name the device: give one of them");
  const char *list = hl_options_get(o, HL_OPTION_DEVICE);
  const char *provider = hl_options_get(o, HL_OPTION_PROVIDER);
  /* 594Project's runner takes the best device that there is. */
  bool best = hl_options_given(o, HL_OPTION_FRAMEWORK) && !hl_options_given(o, HL_OPTION_DEVICE);
  if (best && !prefer && !provider && a->here && a->here->cuda_count) prefer = "cuda:0";
  if (best && !prefer && !provider && a->here && a->here->mps) prefer = "mps";
  /* A provider or trainer for GPUs means the first of them. */
  const char *trainer = o->command == 'T' ? hl_options_get(o, HL_OPTION_TRAINER) : "cpu";
  bool on_gpu = (provider && strcmp(provider, "cpu") != 0) || strcmp(trainer, "gpu") == 0;
  if (on_gpu && !hl_options_given(o, HL_OPTION_DEVICE)) list = "cuda:0";
  return hl_device_choices(arena, list, prefer, a->here, &a->devices, &a->device_count, error);
}

/* Of all ranks together. Each has as many in every row, so that rows tell what more ranks give. */
static int64_t threads_of(const hl_configuration *c, int64_t threads, int64_t most_ranks) {
  if (!c->train || strcmp(c->train->trainer, "ddp") != 0) return threads;
  int64_t each = threads / most_ranks;
  return (each < 1 ? 1 : each) * c->train->ranks;
}

/* Adds the rows of a model on an engine and a device. */
static void fill_device(hl_plan *plan, const hl_configuration *base, const axes *a) {
  size_t count = a->dtypes.count * a->thread_count * a->mode_count * a->batch_count * a->load_count;
  for (size_t i = 0; i < count; i++) {
    size_t rest = i;
    hl_configuration *c = &plan->items[plan->count++];
    *c = *base;
    if (a->loads) c->load = &a->loads[rest % a->load_count];
    rest /= a->load_count;
    c->batch_size = a->batches[rest % a->batch_count];
    rest /= a->batch_count;
    if (a->modes) c->train = a->modes[rest % a->mode_count];
    /* One batch: more would be in the baseline of one mode only. */
    if (c->memory && c->train) c->n_images = c->batch_size;
    rest /= a->mode_count;
    c->threads = threads_of(c, a->threads[rest % a->thread_count], a->most_ranks);
    c->dtype = a->dtypes.items[rest / a->thread_count];
  }
}

/* Two words may name one device of an engine, as gpu:0 and cuda:0 do: it is measured once. */
static hl_status fill_engine(hl_plan *plan, const hl_configuration *base, const axes *a,
                             hl_error *error) {
  size_t first = plan->count;
  for (size_t i = 0; i < a->device_count; i++) {
    hl_configuration with_device = *base;
    with_device.device = hl_device_for_engine(&plan->arena, &a->devices[i], base->engine, a->here,
                                              &with_device.device_note);
    if (!with_device.device) return no_memory(error);
    bool seen = false;
    for (size_t k = first; k < plan->count; k++)
      seen = seen || strcmp(plan->items[k].device, with_device.device) == 0;
    if (!seen) fill_device(plan, &with_device, a);
  }
  return HL_OK;
}

static hl_status fill(hl_plan *plan, const hl_configuration *base, const hl_plan_model *models,
                      size_t model_count, const axes *a, hl_error *error) {
  size_t per_model = a->engines.count * a->device_count * a->dtypes.count * a->thread_count *
                     a->batch_count * a->mode_count * a->load_count;
  if (per_model > HL_PLAN_ROWS / (model_count ? model_count : 1))
    return hl_error_set(error, HL_LIMIT, "the plan has more than %d rows", HL_PLAN_ROWS);
  plan->items = hl_arena_array(&plan->arena, per_model * model_count, sizeof *plan->items);
  if (!plan->items) return no_memory(error);
  hl_configuration c = *base;
  hl_status status = HL_OK;
  for (size_t m = 0; m < model_count; m++) {
    c.is_builtin = models[m].is_builtin;
    c.is_foreign = models[m].is_foreign;
    if (c.weights && !c.is_foreign)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--weights is for models that an engine gets by itself, as "
                          "package.module:function; %.200s has its weights in it",
                          models[m].name);
    c.model = hl_arena_text(&plan->arena, models[m].name);
    if (!c.model) return no_memory(error);
    for (size_t e = 0; e < a->engines.count && status == HL_OK; e++) {
      c.engine = a->engines.items[e];
      c.engine_options = a->engine_options[e].items;
      c.engine_option_count = a->engine_options[e].count;
      status = fill_engine(plan, &c, a, error);
    }
  }
  return status;
}

/* The words go to the worker and into results as JSON, which has no other bytes. */
static hl_status check_utf8(const hl_options *o, const hl_plan_model *models, size_t model_count,
                            hl_error *error) {
  const char *bad = NULL;
  for (size_t i = 0; i < model_count; i++)
    if (!hl_utf8_valid(models[i].name)) bad = models[i].name;
  for (size_t i = 0; i < o->item_count; i++)
    if (o->item_ids[i] != HL_OPTION_OUTPUT_DIR && o->item_ids[i] != HL_OPTION_STORE &&
        !hl_utf8_valid(o->items[i]))
      bad = o->items[i];
  return bad ? hl_error_set(error, HL_INVALID_ARGUMENT,
                            "'%s' is not UTF-8 text; rename the file, or link to it under "
                            "another name",
                            bad)
             : HL_OK;
}

static hl_status read_engine_axis(const hl_options *o, hl_arena *arena,
                                  const hl_plan_engines *known, axes *a, hl_error *error) {
  hl_status status = read_engines(o, arena, &a->engines, error);
  if (status != HL_OK) return status;
  a->engine_options = hl_arena_array(arena, a->engines.count, sizeof *a->engine_options);
  if (!a->engine_options) return no_memory(error);
  return hl_plan_engine_options(o, arena, a->engines.items, a->engines.count, known,
                                a->engine_options, error);
}

/* Is `name`, or `all`, one of the words of a list? */
static bool lists(const char *list, const char *name) {
  for (const char *at = list;; at++) {
    at += strspn(at, " ");
    size_t length = strcspn(at, ", ");
    if (length == strlen(name) && strncmp(at, name, length) == 0) return true;
    if (length == 3 && strncmp(at, "all", length) == 0) return true;
    at += strcspn(at, ",");
    if (!*at) return false;
  }
}

/* Does an option of the native engine say whether Winograd's algorithm is used? */
static bool settles_winograd(const hl_option *option) {
  return (strcmp(option->key, "algorithms") == 0 && strcmp(option->value, "exact") == 0) ||
         (strcmp(option->key, "disable") == 0 && lists(option->value, "winograd"));
}

/* Sets an option of the native engine, unless it is given. */
static hl_status set_native(hl_arena *arena, axes *a, const char *key, const char *value,
                            hl_error *error) {
  for (size_t e = 0; e < a->engines.count; e++) {
    hl_option_list *list = &a->engine_options[e];
    bool chosen = strcmp(a->engines.items[e], "native") != 0;
    for (size_t i = 0; i < list->count; i++)
      chosen = chosen || strcmp(list->items[i].key, key) == 0 ||
               (strcmp(key, "winograd") == 0 && settles_winograd(&list->items[i]));
    if (chosen) continue;
    hl_option *items = hl_arena_array(arena, list->count + 1, sizeof *items);
    if (!items) return no_memory(error);
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    items[list->count] = (hl_option){.key = key, .value = value};
    *list = (hl_option_list){items, list->count + 1};
  }
  return HL_OK;
}

/* The image of a scan is to be the same to the bit whatever batch predict has, under a limit of
 * memory too: the native engine shall not choose its convolutions by the batch. Of progressive
 * imaging without the optimisation `fused-generator` convolutions are by their definition, and each
 * operator is a step of its own. */
static hl_status fix_convolutions(const hl_configuration *base, hl_arena *arena, axes *a,
                                  hl_error *error) {
  if (base->pipeline) return set_native(arena, a, "winograd", "on", error);
  const hl_progressive_spec *p = base->progressive;
  bool plain = p && !(p->optimizations & HL_OPTIMIZE_FUSED_GENERATOR);
  hl_status status = plain ? set_native(arena, a, "fusions", "off", error) : HL_OK;
  return plain && status == HL_OK ? set_native(arena, a, "winograd", "off", error) : status;
}

/* What `hotlap memory` and `profile` look at: the axis `modes`. Nothing is loaded ahead. */
static hl_status read_modes(const hl_options *o, hl_arena *arena, axes *a, hl_error *error) {
  const char *mode = hl_options_get(o, HL_OPTION_MODE);
  bool both = strcmp(mode, "both") == 0;
  a->mode_count = 0;
  a->modes = hl_arena_array(arena, 2, sizeof *a->modes);
  if (!a->modes) return no_memory(error);
  if (both || strcmp(mode, "inference") == 0) a->modes[a->mode_count++] = NULL;
  if (both || strcmp(mode, "training") == 0) {
    hl_train_spec *train;
    hl_status status = hl_train_spec_read(o, arena, &train, error);
    if (status != HL_OK) return status;
    train->loader_threads = 0;
    if (o->command == 'F') { /* whose --steps and --max-time are of the profile */
      train->epochs = 0;
      train->steps = HL_TRAIN_STEPS_LIMIT;
      train->max_time_s = 0;
    }
    a->modes[a->mode_count++] = train;
  }
  if (a->mode_count && !(both && o->command == 'F')) return HL_OK;
  if (o->command == 'F')
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--mode: '%s' is neither inference nor training", mode);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--mode: '%s' is none of inference, training, both", mode);
}

/* Mixed precision is the type of the generator's arithmetic, unless one is named. */
static void choose_type(const hl_options *o, const hl_progressive_spec *spec, axes *a) {
  bool mixed = spec->optimizations & HL_OPTIMIZE_MIXED_PRECISION;
  if (mixed && !hl_options_given(o, HL_OPTION_DTYPE)) a->dtypes.items[0] = "bfloat16";
}

static hl_status read_metric_python(const hl_options *o, hl_plan *plan, hl_error *error) {
  const char *given = hl_options_get(o, HL_OPTION_PYTHON);
  if (!given || !hl_plan_has_python_metrics(o)) return HL_OK;
  plan->method.python = hl_arena_text(&plan->arena, given);
  return plan->method.python ? HL_OK : no_memory(error);
}

static hl_status build(const hl_options *o, const hl_plan_model *models, size_t model_count,
                       int64_t default_threads, const hl_plan_engines *engines, hl_plan *plan,
                       axes *a, hl_error *error) {
  hl_configuration base = {0};
  hl_status status = check_utf8(o, models, model_count, error);
  if (status == HL_OK) status = read_method(o, &plan->method, error);
  if (status == HL_OK)
    status = read_repeated(o, HL_OPTION_METRIC_PLUGIN, &plan->arena, &plan->method.metric_plugins,
                           &plan->method.metric_plugin_count, error);
  if (status == HL_OK) status = read_metric_python(o, plan, error);
  if (status == HL_OK)
    status = read_repeated(o, HL_OPTION_REQUIRE, &plan->arena, &plan->method.requirements,
                           &plan->method.requirement_count, error);
  if (status == HL_OK) status = read_base(o, &plan->arena, &base, error);
  hl_train_spec *train = NULL;
  bool is_train = o->command == 'T';
  if (status == HL_OK && is_train) status = hl_train_spec_read(o, &plan->arena, &train, error);
  base.train = train;
  base.memory = o->command == 'Y';
  if (status == HL_OK) status = hl_pipeline_spec_read(o, &plan->arena, &base.pipeline, error);
  if (status == HL_OK) status = hl_progressive_spec_read(o, &plan->arena, &base.progressive, error);
  a->mode_count = 1;
  if (status == HL_OK && is_train)
    status = hl_train_ranks_read(o, &plan->arena, train, &a->modes, &a->mode_count, error);
  for (size_t i = 0; status == HL_OK && is_train && i < a->mode_count; i++)
    if (a->modes[i]->ranks > a->most_ranks) a->most_ranks = a->modes[i]->ranks;
  if (status == HL_OK && (base.memory || o->command == 'F'))
    status = read_modes(o, &plan->arena, a, error);
  if (status == HL_OK && base.memory) {
    plan->method.adaptive = hl_options_given(o, HL_OPTION_MEMORY_LIMIT);
    plan->method.sequence = true;
  }
  if (status == HL_OK) status = read_engine_axis(o, &plan->arena, engines, a, error);
  if (status == HL_OK) status = fix_convolutions(&base, &plan->arena, a, error);
  if (status == HL_OK) status = read_devices(o, &plan->arena, a, error);
  if (status == HL_OK)
    status = split(&plan->arena, hl_options_get(o, HL_OPTION_DTYPE), "dtype", &a->dtypes, error);
  if (status == HL_OK) status = check_dtypes(&a->dtypes, error);
  if (status == HL_OK && base.progressive) choose_type(o, base.progressive, a);
  if (status == HL_OK)
    status = read_threads(&plan->arena, o, default_threads, &a->threads, &a->thread_count, error);
  bool is_load = o->command == 'L';
  /* Queries are of several images, lest all lie in the cache. */
  if (is_load && !base.test_data && base.n_images == 0) base.n_images = load_images;
  a->load_count = 1;
  if (status == HL_OK && is_load)
    status = hl_load_specs_read(o, &plan->arena, &a->loads, &a->load_count, error);
  const char *sizes = hl_options_get(o, HL_OPTION_BATCH_SIZES);
  if (base.pipeline && !hl_options_given(o, HL_OPTION_BATCH_SIZES))
    sizes = HL_PIPELINE_PREDICT_BATCH_TEXT;
  if (base.progressive) sizes = "1";
  if (status == HL_OK) status = hl_batch_sizes_parse(sizes, &a->batches, &a->batch_count, error);
  if (status == HL_OK) status = fill(plan, &base, models, model_count, a, error);
  if (status == HL_OK && train && train->checkpoint && plan->count > 1)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--checkpoint %.200s is one file for %zu rows, which would replace each "
                          "other's; train them one by one",
                          train->checkpoint, plan->count);
  return status;
}

hl_status hl_plan_build(const hl_options *options, const hl_plan_model *models, size_t model_count,
                        int64_t default_threads, const hl_plan_engines *engines,
                        const hl_device_inventory *here, hl_plan *ret_plan, hl_error *error) {
  hl_plan plan = {0};
  axes a = {.here = here};
  hl_arena_init(&plan.arena, plan_bytes);
  hl_status status =
      build(options, models, model_count, default_threads, engines, &plan, &a, error);
  free(a.batches);
  if (status != HL_OK) {
    hl_plan_release(&plan);
    return status;
  }
  *ret_plan = plan;
  return HL_OK;
}

void hl_plan_release(hl_plan *plan) {
  hl_arena_release(&plan->arena);
  *plan = (hl_plan){0};
}
