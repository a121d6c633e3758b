#include "plan/progressive-spec.h"

#include "base/json-writer.h"
#include "plan/configuration.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const optimization_names[HL_OPTIMIZE_COUNT] = {
    "grid-cache",  "fft-plan-cache",  "measurement-cache", "kept-spectrum",
    "matrix-dft",  "real-input",      "incremental-mask",  "same-pass-metrics",
    "one-forward", "fused-generator", "mixed-precision"};

static const hl_progressive_spec scenarios[] = {
    {.scenario = "standard",
     .samples = 100,
     .rounds = 1,
     .epochs = 1,
     .radius = 20,
     .pattern = "fermat",
     .optimizer = HL_OPTIMIZER_ADAM,
     .rate = 1e-3,
     .cache_mb = 256},
    {.scenario = "progressive",
     .samples = 20,
     .rounds = 50,
     .epochs = 1,
     .radius = 20,
     .pattern = "fermat",
     .optimizer = HL_OPTIMIZER_ADAM,
     .rate = 1e-3,
     .cache_mb = 256},
};

void hl_optimizations_format(unsigned optimizations, hl_text *out) {
  if (optimizations == 0 || optimizations == HL_OPTIMIZE_ALL) {
    hl_text_append(out, optimizations ? "all" : "none");
    return;
  }
  bool all = (optimizations & HL_OPTIMIZE_ALL) == HL_OPTIMIZE_ALL, first = !all;
  if (all) hl_text_append(out, "all");
  for (unsigned i = 0; i < HL_OPTIMIZE_COUNT; i++) {
    bool named = optimizations & 1u << i && !(all && HL_OPTIMIZE_ALL & 1u << i);
    if (!named) continue;
    hl_text_format(out, "%s%s", first ? "" : ",", optimization_names[i]);
    first = false;
  }
}

static const hl_progressive_spec *find_scenario(const char *name) {
  for (size_t i = 0; i < HL_COUNT(scenarios); i++)
    if (strcmp(name, scenarios[i].scenario) == 0) return &scenarios[i];
  return NULL;
}

static bool same_rate(const hl_progressive_spec *a, const hl_progressive_spec *b) {
  return !(a->rate < b->rate) && !(a->rate > b->rate);
}

const char *hl_progressive_spec_name(const hl_progressive_spec *spec) {
  const hl_progressive_spec *s = find_scenario(spec->scenario);
  bool same = s && s->samples == spec->samples && s->rounds == spec->rounds &&
              s->epochs == spec->epochs && !(s->radius < spec->radius) &&
              !(s->radius > spec->radius) && strcmp(s->pattern, spec->pattern) == 0 &&
              isnan(spec->snr_db) && s->optimizer == spec->optimizer && same_rate(s, spec);
  return same ? s->scenario : "custom";
}

/* -- reading ----------------------------------------------------------------------------------- */

static hl_status find_optimization(hl_option_id option, const char *word, size_t length,
                                   unsigned *ret_bits, hl_error *error) {
  if (length == 3 && memcmp(word, "all", 3) == 0) {
    *ret_bits |= HL_OPTIMIZE_ALL;
    return HL_OK;
  }
  if (length == 4 && memcmp(word, "none", 4) == 0) return HL_OK;
  for (unsigned i = 0; i < HL_OPTIMIZE_COUNT; i++)
    if (strlen(optimization_names[i]) == length &&
        memcmp(optimization_names[i], word, length) == 0) {
      *ret_bits |= 1u << i;
      return HL_OK;
    }
  hl_text names = HL_TEXT_INIT;
  for (unsigned i = 0; i < HL_OPTIMIZE_COUNT; i++)
    hl_text_format(&names, ", %s", optimization_names[i]);
  hl_status status = hl_error_set(error, HL_INVALID_ARGUMENT, "--%s: '%.*s' is none of all, none%s",
                                  hl_option_name(option), (int)(length < 60 ? length : 60), word,
                                  names.failed ? "" : names.data);
  hl_text_release(&names);
  return status;
}

/* Words with commas. */
static hl_status read_optimizations(const hl_options *o, hl_option_id option, unsigned *ret_bits,
                                    hl_error *error) {
  const char *at = hl_options_get(o, option);
  hl_status status = HL_OK;
  size_t words = 0;
  bool none = false;
  *ret_bits = 0;
  if (!at) return HL_OK;
  for (size_t length; status == HL_OK && *(at += strspn(at, ", ")); at += length) {
    length = strcspn(at, ", ");
    none = none || (length == 4 && memcmp(at, "none", 4) == 0);
    status = find_optimization(option, at, length, ret_bits, error);
    words++;
  }
  if (status == HL_OK && (words == 0 || (none && *ret_bits)))
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--%s: %s", hl_option_name(option),
                          words ? "none stands alone" : "no name in it; none is said by 'none'");
  return status;
}

static hl_status read_pattern(const hl_options *o, hl_arena *arena, hl_progressive_spec *spec,
                              hl_error *error) {
  static const char *const known[] = {"fermat", "random", "star", "grid"};
  const char *given = hl_options_get(o, HL_OPTION_PATTERN);
  if (!given) return HL_OK;
  for (size_t i = 0; i < HL_COUNT(known); i++)
    if (strcmp(given, known[i]) == 0) {
      spec->pattern = hl_arena_text(arena, given);
      return spec->pattern ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
    }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--pattern: '%.60s' is none of fermat, random, star, grid", given);
}

static hl_status read_numbers(const hl_options *o, hl_progressive_spec *spec, hl_error *error) {
  const struct {
    hl_option_id id;
    int64_t least, most, *value;
  } counts[] = {
      {HL_OPTION_SAMPLES, 1, HL_PROGRESSIVE_COUNT_LIMIT, &spec->samples},
      {HL_OPTION_ROUNDS, 1, HL_PROGRESSIVE_COUNT_LIMIT, &spec->rounds},
      {HL_OPTION_EPOCHS, 1, HL_PROGRESSIVE_COUNT_LIMIT, &spec->epochs},
      {HL_OPTION_CACHE_LIMIT, 0, HL_PROGRESSIVE_CACHE_LIMIT, &spec->cache_mb},
  };
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(counts) && status == HL_OK; i++)
    status = hl_options_int(o, counts[i].id, counts[i].least, counts[i].most, *counts[i].value,
                            counts[i].value, error);
  /* What the image allows is known to the worker. */
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_APERTURE_RADIUS, 0, HL_PROGRESSIVE_RADIUS_LIMIT,
                             spec->radius, &spec->radius, error);
  if (status == HL_OK && !(spec->radius > 0))
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--aperture-radius: 0 lets nothing through; above 0, and at most half of "
                          "the image");
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SNR, -100, 300, (double)NAN, &spec->snr_db, error);
  if (status == HL_OK && spec->samples * spec->rounds > HL_PROGRESSIVE_COUNT_LIMIT)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--samples times --rounds is %" PRId64 "; a pass has %d at most",
                          spec->samples * spec->rounds, HL_PROGRESSIVE_COUNT_LIMIT);
  return status;
}

static hl_status read_optimizer(const hl_options *o, hl_progressive_spec *spec, hl_error *error) {
  const char *name = hl_options_get(o, HL_OPTION_OPTIMIZER);
  bool known = !name || hl_optimizer_from_name(name, &spec->optimizer);
  if (!known || spec->optimizer == HL_OPTIMIZER_ADAMW)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--optimizer: '%.60s' is none of adam, sgd, which progressive imaging has",
                        name);
  return hl_options_real(o, HL_OPTION_LEARNING_RATE, 0, 1e6, spec->rate, &spec->rate, error);
}

static hl_status check_alone(const hl_options *o, hl_error *error) {
  static const hl_option_id of_imaging[] = {
      HL_OPTION_SAMPLES,         HL_OPTION_ROUNDS,   HL_OPTION_OBJECT,
      HL_OPTION_APERTURE_RADIUS, HL_OPTION_PATTERN,  HL_OPTION_SNR,
      HL_OPTION_CACHE_LIMIT,     HL_OPTION_OPTIMIZE, HL_OPTION_NO_OPTIMIZE};
  static const struct {
    hl_option_id id;
    const char *others; /* commands that have one of their own */
  } shared[] = {{HL_OPTION_SCENARIO, "LTK"},
                {HL_OPTION_EPOCHS, "LTK"},
                {HL_OPTION_OPTIMIZER, "TYFK"},
                {HL_OPTION_LEARNING_RATE, "TYFK"}};
  for (size_t i = 0; i < HL_COUNT(of_imaging) + HL_COUNT(shared); i++) {
    bool is_shared = i >= HL_COUNT(of_imaging);
    size_t k = is_shared ? i - HL_COUNT(of_imaging) : 0;
    hl_option_id id = is_shared ? shared[k].id : of_imaging[i];
    bool other = is_shared && o->command && strchr(shared[k].others, o->command);
    if (hl_options_given(o, id) && !other)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s is of progressive imaging: give --progressive, too",
                          hl_option_name(id));
  }
  return HL_OK;
}

static hl_status check_together(const hl_options *o, hl_error *error) {
  if (hl_options_on(o, HL_OPTION_PIPELINE))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--pipeline and --progressive are two workloads: give one of them");
  if (hl_options_on(o, HL_OPTION_ADAPTIVE_SIZING))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--adaptive-sizing is for a network alone: progressive imaging has one "
                        "picture at a time");
  if (hl_options_given(o, HL_OPTION_BATCH_SIZES) &&
      strcmp(hl_options_get(o, HL_OPTION_BATCH_SIZES), "1") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--batch-sizes: progressive imaging has one picture at a time");
  if (hl_options_given(o, HL_OPTION_TEST_DATA))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--test-data is not for progressive imaging: --object FILE is the picture "
                        "that is measured");
  return HL_OK;
}

hl_status hl_progressive_spec_read(const hl_options *options, hl_arena *arena,
                                   const hl_progressive_spec **ret_spec, hl_error *error) {
  const hl_options *o = options;
  *ret_spec = NULL;
  if (!hl_options_on(o, HL_OPTION_PROGRESSIVE)) return check_alone(o, error);
  hl_status status = check_together(o, error);
  if (status != HL_OK) return status;
  /* An operand of compare has the default of a load test. */
  bool named = hl_options_given(o, HL_OPTION_SCENARIO);
  const char *name = named ? hl_options_get(o, HL_OPTION_SCENARIO) : "standard", *object;
  const hl_progressive_spec *scenario = find_scenario(name);
  if (!scenario)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--scenario: '%.60s' is none of standard, progressive", name);
  hl_progressive_spec *spec = hl_arena_array(arena, 1, sizeof *spec);
  if (!spec) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  *spec = *scenario;
  unsigned left_out = 0;
  status = read_numbers(o, spec, error);
  if (status == HL_OK) status = read_pattern(o, arena, spec, error);
  if (status == HL_OK) status = read_optimizer(o, spec, error);
  if (status == HL_OK)
    status = read_optimizations(o, HL_OPTION_OPTIMIZE, &spec->optimizations, error);
  if (status == HL_OK) status = read_optimizations(o, HL_OPTION_NO_OPTIMIZE, &left_out, error);
  if (status != HL_OK) return status;
  spec->optimizations &= ~left_out;
  object = hl_options_get(o, HL_OPTION_OBJECT);
  if (object && strcmp(object, "generated") != 0) {
    spec->object = hl_arena_text(arena, object);
    if (!spec->object) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  }
  *ret_spec = spec;
  return HL_OK;
}

static void append_real(hl_text *out, const char *name, double value) {
  char text[32];
  hl_json_format_real(value, text);
  hl_text_format(out, " --%s %s", name, text);
}

void hl_progressive_spec_options(const hl_progressive_spec *spec, hl_text *out) {
  const hl_progressive_spec *s = find_scenario(spec->scenario);
  hl_text_format(out, " --progressive --scenario %s", spec->scenario);
  if (spec->samples != s->samples) hl_text_format(out, " --samples %" PRId64, spec->samples);
  if (spec->rounds != s->rounds) hl_text_format(out, " --rounds %" PRId64, spec->rounds);
  if (spec->epochs != s->epochs) hl_text_format(out, " --epochs %" PRId64, spec->epochs);
  if (spec->object) {
    hl_text_append(out, " --object ");
    hl_shell_quote(out, spec->object);
  }
  if (spec->radius < s->radius || spec->radius > s->radius)
    append_real(out, "aperture-radius", spec->radius);
  if (strcmp(spec->pattern, s->pattern) != 0) hl_text_format(out, " --pattern %s", spec->pattern);
  if (!isnan(spec->snr_db)) append_real(out, "snr", spec->snr_db);
  if (spec->optimizer != s->optimizer)
    hl_text_format(out, " --optimizer %s", hl_optimizer_name(spec->optimizer));
  if (!same_rate(spec, s)) append_real(out, "learning-rate", spec->rate);
  if (spec->cache_mb != s->cache_mb) hl_text_format(out, " --cache-limit %" PRId64, spec->cache_mb);
  if (spec->optimizations == HL_OPTIMIZE_ALL) return;
  hl_text_append(out, " --optimize ");
  hl_optimizations_format(spec->optimizations, out);
}
