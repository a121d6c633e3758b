/* Training programs by the ABI: states, accumulation, what the host sees, what is not finite. */
#include "graph/onnx.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const hl_engine_ops *hl_engine_entry(void);

#define BATCH 4
#define WIDTH 3

static char model_path[] = P_tmpdir "/hotlap-test-training-XXXXXX";

/* y = log(x w): its gradient by hand is short, and a negative x w is no number. */
static int write_model(void **state) {
  (void)state;
  hl_graph *g = NULL;
  if (hl_graph_new("test", &g, NULL) != HL_OK) return -1;
  g->opset = 17;
  hl_value_id inputs[2], y, z;
  inputs[0] = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, WIDTH});
  hl_graph_symbol(g, inputs[0], 0, "batch");
  inputs[1] =
      hl_graph_constant(g, "w", HL_FLOAT32, 2, (int64_t[]){WIDTH, 1}, (float[]){0.5f, 1.0f, 1.5f});
  hl_graph_node(g, "MatMul", "product", inputs, 2, &y, 1);
  hl_graph_node(g, "Log", "logarithm", &y, 1, &z, 1);
  hl_graph_output(g, z);
  int fd = mkstemp(model_path);
  if (fd >= 0) close(fd);
  hl_status status = hl_graph_sort(g, NULL);
  if (status == HL_OK) status = hl_graph_resolve(g, NULL);
  if (status == HL_OK) status = hl_graph_infer(g, NULL);
  if (status == HL_OK) status = hl_onnx_write(g, model_path, NULL);
  hl_graph_free(g);
  return status == HL_OK ? 0 : -1;
}

static int remove_model(void **state) {
  (void)state;
  return unlink(model_path);
}

static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host)};
static const float batch[BATCH * WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 2};

typedef struct session {
  const hl_engine_ops *ops;
  hl_engine *engine;
  hl_model *model;
  hl_program *program;
  hl_request *request;
  float x[BATCH * WIDTH], target[BATCH], rate;
  int64_t step;
} session;

static void ok(hl_status status, const hl_error *error) {
  if (status != HL_OK) fail_msg("%s", error->msg);
}

static void bind(session *s, size_t input, hl_dtype dtype, int32_t rank, int64_t rows,
                 int64_t columns, void *data, uint64_t bytes) {
  hl_error error = {0};
  hl_tensor_view view = {
      .dtype = dtype, .rank = rank, .dims = {rows, columns}, .data = data, .bytes = bytes};
  ok(s->ops->bind(s->request, input, &view, &error), &error);
}

static hl_status prepare(session *s, const hl_training_spec *spec, hl_error *error) {
  hl_port port = {.name = "x", .dtype = HL_FLOAT32, .rank = 2, .dims = {BATCH, WIDTH}};
  hl_program_spec program = {.size = sizeof program,
                             .mode = HL_MODE_TRAINING,
                             .dtype = HL_FLOAT32,
                             .inputs = &port,
                             .input_count = 1,
                             .training = spec};
  return s->ops->prepare(s->model, &program, &s->program, error);
}

static void open(session *s) {
  hl_error error = {0};
  *s = (session){.ops = hl_engine_entry()};
  hl_engine_config config = {.size = sizeof config, .threads = 2, .device = "cpu"};
  hl_model_source source = {.size = sizeof source, .path = model_path};
  ok(s->ops->open(&host, &config, &s->engine, &error), &error);
  ok(s->ops->load(s->engine, &source, &s->model, &error), &error);
}

static void start(session *s, const hl_training_spec *spec) {
  hl_error error = {0};
  open(s);
  ok(prepare(s, spec, &error), &error);
  ok(s->ops->request(s->program, &s->request, &error), &error);
  memcpy(s->x, batch, sizeof s->x);
  s->rate = 0.125f;
  bind(s, 0, HL_FLOAT32, 2, BATCH, WIDTH, s->x, sizeof s->x);
  bind(s, 1, HL_FLOAT32, 2, BATCH, 1, s->target, sizeof s->target);
  bind(s, 2, HL_FLOAT32, 0, 0, 0, &s->rate, sizeof s->rate);
  bind(s, 3, HL_INT64, 0, 0, 0, &s->step, sizeof s->step);
}

static void stop(session *s) {
  hl_engine_memory memory = {.size = sizeof memory};
  s->ops->request_free(s->request);
  s->ops->program_free(s->program);
  s->ops->model_free(s->model);
  s->ops->memory(s->engine, &memory, NULL);
  assert_int_equal(memory.allocated_bytes, 0);
  s->ops->close(s->engine);
}

static float step(session *s) {
  hl_error error = {0};
  hl_tensor_view loss;
  s->step++;
  ok(s->ops->submit(s->request, &error), &error);
  ok(s->ops->wait(s->request, &error), &error);
  ok(s->ops->output(s->request, 0, &loss, &error), &error);
  assert_string_equal(loss.name, "loss");
  return *(float *)loss.data;
}

static const float *state(session *s, const char *name) {
  hl_error error = {0};
  hl_tensor_view view;
  ok(s->ops->state_read(s->program, name, &view, &error), &error);
  return view.data;
}

/* mean (log x w)^2 and its gradient, in double. */
static double by_hand(const float *x, const float *w, double *ret_gradient) {
  double loss = 0;
  for (int i = 0; i < WIDTH; i++) ret_gradient[i] = 0;
  for (int n = 0; n < BATCH; n++) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += (double)x[n * WIDTH + i] * (double)w[i];
    loss += log(sum) * log(sum) / BATCH;
    for (int i = 0; i < WIDTH; i++)
      ret_gradient[i] += 2 * log(sum) / sum * (double)x[n * WIDTH + i] / BATCH;
  }
  return loss;
}

static const hl_training_spec plain = {.size = sizeof plain, .loss = HL_LOSS_MEAN_SQUARE};

static void test_a_step_by_hand(void **unused) {
  (void)unused;
  session s;
  start(&s, &plain);
  for (int k = 0; k < 5; k++) {
    float w[WIDTH];
    double gradient[WIDTH];
    memcpy(w, state(&s, "w"), sizeof w);
    double loss = by_hand(s.x, w, gradient);
    assert_true(fabs((double)step(&s) - loss) < 1e-5 * loss);
    for (int i = 0; i < WIDTH; i++)
      assert_true(fabs((double)state(&s, "w")[i] - ((double)w[i] - 0.125 * gradient[i])) < 1e-5);
  }
  uint64_t ns[HL_PHASE_COUNT] = {0};
  ok(s.ops->phases(s.request, ns, NULL), NULL);
  assert_true(ns[HL_PHASE_FORWARD] > 0 && ns[HL_PHASE_BACKWARD] > 0);
  stop(&s);
}

static void test_accumulated_submits(void **unused) {
  (void)unused;
  session s, t;
  hl_training_spec spec = plain;
  spec.accumulate = 2;
  start(&s, &spec);
  start(&t, &plain);
  const float *w = state(&s, "w");
  float before = w[0];
  step(&s);
  assert_true(w[0] == before);
  step(&s); /* the same batch twice: its own gradient */
  step(&t);
  for (int i = 0; i < WIDTH; i++) assert_true(fabsf(w[i] - state(&t, "w")[i]) < 1e-6f);
  step(&s);
  step(&s);
  step(&t);
  for (int i = 0; i < WIDTH; i++) assert_true(fabsf(w[i] - state(&t, "w")[i]) < 1e-6f);
  stop(&s);
  stop(&t);
}

static void test_states_are_read_and_written(void **unused) {
  (void)unused;
  session s;
  hl_training_spec spec = plain;
  spec.optimizer = HL_OPTIMIZER_ADAM;
  spec.beta1 = 0.9;
  spec.beta2 = 0.999;
  spec.epsilon = 1e-8;
  start(&s, &spec);
  const hl_port *ports = NULL;
  size_t count = 0;
  ok(s.ops->states(s.program, &ports, &count, NULL), NULL);
  assert_int_equal(count, 3);
  float saved[3][WIDTH], losses[2];
  step(&s);
  for (size_t i = 0; i < 3; i++) memcpy(saved[i], state(&s, ports[i].name), sizeof saved[i]);
  for (int k = 0; k < 2; k++) losses[k] = step(&s);
  for (size_t i = 0; i < 3; i++) {
    hl_tensor_view view = {.name = ports[i].name,
                           .dtype = HL_FLOAT32,
                           .rank = 2,
                           .dims = {WIDTH, 1},
                           .data = saved[i],
                           .bytes = sizeof saved[i]};
    ok(s.ops->state_write(s.program, &view, NULL), NULL);
  }
  s.step = 1;
  for (int k = 0; k < 2; k++) assert_true(step(&s) == losses[k]);
  hl_error error = {0};
  hl_tensor_view view = {.name = "w", .dtype = HL_FLOAT32, .rank = 1, .dims = {WIDTH}};
  assert_int_equal(s.ops->state_write(s.program, &view, &error), HL_INVALID_ARGUMENT);
  view.name = "v";
  assert_int_equal(s.ops->state_write(s.program, &view, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "'v'"));
  stop(&s);
}

typedef struct seen {
  char name[64], kind[64];
  bool found;
} seen;

static hl_status look(void *context, const char *name, const char *kind, hl_phase phase,
                      const hl_tensor_view *view) {
  (void)phase;
  seen *s = context;
  for (uint64_t i = 0; view->dtype == HL_FLOAT32 && !s->found && i < view->bytes / 4; i++) {
    if (isfinite(((float *)view->data)[i])) continue;
    s->found = true;
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->kind, sizeof s->kind, "%s", kind);
  }
  return HL_OK;
}

static void test_what_is_not_finite_changes_nothing(void **unused) {
  (void)unused;
  session s;
  start(&s, &plain);
  step(&s);
  float before[WIDTH];
  memcpy(before, state(&s, "w"), sizeof before);
  for (int i = 0; i < WIDTH; i++) s.x[i] = -1;
  assert_true(isnan(step(&s)));
  assert_memory_equal(before, state(&s, "w"), sizeof before);
  seen found = {.found = false};
  ok(s.ops->trace(s.request, look, &found, NULL), NULL);
  assert_true(found.found);
  assert_string_equal(found.name, "logarithm");
  assert_string_equal(found.kind, "Log");
  assert_memory_equal(before, state(&s, "w"), sizeof before);
  memcpy(s.x, batch, sizeof s.x);
  assert_true(isfinite(step(&s)));
  stop(&s);
}

typedef struct partner {
  int ready, waited;
  bool refuses;
  float *gradient;
} partner;

static hl_status on_ready(void *context, const hl_tensor_view *gradient, hl_error *error) {
  (void)error;
  partner *p = context;
  assert_string_equal(gradient->name, "w");
  assert_int_equal(gradient->bytes, WIDTH * sizeof(float));
  p->gradient = gradient->data;
  p->ready++;
  return HL_OK;
}

/* As if the other process had the same gradient three times. */
static hl_status on_wait(void *context, hl_error *error) {
  partner *p = context;
  if (p->refuses) {
    error->status = HL_CRASHED;
    snprintf(error->msg, sizeof error->msg, "rank 1 died");
    return HL_CRASHED;
  }
  for (int i = 0; i < WIDTH; i++) p->gradient[i] *= 4;
  p->waited++;
  return HL_OK;
}

static void test_the_host_sees_gradients(void **unused) {
  (void)unused;
  partner p = {0};
  session s, t;
  hl_training_spec spec = plain;
  spec.gradient_ready = on_ready;
  spec.gradients_wait = on_wait;
  spec.context = &p;
  start(&s, &spec);
  start(&t, &plain);
  t.rate = 0.5f;
  for (int k = 0; k < 3; k++) {
    step(&s);
    step(&t);
    assert_memory_equal(state(&s, "w"), state(&t, "w"), WIDTH * sizeof(float));
  }
  assert_int_equal(p.ready, 3);
  assert_int_equal(p.waited, 3);
  p.refuses = true;
  hl_error error = {0};
  s.step++;
  assert_int_equal(s.ops->submit(s.request, &error), HL_CRASHED);
  assert_string_equal(error.msg, "rank 1 died");
  assert_memory_equal(state(&s, "w"), state(&t, "w"), WIDTH * sizeof(float));
  stop(&s);
  stop(&t);
  spec.accumulate = 3;
  p = (partner){0};
  start(&s, &spec);
  for (int k = 0; k < 7; k++) step(&s);
  assert_int_equal(p.ready, 2);
  assert_int_equal(p.waited, 2);
  stop(&s);
}

/* What the built-in mean square computes, by the host; `ends`: it only looks. */
typedef struct judge {
  const float *target;
  float seen;
  bool ends, refuses;
} judge;

static hl_status judge_outputs(void *context, const hl_tensor_view *outputs, size_t count,
                               const hl_tensor_view *gradients, double *ret_loss, hl_error *error) {
  judge *j = context;
  assert_int_equal(count, 1);
  assert_string_equal(outputs[0].name, "logarithm_out");
  assert_int_equal(outputs[0].dims[0], BATCH);
  assert_int_equal(gradients[0].bytes, BATCH * sizeof(float));
  const float *y = outputs[0].data;
  j->seen = y[0];
  *ret_loss = 0;
  if (j->refuses) {
    error->status = HL_LIMIT;
    snprintf(error->msg, sizeof error->msg, "the host will not");
    return HL_LIMIT;
  }
  if (j->ends) return *ret_loss = NAN, HL_OK;
  for (int n = 0; n < BATCH; n++) {
    float d = y[n] - j->target[n];
    *ret_loss += (double)d * (double)d / BATCH;
    ((float *)gradients[0].data)[n] = 2 * d / BATCH;
  }
  return HL_OK;
}

static void start_judged(session *s, hl_training_spec spec, judge *j) {
  hl_error error = {0};
  spec.loss = HL_LOSS_HOST;
  spec.host_loss = judge_outputs;
  spec.host_loss_context = j;
  open(s);
  ok(prepare(s, &spec, &error), &error);
  ok(s->ops->request(s->program, &s->request, &error), &error);
  memcpy(s->x, batch, sizeof s->x);
  s->rate = 0.125f;
  bind(s, 0, HL_FLOAT32, 2, BATCH, WIDTH, s->x, sizeof s->x);
  bind(s, 1, HL_FLOAT32, 0, 0, 0, &s->rate, sizeof s->rate); /* no target */
  bind(s, 2, HL_INT64, 0, 0, 0, &s->step, sizeof s->step);
  j->target = s->target;
}

static void test_a_loss_of_the_host(void **unused) {
  (void)unused;
  session s, t;
  judge j = {.ends = false};
  start_judged(&s, plain, &j);
  start(&t, &plain);
  for (int k = 0; k < 3; k++) {
    assert_true(fabsf(step(&s) - step(&t)) < 1e-6f);
    for (int i = 0; i < WIDTH; i++)
      assert_true(fabsf(state(&s, "w")[i] - state(&t, "w")[i]) < 1e-6f);
  }
  float before[WIDTH], first = j.seen;
  memcpy(before, state(&s, "w"), sizeof before);
  j.ends = true;
  assert_true(isnan(step(&s)));
  assert_true(j.seen != first); /* of the new weights */
  assert_memory_equal(before, state(&s, "w"), sizeof before);
  j.ends = false;
  j.refuses = true;
  hl_error error = {0};
  assert_int_equal(s.ops->submit(s.request, &error), HL_LIMIT);
  assert_string_equal(error.msg, "the host will not");
  assert_memory_equal(before, state(&s, "w"), sizeof before);
  j.refuses = false;
  assert_true(isfinite(step(&s)));
  stop(&s);
  stop(&t);
}

/* At step 1 whatever the moments hold does not count. */
static void test_adam_starts_again(void **unused) {
  (void)unused;
  session s, t;
  hl_training_spec spec = plain;
  spec.optimizer = HL_OPTIMIZER_ADAM;
  spec.beta1 = 0.9;
  spec.beta2 = 0.999;
  spec.epsilon = 1e-8;
  start(&s, &spec);
  for (int k = 0; k < 3; k++) step(&s);
  start(&t, &spec);
  hl_tensor_view view = {.name = "w", .dtype = HL_FLOAT32, .rank = 2, .dims = {WIDTH, 1}};
  float w[WIDTH];
  memcpy(w, state(&s, "w"), sizeof w);
  view.data = w;
  view.bytes = sizeof w;
  ok(t.ops->state_write(t.program, &view, NULL), NULL);
  s.step = 0;
  for (int k = 0; k < 3; k++) {
    assert_true(step(&s) == step(&t));
    assert_memory_equal(state(&s, "w"), state(&t, "w"), sizeof w);
    assert_memory_equal(state(&s, "w/mean"), state(&t, "w/mean"), sizeof w);
    assert_memory_equal(state(&s, "w/square"), state(&t, "w/square"), sizeof w);
  }
  stop(&s);
  stop(&t);
}

static void test_refusals(void **unused) {
  (void)unused;
  session s;
  hl_error error = {0};
  open(&s);
  assert_int_equal(prepare(&s, NULL, &error), HL_INVALID_ARGUMENT);
  hl_training_spec spec = plain;
  spec.gradient_ready = on_ready;
  assert_int_equal(prepare(&s, &spec, &error), HL_INVALID_ARGUMENT);
  spec = plain;
  spec.loss = HL_LOSS_DICE_CROSS_ENTROPY;
  assert_int_equal(prepare(&s, &spec, &error), HL_INVALID_ARGUMENT);
  spec.loss = HL_LOSS_HOST;
  assert_int_equal(prepare(&s, &spec, &error), HL_INVALID_ARGUMENT);
  spec = plain;
  spec.host_loss = judge_outputs;
  assert_int_equal(prepare(&s, &spec, &error), HL_INVALID_ARGUMENT);
  assert_null(s.program);
  stop(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_step_by_hand),
      cmocka_unit_test(test_accumulated_submits),
      cmocka_unit_test(test_states_are_read_and_written),
      cmocka_unit_test(test_what_is_not_finite_changes_nothing),
      cmocka_unit_test(test_the_host_sees_gradients),
      cmocka_unit_test(test_a_loss_of_the_host),
      cmocka_unit_test(test_adam_starts_again),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests_name("native/training", tests, write_model, remove_model);
}
