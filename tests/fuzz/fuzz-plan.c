/* Whatever the bytes of a plan: an error that names it, or steps within bounds that the command
 * line can read. */
#include "driver.h"

#include "plan/plan-file.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A step is a command line: its words may be wrong, but not in a way that breaks the reader. */
static void read_step(const hl_plan_step *step) {
  hl_options options;
  hl_error error = {0};
  if (!step->entry || !step->model || step->word_count < 1) abort();
  for (size_t i = 1; i < step->word_count; i++)
    if (strncmp(step->words[i], "--", 2) != 0) abort();
  char **argv = (char **)(uintptr_t)step->words;
  hl_status status = hl_options_parse(step->command, (int)step->word_count, argv, &options, &error);
  if (status != HL_OK) { /* keys were known, and switches are switches */
    if (!strstr(error.msg, "is empty; a comma")) abort();
    return;
  }
  if (options.positional_count) abort();
  const hl_configuration c = {
      .engine = "native", .dtype = "float32", .device = "cpu", .batch_size = 1, .threads = 1};
  (void)hl_plan_step_excludes(step, &c);
  hl_options_release(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const overrides[] = {"batch-sizes=1,2", "a.seed=3"};
  hl_plan_file file;
  hl_error error = {0};
  hl_status status = hl_plan_file_parse((const char *)data, size, "input", overrides,
                                        size % 5 == 0 ? size % 3 : 0, size % 2, &file, &error);
  if (status != HL_OK) {
    if (error.status != status || !error.msg[0]) abort();
    return 0;
  }
  if (file.step_count == 0 || file.step_count > HL_PLAN_STEPS) abort();
  static const char *const filters[] = {"model=m,batch_sizes=quick", "inference", "dataset=s,t"};
  hl_error none = {0};
  if (size % 7 < 3 && hl_plan_file_only(&file, filters[size % 3], &none) != HL_OK) {
    if (!none.msg[0]) abort();
    hl_plan_file_release(&file);
    return 0;
  }
  for (size_t i = 0; i < file.step_count && i < 100; i++) read_step(&file.steps[i]);
  for (size_t i = 0; i < file.plot_count; i++)
    if (!file.plots[i].file || file.plots[i].y_count < 1 || file.plots[i].y_count > HL_PLAN_PANELS)
      abort();
  hl_plan_file_release(&file);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char *const seeds[] = {
      "name: n\ndescription: >-\n  words\n  more\noutput-dir: o\nexport-format: [json, md]\n"
      "defaults: &d {seed: 1, iterations: 5}\nentries:\n"
      "- name: a\n  model: mlp:hidden_dim={h}\n  matrix: {h: [1, 2], precision: [float32, int8]}\n"
      "  exclude: [{h: 1, precision: int8}, {threads: 2}]\n  require: [memory_mb < 1]\n"
      "- {name: b, workload: load, model: [x, y], qps: [1, 2], optional: true, <<: *d}\n"
      "plots:\n- {file: p, entries: a, x: h, y: [memory_mb, efficiency]}\n",
      "model: [a, 'b']\nbatch-sizes: 1-8*2\nseed: [1, 2]\nengine-option: {k: v}\ncounters: yes\n",
      "test_configurations:\n  datasets: {s: {n_images: 5, description: d}, t: 7}\n"
      "  models: {m: {gridsize: 1, N: 64}, n: 'mlp:hidden_dim=8'}\n"
      "  hardware: [gpu_single: x, cpu_baseline: y, z: {device: cpu, threads: 1}]\n"
      "  batch_sizes: {quick: [1, 8], memory_test: 1-64*2}\n"
      "  scenarios: [throughput, memory, latency: quick, energy: {batch_sizes: [2]}]\nshuffle: 3\n",
      "include: [a, b]\nentries: [{model: x}]\n",
      "&a [*a, {b: &c [1, *c]}, ? x : y]\n",
      "%YAML 1.1\n%TAG ! tag:x,2000:\n--- !!map\n\"a\\x41\": |+\n  block\n\n'b': >\n  fold\n...\n",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
