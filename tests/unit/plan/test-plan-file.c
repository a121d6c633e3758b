#include "plan/plan-file.h"

#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_plan_file good_with(const char *text, const char *const *overrides, size_t count) {
  hl_error error = {0};
  hl_plan_file file;
  if (hl_plan_file_parse(text, strlen(text), "p.yaml", overrides, count, false, &file, &error) !=
      HL_OK)
    fail_msg("%s", error.msg);
  return file;
}

static hl_plan_file good(const char *text) {
  return good_with(text, NULL, 0);
}

static void refused_with(const char *text, const char *const *overrides, size_t count,
                         hl_status status, const char *part) {
  hl_error error = {0};
  hl_plan_file file;
  assert_int_equal(
      hl_plan_file_parse(text, strlen(text), "p.yaml", overrides, count, false, &file, &error),
      status);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in: %s", part, error.msg);
}

static void refused(const char *text, const char *part) {
  refused_with(text, NULL, 0, HL_BAD_DATA, part);
}

/* "entry: MODEL --word --word" of a step. */
static void is_step(const hl_plan_file *file, size_t index, const char *expected) {
  assert_true(index < file->step_count);
  const hl_plan_step *step = &file->steps[index];
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%s: %s", step->entry, step->model);
  for (size_t i = 1; i < step->word_count; i++) hl_text_format(&text, " %s", step->words[i]);
  assert_string_equal(text.data, expected);
  hl_text_release(&text);
}

static void keys_are_those_of_the_command_line(void **unused) {
  (void)unused;
  hl_plan_file file =
      good("name: all\ndescription: of it\noutput_dir: out\nexport-format: [json, md]\n"
           "defaults: {warmup: 10, measurement_iterations: 100, counters: yes}\n"
           "entries:\n"
           "- {name: a, model: mlp, batch_sizes: [1, 8], precision: float32}\n"
           "- {model: linear, batch: 2, iterations: 5, counters: false}\n"
           "- name: c\n  workload: load\n  model: m.onnx\n  qps: [10, 20]\n  optional: true\n"
           "  engine-option: {native.winograd: off, x: 1}\n  threads: ~\n");
  assert_string_equal(file.name, "all");
  assert_string_equal(file.description, "of it");
  assert_int_equal(file.word_count, 2);
  assert_string_equal(file.words[0], "--output-dir=out");
  assert_string_equal(file.words[1], "--export-format=json,md");
  assert_int_equal(file.step_count, 3);
  is_step(&file, 0,
          "a: mlp --batch-sizes=1,8 --dtype=float32 --warmup-iterations=10 --iterations=100 "
          "--counters");
  is_step(&file, 1, "entry-2: linear --batch-sizes=2 --iterations=5 --warmup-iterations=10");
  /* What a load test has no use for is for the others. */
  is_step(&file, 2,
          "c: m.onnx --qps=10,20 --engine-option=native.winograd=off --engine-option=x=1");
  assert_int_equal(file.steps[2].command, 'L');
  assert_true(file.steps[2].optional);
  assert_false(file.steps[0].optional);
  hl_plan_file_release(&file);
  file = good("model: [a, b]\nbatch-sizes: 4\n"); /* one entry needs no list */
  assert_int_equal(file.step_count, 2);
  is_step(&file, 1, "entry-1: b --batch-sizes=4");
  hl_plan_file_release(&file);
}

static void a_matrix_is_a_product(void **unused) {
  (void)unused;
  hl_plan_file file =
      good("entries:\n- name: e\n  model: mlp:hidden_dim={hidden},input_dim={in-dim}\n"
           "  matrix: {hidden: [1, 2], in-dim: 8, precision: [float32, bfloat16]}\n"
           "  seed: [5, 6]\n  test-data: '{{{hidden}.npz'\n"
           "  exclude: [{hidden: 2, dtype: bfloat16}, {seed: 06, hidden: [1, 7]}]\n");
  assert_int_equal(file.step_count, 4);
  is_step(&file, 0, "e: mlp:hidden_dim=1,input_dim=8 --test-data={1.npz --dtype=float32 --seed=5");
  is_step(&file, 1, "e: mlp:hidden_dim=1,input_dim=8 --test-data={1.npz --dtype=bfloat16 --seed=5");
  is_step(&file, 2, "e: mlp:hidden_dim=2,input_dim=8 --test-data={2.npz --dtype=float32 --seed=5");
  is_step(&file, 3, "e: mlp:hidden_dim=2,input_dim=8 --test-data={2.npz --dtype=float32 --seed=6");
  hl_plan_file_release(&file);
}

static void excludes_tell_rows(void **unused) {
  (void)unused;
  hl_plan_file file = good("model: mlp\nbatch-sizes: [1, 8]\nengine: [native, onnxruntime]\n"
                           "exclude:\n- {engine: onnxruntime, batch: [8, 16]}\n- {threads: 2}\n");
  const hl_plan_step *step = &file.steps[0];
  hl_configuration c = {.engine = "onnxruntime", .batch_size = 8, .threads = 1};
  assert_true(hl_plan_step_excludes(step, &c));
  c.batch_size = 1;
  assert_false(hl_plan_step_excludes(step, &c));
  c.batch_size = 16;
  c.engine = "native";
  assert_false(hl_plan_step_excludes(step, &c));
  c.threads = 2;
  assert_true(hl_plan_step_excludes(step, &c));
  hl_plan_file_release(&file);
}

static void overrides_are_stronger(void **unused) {
  (void)unused;
  static const char text[] =
      "entries:\n- {name: a, model: 'm:h={h}', matrix: {h: [1, 2]}, batch: 3}\n"
      "- {name: b, model: [x, y], precision: [float32, bfloat16]}\n";
  const char *const all[] = {"batch-sizes=4,5", "a.h=7", "b.model=z:u=1,v=2", "precision=float16",
                             "native.isa=avx2"};
  hl_plan_file file = good_with(text, all, HL_COUNT(all));
  assert_int_equal(file.step_count, 2);
  is_step(&file, 0, "a: m:h=7 --batch-sizes=4,5 --dtype=float16 --engine-option=native.isa=avx2");
  is_step(&file, 1,
          "b: z:u=1,v=2 --batch-sizes=4,5 --dtype=float16 --engine-option=native.isa=avx2");
  hl_plan_file_release(&file);
  const char *const unknown[] = {"precisoin=float32"};
  refused_with(text, unknown, 1, HL_INVALID_ARGUMENT, "no entry of the plan has 'precisoin'");
  const char *const word[] = {"float32"};
  refused_with(text, word, 1, HL_INVALID_ARGUMENT, "'float32' is no KEY=VALUE");
  const char *const elsewhere[] = {"b.h=7"};
  refused_with(text, elsewhere, 1, HL_INVALID_ARGUMENT, "no entry of the plan has 'h'");
}

static void plots_are_read(void **unused) {
  (void)unused;
  hl_plan_file file = good("entries: [{name: a, model: m}]\nplots:\n"
                           "- {file: p, title: T, entries: a, y: [throughput_ips, memory_mb]}\n"
                           "- {file: q, x: hidden_dim, y: latency_p50_ms}\n");
  assert_int_equal(file.plot_count, 2);
  assert_string_equal(file.plots[0].x, "batch_size");
  assert_int_equal(file.plots[0].y_count, 2);
  assert_string_equal(file.plots[0].entries[0], "a");
  assert_string_equal(file.plots[1].x, "hidden_dim");
  hl_plan_file_release(&file);
  refused("model: m\nplots: [{file: ../p, y: memory_mb}]\n", "p.yaml:2:9: the file of a plot");
  refused("model: m\nplots: [{file: p}]\n", "1 to 6 metrics");
  refused("model: m\nplots: [{file: p, y: a}, {file: p, y: a}]\n", "two plots have the file 'p'");
  refused("entries: [{name: a, model: m}]\nplots: [{file: p, y: a, entries: b}]\n",
          "no entry is called 'b'");
  refused("model: m\nplots: [{file: p, yy: a}]\n", "p.yaml:2:19: unknown key 'yy'");
  refused("model: m\nplots: 3\n", "takes a list");
}

static const char matrix[] = "defaults: {min-time: 1}\n"
                             "test_configurations:\n"
                             "  datasets: {s: {n_images: 5}, t: 7}\n"
                             "  models: {m: {gridsize: 2, N: 128, threads: 3}, n: linear}\n"
                             "  hardware: [cpu_baseline: words, gpu_multi: words]\n"
                             "  batch_sizes: {quick: [8, 16], memory_test: 1-4*2}\n"
                             "  scenarios: [memory, latency: quick]\n";

static void test_configurations_become_entries(void **unused) {
  (void)unused;
  hl_plan_file file = good(matrix);
  assert_true(file.matrix);
  assert_int_equal(file.step_count, 16);
  is_step(&file, 0,
          "s/m/cpu_baseline/memory: ptychopinn:gridsize=2,N=128 --threads=3 --n-images=5 "
          "--device=cpu --batch-sizes=1-4*2 --adaptive-sizing --min-time=1");
  assert_true(file.steps[0].optional);
  /* The defaults say how long, so that no steps are asked for. */
  is_step(&file, 1,
          "s/m/cpu_baseline/latency: ptychopinn:gridsize=2,N=128 --threads=3 --n-images=5 "
          "--device=cpu --batch-sizes=8,16 --min-time=1");
  assert_false(file.steps[1].optional);
  is_step(&file, 15,
          "t/n/gpu_multi/latency: linear --n-images=7 --device=cuda:0+1 --engine=torch "
          "--batch-sizes=8,16 --min-time=1");
  assert_int_equal(file.steps[15].where->line, 4);
  assert_int_equal(file.steps[15].where->column, 50);
  hl_error error = {0};
  assert_int_equal(
      hl_plan_file_only(&file, "model=m,scenario=latency,batch_sizes=quick,threads=3", &error),
      HL_OK);
  assert_int_equal(file.step_count, 4);
  hl_configuration c = {.engine = "native", .batch_size = 8, .threads = 3};
  assert_false(hl_plan_step_excludes(&file.steps[0], &c));
  c.batch_size = 4;
  assert_true(hl_plan_step_excludes(&file.steps[0], &c));
  c.batch_size = 16;
  c.threads = 2;
  assert_true(hl_plan_step_excludes(&file.steps[0], &c));
  HL_CLEANUP(hl_free_pointer) char *text = hl_plan_file_text(&file);
  hl_plan_file_release(&file);
  file = good(text); /* as the store keeps it */
  assert_int_equal(file.step_count, 16);
  hl_plan_file_release(&file);
}

static const char parted[] =
    "entries:\n"
    "  - {name: a, model: m, batch-sizes: [1, 2]}\n"
    "  - {name: b, model: m}\n"
    "  - {name: c, model: m}\n"
    "parts: {ends: 'entry=a,c', small: [entry=a, batch-sizes=1], nothing: ~}\n";

/* The names of the entries that are left, or the error. */
static void only_leaves(const char *only, const char *expected) {
  hl_plan_file file = good(parted);
  hl_error error = {0};
  hl_text names = HL_TEXT_INIT;
  if (hl_plan_file_only(&file, only, &error) != HL_OK) hl_text_append(&names, error.msg);
  for (size_t i = 0; !error.msg[0] && i < file.step_count; i++)
    hl_text_format(&names, "%s ", file.steps[i].entry);
  assert_non_null(strstr(names.data, expected));
  assert_int_equal(names.length == 0, expected[0] == 0);
  hl_text_release(&names);
  hl_plan_file_release(&file);
}

static void a_part_is_what_it_stands_for(void **unused) {
  (void)unused;
  only_leaves("ends", "a c ");
  only_leaves("small", "a ");
  only_leaves("nothing", "");
  only_leaves("b", "b ");
  only_leaves("b,c", "b c ");
  only_leaves("entry=b", "b ");
  only_leaves("sequence", "no workload 'sequence'");
  only_leaves("sequence", "ends, small, nothing");
  only_leaves("optimize=none", "no optimize 'none'");
  refused("entries: [{model: m}]\nparts: {training: a}\n", "'training' is a workload");
  refused("entries: [{model: m}]\nparts: [a]\n", "'parts' takes a mapping");
  refused("entries: [{model: m}]\nparts: {a: {b: c}}\n", "a part takes what --only takes");
  refused("entries: [{model: m}]\nreport: other\n", "'report' takes phase5");
  refused("entries: [{model: m}]\nprofile: resnet50\n", "'profile' takes a list");
}

static void what_is_no_plan_is_refused(void **unused) {
  (void)unused;
  refused("[1]\n", "p.yaml:1:1: a plan is a mapping");
  refused("modle: mlp\n", "p.yaml:1:1: unknown key 'modle'; did you mean 'model'?");
  refused("entries: []\n", "takes a list of 1 to 1000");
  refused("entries: {a: 1}\n", "takes a list of 1 to 1000");
  refused("entries: [3]\n", "an entry is a mapping");
  refused("entries: [{model: m}]\nmodel: x\n", "p.yaml:2:1: 'model' stands beside the entries");
  refused("entries: [{model: m}]\nnaem: x\n", "did you mean 'name'?");
  refused("entries: [{model: m}]\nresume: true\n", "is for the command line");
  refused("entries: [{model: m, quiet: true}]\n", "'quiet' is of the whole run");
  refused("entries: [{model: m, batch-size: 1, batch: 2}]\n",
          "p.yaml:1:37: 'batch' is given twice");
  refused("entries: [{model: m, matrix: {batch: 2}, batch-sizes: 1}]\n", "given twice");
  refused("entries: [{batch: 2}]\n", "p.yaml:1:11: entry 'entry-1' has no model");
  refused("entries: [{model: m, excludes: 1}]\n", "did you mean 'exclude'?");
  refused("entries: [{model: m, xyzzyx: 1}]\n", "unknown key 'xyzzyx'; the keys of inference");
  refused("entries: [{model: m, workload: sleeping}]\n",
          "a workload is inference, pipeline, progressive, load, training or memory");
  refused("entries: [{model: m, qps: 3}]\n", "unknown key 'qps'");
  refused("entries: [{model: m, counters: maybe}]\n", "'counters' takes true or false");
  refused("entries: [{model: m, threads: {a: 1}}]\n", "'threads' takes a value or a list");
  refused("entries: [{model: m, threads: []}]\n", "at least one value");
  refused("entries: [{model: [], threads: 1}]\n", "'model' takes a value or a list");
  refused("entries: [{model: m, threads: [[1]]}]\n", "values, not lists of lists");
  refused("entries: [{model: m, matrix: [1]}]\n", "'matrix' takes a mapping");
  refused("entries: [{model: m, matrix: {h: 1}}]\n", "'h' is no option of inference, and no value");
  refused("entries: [{model: 'm:{h}', matrix: {i: 1}}]\n",
          "{h}: the matrix of entry 'entry-1' has no such key");
  refused("entries: [{model: m, exclude: {h: 1}}]\n", "'h' tells no rows apart");
  refused("entries: [{model: m, exclude: {seed: 1}}]\n", "'seed' tells no rows apart");
  refused("entries: [{model: m, exclude: 4}]\n", "'exclude' takes mappings");
  refused("entries: [{model: m, exclude: [4]}]\n", "'exclude' takes mappings");
  refused("entries: [{model: m, seed: [1], exclude: {seed: 1}}]\n", "leave nothing");
  refused("entries: [{model: m, name: a b}]\n", "the name of an entry");
  refused("entries: [{model: m, name: a}, {model: m, name: a}]\n", "two entries are called 'a'");
  refused("defaults: {name: x}\nentries: [{model: m}]\n",
          "'name' is of an entry, not of the defaults");
  refused("defaults: {sede: 1}\nentries: [{model: m}]\n",
          "p.yaml:1:12: unknown key 'sede'; did you mean 'seed'?");
  refused("defaults: [1]\nentries: [{model: m}]\n", "'defaults' takes a mapping");
  refused("model: m\ndefaults: {seed: 1}\n", "there is no 'entries'");
  refused("model: m\nskip-failed: 3\n", "takes true or false");
  refused("model: m\nname: [1]\n", "'name' takes a text");
}

/* 11^4 combinations; a plan has at most 10000. */
static void products_are_bounded(void **unused) {
  (void)unused;
  static const char list[] = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "model: 'm:{a}{b}{c}{d}'\nmatrix: {a: %s, b: %s, c: %s", list, list, list);
  size_t length = text.length;
  hl_text_append(&text, ", d: 1}\n");
  hl_plan_file file = good(text.data);
  assert_int_equal(file.step_count, 1331);
  hl_plan_file_release(&file);
  text.data[text.length = length] = '\0';
  hl_text_format(&text, ", d: %s}\n", list);
  refused_with(text.data, NULL, 0, HL_LIMIT, "more than 10000 combinations");
  hl_text_release(&text);
}

/* The plan's own small form, below what the command line says. */
static void quick_is_a_form_of_the_plan(void **unused) {
  (void)unused;
  static const char text[] = "quick: {batch-sizes: [1, 2], a.iterations: 3, seed: 7}\n"
                             "entries:\n"
                             "- {name: a, model: mlp, batch-sizes: [1, 4, 8], iterations: 9}\n"
                             "- {name: b, model: mlp, iterations: 9, seed: [1, 2]}\n";
  static const char *const given[] = {"seed=5"};
  hl_plan_file file;
  hl_error error = {0};
  assert_int_equal(hl_plan_file_parse(text, strlen(text), "p.yaml", given, 1, true, &file, &error),
                   HL_OK);
  assert_int_equal(file.step_count, 2);
  is_step(&file, 0, "a: mlp --batch-sizes=1,2 --iterations=3 --seed=5");
  is_step(&file, 1, "b: mlp --iterations=9 --batch-sizes=1,2 --seed=5");
  hl_plan_file_release(&file);
  file = good(text);
  assert_int_equal(file.step_count, 3);
  is_step(&file, 0, "a: mlp --batch-sizes=1,4,8 --iterations=9");
  hl_plan_file_release(&file);
  file = good("quick: {seed: 1}\nmodel: mlp\n"); /* of a plan that is one entry, too */
  hl_plan_file_release(&file);
  static const struct {
    const char *text, *part;
  } bad[] = {{"model: mlp", "a mapping 'quick' does"},
             {"quick: 3\nmodel: mlp", "p.yaml:1:8: 'quick' takes a mapping"},
             {"quick: {seed: {a: 1}}\nmodel: mlp", "'seed' takes a text or a list"},
             {"quick: {sead: 1}\nmodel: mlp", "did you mean 'seed'?"}};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    error = (hl_error){0};
    assert_int_not_equal(hl_plan_file_parse(bad[i].text, strlen(bad[i].text), "p.yaml", NULL, 0,
                                            true, &file, &error),
                         HL_OK);
    if (!strstr(error.msg, bad[i].part)) fail_msg("'%s' is not in: %s", bad[i].part, error.msg);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_are_those_of_the_command_line),
      cmocka_unit_test(a_matrix_is_a_product),
      cmocka_unit_test(excludes_tell_rows),
      cmocka_unit_test(overrides_are_stronger),
      cmocka_unit_test(quick_is_a_form_of_the_plan),
      cmocka_unit_test(plots_are_read),
      cmocka_unit_test(test_configurations_become_entries),
      cmocka_unit_test(a_part_is_what_it_stands_for),
      cmocka_unit_test(what_is_no_plan_is_refused),
      cmocka_unit_test(products_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
