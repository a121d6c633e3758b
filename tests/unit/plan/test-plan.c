/* Options become configurations: order of the product, names of engines, contradictions. */
#include "plan/configuration.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const hl_plan_model two_models[] = {{.name = "mlp", .is_builtin = true},
                                           {.name = "net.onnx"}};

static hl_status build(const char *line, size_t model_count, hl_plan *ret_plan, hl_error *error) {
  char copy[1024];
  char *arguments[64];
  int count = 0;
  strncpy(copy, line, sizeof copy - 1);
  copy[sizeof copy - 1] = '\0';
  arguments[count++] = copy + strlen(copy);
  for (char *part, *rest = copy; (part = strsep(&rest, " "));)
    if (part[0]) arguments[count++] = part;
  hl_options options;
  hl_status status = hl_options_parse('S', count, arguments, &options, error);
  assert_int_equal(status, HL_OK);
  /* The strings of a plan outlive the options but not argv; copied where a test looks at them. */
  status = hl_plan_build(&options, two_models, model_count, 6, NULL, NULL, ret_plan, error);
  hl_options_release(&options);
  return status;
}

static void rows_come_in_order(void **state) {
  (void)state;
  static const struct {
    const char *line, *rows;
    size_t models;
  } cases[] = {
      {"--batch-sizes 1,8", "mlp native float32 6 1|mlp native float32 6 8|", 1},
      {"--batch-sizes 1 --threads 1,2 --dtype float32,bfloat16",
       "mlp native float32 1 1|mlp native float32 2 1|mlp native bfloat16 1 1|"
       "mlp native bfloat16 2 1|",
       1},
      {"--batch-sizes 1,2 --engine null,native",
       "mlp null float32 6 1|mlp null float32 6 2|mlp native float32 6 1|mlp native float32 6 2|"
       "net.onnx null float32 6 1|net.onnx null float32 6 2|net.onnx native float32 6 1|"
       "net.onnx native float32 6 2|",
       2},
      {"--batch-sizes 1 --framework pytorch", "mlp torch float32 6 1|", 1},
      {"--batch-sizes 1 --framework both", "mlp torch float32 6 1|mlp jax float32 6 1|", 1},
      {"--batch-sizes 1 --framework pytorch,torch,jax",
       "mlp torch float32 6 1|mlp jax float32 6 1|", 1},
      {"--batch-sizes 1 --engine tf,pytorch,tensorflow",
       "mlp tensorflow float32 6 1|mlp torch float32 6 1|", 1},
      {"--batch-sizes 1 --engine tf --plugin tf.so", "mlp tf float32 6 1|", 1},
      {"--batch-sizes 1 --framework pytorch --engine null", "mlp null float32 6 1|", 1},
      {"--batch-sizes 8,8 --threads 2,2,02 --dtype float32,float32 --engine null,null",
       "mlp null float32 2 8|", 1},
      {"--batch-sizes 1 --threads 3 4", "mlp native float32 3 1|mlp native float32 4 1|", 1},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_plan plan;
    hl_error error = {0};
    if (build(cases[i].line, cases[i].models, &plan, &error) != HL_OK)
      fail_msg("%s: %s", cases[i].line, error.msg);
    hl_text rows = HL_TEXT_INIT;
    for (size_t k = 0; k < plan.count; k++) {
      const hl_configuration *c = &plan.items[k];
      hl_text_format(&rows, "%s %s %s %" PRId64 " %" PRId64 "|", c->model, c->engine, c->dtype,
                     c->threads, c->batch_size);
      assert_int_equal(c->is_builtin, strcmp(c->model, "mlp") == 0);
      assert_int_equal(c->seed, 42);
      assert_null(c->test_data);
    }
    assert_string_equal(rows.data, cases[i].rows);
    hl_text_release(&rows);
    hl_plan_release(&plan);
  }
}

static void contradictions_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *line, *part;
  } cases[] = {
      {"--min-time 5 --max-time 2", "--min-time"},
      {"--iterations 5 --num-runs 5", "--num-runs"},
      {"--iterations 0", "--iterations"},
      {"--num-runs x", "--num-runs"},
      {"--max-time 0", "--max-time"},
      {"--dtype float31", "float31"},
      {"--dtype ,", "--dtype"},
      {"--engine ,", "--engine"},
      {"--threads 0", "--threads"},
      {"--threads 1,x", "--threads"},
      {"--batch-sizes 0", "--batch-sizes"},
      {"--n-images 0", "--n-images"},
      {"--seed -1", "--seed"},
      {"--warmup-iterations -2", "--warmup-iterations"},
      {"--warmup-runs -1", "--warmup-runs"},
      {"--simulated-clock 5", "--simulated-clock"},
      {"--simulated-clock 5+", "--simulated-clock"},
      {"--simulated-clock +5", "--simulated-clock"},
      {"--simulated-clock 0+0", "--simulated-clock"},
      {"--simulated-clock -1+5", "--simulated-clock"},
      {"--simulated-clock inf+1", "--simulated-clock"},
      {"--simulated-clock nan+1", "--simulated-clock"},
      {"--simulated-clock 1+1x", "--simulated-clock"},
      {"--device=", "--device"},
      {"--test-data m\xFCller.npz", "UTF-8"},
      {"--engine-option a=\xC3(", "UTF-8"},
      {"--engine-option x", "--engine-option"},
      {"--engine-option =x", "--engine-option"},
      {"--memory-limit 0", "--memory-limit"},
      {"--max-batch 0", "--max-batch"},
      {"--safety-margin 95", "--safety-margin"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_plan plan;
    hl_error error = {0};
    if (build(cases[i].line, 1, &plan, &error) == HL_OK) fail_msg("%s was taken", cases[i].line);
    if (!strstr(error.msg, cases[i].part)) fail_msg("%s: %s", cases[i].line, error.msg);
  }
}

static void a_plan_has_a_size(void **state) {
  (void)state;
  hl_text line = HL_TEXT_INIT;
  hl_text_append(&line, "--batch-sizes 1-4000 --threads 1");
  for (int i = 2; i < 30; i++) hl_text_format(&line, ",%d", i);
  hl_plan plan;
  hl_error error = {0};
  assert_int_equal(build(line.data, 1, &plan, &error), HL_LIMIT);
  assert_non_null(strstr(error.msg, "rows"));
  hl_text_release(&line);
}

static void the_method_is_read(void **state) {
  (void)state;
  hl_plan plan;
  assert_int_equal(build("--batch-sizes 1", 1, &plan, NULL), HL_OK);
  const hl_method_options *m = &plan.method;
  assert_true(m->max_time_s == 30 && m->check && m->predict && !m->adaptive && !m->max_time_given);
  assert_true(m->iterations == 0 && m->num_runs == 0 && m->warmup_iterations == -1);
  assert_true(m->safety_margin == 0.1 && m->max_batch == 65536 && m->memory_limit_mb == 0);
  hl_plan_release(&plan);
  assert_int_equal(build("--no-check --no-predict --adaptive-sizing --max-time 5 --iterations 7 "
                         "--warmup 0 --safety-margin 25 --memory-limit 9 --max-batch 3",
                         1, &plan, NULL),
                   HL_OK);
  m = &plan.method;
  assert_true(m->max_time_s == 5 && !m->check && !m->predict && m->adaptive && m->max_time_given);
  assert_true(m->iterations == 7 && m->warmup_iterations == 0 && m->safety_margin == 0.25);
  assert_true(m->memory_limit_mb == 9 && m->max_batch == 3);
  hl_plan_release(&plan);
  hl_error error = {0};
  assert_int_equal(build("--max-time 0.1", 1, &plan, &error), HL_OK); /* the default gives way */
  assert_true(plan.method.min_time_s <= plan.method.max_time_s);
  hl_plan_release(&plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_in_order),
      cmocka_unit_test(contradictions_are_refused),
      cmocka_unit_test(a_plan_has_a_size),
      cmocka_unit_test(the_method_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
