#include "cli/tune.h"

#include <string.h>

/* Objective, preset and what is weighed. */
static const hl_search_goal known[] = {
    {"speed_optimized", "throughput", {1, 0, 0, 0}, false},
    {"memory_optimized", "memory", {0, 0, 1, 0}, false},
    {"balanced", "balanced", {0, 0, 0, 0}, false},
    {"real_time", "latency", {0, 1, 0, 0}, false},
    {"real_time", "tail-latency", {0, 1, 0, 0}, true},
    {"energy_optimized", "energy", {0, 0, 0, 1}, false},
};

static hl_status add_share(hl_tuning_weights *w, const char *word, size_t length, hl_error *error) {
  char text[64];
  const char *equals = memchr(word, '=', length);
  double *const shares[] = {&w->throughput, &w->latency, &w->memory, &w->energy};
  static const char *const names[] = {"throughput", "latency", "memory", "energy"};
  if (length < sizeof text) {
    memcpy(text, word, length);
    text[length] = '\0';
    for (size_t i = 0; equals && i < HL_COUNT(names); i++)
      if (strlen(names[i]) == (size_t)(equals - word) &&
          strncmp(names[i], word, strlen(names[i])) == 0)
        return hl_parse_real(text + (equals - word) + 1, 0, 1e6, "--balance", shares[i], error);
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--balance: '%.*s' is not throughput, latency, memory or energy with '=' and "
                      "a number",
                      (int)(length < 100 ? length : 100), word);
}

static hl_status read_balance(const hl_options *options, hl_tuning_weights *ret_weights,
                              hl_error *error) {
  hl_tuning_weights w = {0};
  for (const char *at = hl_options_get(options, HL_OPTION_BALANCE); *at;) {
    size_t length = strcspn(at, ", ");
    hl_status status = length ? add_share(&w, at, length, error) : HL_OK;
    if (status != HL_OK) return status;
    at += length + (at[length] != '\0');
  }
  double sum = w.throughput + w.latency + w.memory + w.energy;
  if (!(sum > 0)) return hl_error_set(error, HL_INVALID_ARGUMENT, "--balance: no share is above 0");
  *ret_weights =
      (hl_tuning_weights){w.throughput / sum, w.latency / sum, w.memory / sum, w.energy / sum};
  return HL_OK;
}

static const hl_search_goal *find_goal(const char *word, size_t length) {
  for (size_t i = 0; i < HL_COUNT(known); i++)
    if (strlen(known[i].objective) == length && strncmp(known[i].objective, word, length) == 0)
      return &known[i];
  return NULL;
}

static hl_status check_new(const hl_search_goal *goals, size_t count, const hl_search_goal *goal,
                           hl_error *error) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(goals[i].preset, goal->preset) == 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--objective: %s and %s both are the preset %s: name one of them",
                          goals[i].objective, goal->objective, goal->preset);
  return HL_OK;
}

hl_status hl_tune_goals(const hl_options *options, hl_search_goal *ret_goals, size_t *ret_count,
                        hl_error *error) {
  hl_tuning_weights balance;
  hl_status status = read_balance(options, &balance, error);
  *ret_count = 0;
  for (const char *at = hl_options_get(options, HL_OPTION_OBJECTIVE); *at && status == HL_OK;) {
    size_t length = strcspn(at, ", ");
    const hl_search_goal *goal = find_goal(at, length);
    if (length && !goal)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--objective: '%.*s' is none of throughput, latency, tail-latency, "
                          "memory, energy, balanced",
                          (int)(length < 100 ? length : 100), at);
    if (goal) {
      status = check_new(ret_goals, *ret_count, goal, error);
      hl_search_goal *to = &ret_goals[*ret_count]; /* there are fewer presets than places */
      *to = *goal;
      if (strcmp(goal->objective, "balanced") == 0) to->weights = balance;
      (*ret_count)++;
    }
    at += length + (at[length] != '\0');
  }
  if (status == HL_OK && *ret_count == 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--objective: nothing is named");
  return status;
}
