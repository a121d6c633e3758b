/* What each byte of a program is for: pieces add up to the plan and never lie on each other. */
#include "graph/onnx.h"
#include "graph/training.h"
#include "models/models.h"
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

enum { MOST = 20000, KINDS = 8 };

typedef struct pieces {
  hl_allocation *items; /* names are not kept: they are copied into `names` */
  char (*names)[64];
  size_t count;
  int32_t steps;
  hl_phase *step_phase;
} pieces;

static void keep(void *context, const hl_allocation *a) {
  pieces *p = context;
  assert_int_equal(a->size, sizeof(*a));
  assert_non_null(a->layer);
  assert_true(p->count < MOST && p->steps < MOST);
  if (!a->name) {
    assert_int_equal(p->count, 0); /* steps come first, in order */
    assert_int_equal(a->first, p->steps);
    p->step_phase[p->steps++] = a->phase;
    return;
  }
  assert_true(a->bytes > 0);
  assert_true((a->first < 0 && a->last < 0) ||
              (a->first >= 0 && a->first <= a->last && a->last < p->steps));
  snprintf(p->names[p->count], sizeof(p->names[0]), "%s", a->name);
  p->items[p->count++] = *a;
}

typedef struct sums {
  uint64_t always, outputs, top, fullest; /* `top` of the arena; most that lives at one step */
  uint64_t by_kind[KINDS];                /* of the arena, at most at one step; else always there */
} sums;

static void add_up(const pieces *p, sums *s) {
  *s = (sums){0};
  uint64_t *kinds = calloc((size_t)p->steps * KINDS + 1, sizeof(*kinds));
  assert_non_null(kinds);
  for (size_t i = 0; i < p->count; i++) {
    const hl_allocation *a = &p->items[i];
    if (a->first < 0) {
      *(a->kind == HL_ALLOCATION_INPUT_OUTPUT ? &s->outputs : &s->always) += a->bytes;
      s->by_kind[a->kind] += a->bytes;
      continue;
    }
    if (a->offset + a->bytes > s->top) s->top = a->offset + a->bytes;
    for (int32_t n = a->first; n <= a->last; n++) kinds[n * KINDS + (int)a->kind] += a->bytes;
  }
  for (int32_t n = 0; n < p->steps; n++) {
    uint64_t live = 0;
    for (int k = 0; k < KINDS; k++) {
      live += kinds[n * KINDS + k];
      if (kinds[n * KINDS + k] > s->by_kind[k]) s->by_kind[k] = kinds[n * KINDS + k];
    }
    if (live > s->fullest) s->fullest = live;
  }
  free(kinds);
}

static void check_apart(const pieces *p) {
  for (size_t i = 0; i < p->count; i++)
    for (size_t k = 0; k < i; k++) {
      const hl_allocation *a = &p->items[i], *b = &p->items[k];
      if (a->first < 0 || b->first < 0) continue;
      bool in_time = a->first <= b->last && b->first <= a->last;
      bool in_space = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
      if (in_time && in_space)
        fail_msg("'%s' (steps %d to %d) lies on '%s' (steps %d to %d)", p->names[i], a->first,
                 a->last, p->names[k], b->first, b->last);
    }
}

static void look(const char *model, int64_t batch, const hl_training_spec *training,
                 hl_program_plan *plan, pieces *p, sums *s) {
  char path[] = P_tmpdir "/hotlap-test-allocations-XXXXXX";
  hl_error error = {0};
  hl_graph *graph;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(hl_models_build(model, 42, &graph, &error), HL_OK);
  assert_int_equal(hl_onnx_write(graph, path, &error), HL_OK);
  hl_graph_free(graph);
  const hl_engine_ops *ops = hl_engine_entry();
  static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host)};
  hl_engine_config config = {.size = sizeof(config), .threads = 2, .device = "cpu"};
  hl_model_source source = {.size = sizeof(source), .path = path};
  hl_engine *engine;
  hl_model *loaded;
  hl_model_info info = {.size = sizeof(info)};
  assert_int_equal(ops->open(&host, &config, &engine, &error), HL_OK);
  assert_int_equal(ops->load(engine, &source, &loaded, &error), HL_OK);
  assert_int_equal(ops->describe(loaded, &info, &error), HL_OK);
  hl_port port = info.inputs[0];
  port.dims[0] = batch;
  hl_program_spec spec = {.size = sizeof(spec),
                          .mode = training ? HL_MODE_TRAINING : HL_MODE_INFERENCE,
                          .dtype = HL_FLOAT32,
                          .inputs = &port,
                          .input_count = 1,
                          .training = training};
  *plan = (hl_program_plan){.size = sizeof(*plan)};
  *p = (pieces){.items = calloc(MOST, sizeof(*p->items)),
                .names = calloc(MOST, sizeof(*p->names)),
                .step_phase = calloc(MOST, sizeof(*p->step_phase))};
  assert_true(p->items && p->names && p->step_phase);
  assert_int_equal(ops->plan(loaded, &spec, plan, &error), HL_OK);
  assert_int_equal(ops->allocations(loaded, &spec, keep, p, &error), HL_OK);
  hl_engine_memory memory = {.size = sizeof(memory)};
  assert_int_equal(ops->memory(engine, &memory, &error), HL_OK);
  assert_int_equal(memory.peak_bytes, 0); /* nothing was allocated for it */
  add_up(p, s);
  ops->model_free(loaded);
  ops->close(engine);
  unlink(path);
}

static void forget(pieces *p) {
  free(p->items);
  free(p->names);
  free(p->step_phase);
}

static const hl_training_spec adam = {.size = sizeof(hl_training_spec),
                                      .loss = HL_LOSS_MEAN_SQUARE,
                                      .optimizer = HL_OPTIMIZER_ADAM,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .epsilon = 1e-8};

/* -- sums -------------------------------------------------------------------------------------- */

static void test_sums(void **state) {
  (void)state;
  static const struct {
    const char *model;
    int64_t batch;
  } cases[] = {{"mlp:dims=64-96-32-10", 5},
               {"ptychopinn", 2},
               {"dynunet:patch=16x16x16", 1},
               {"transformer_encoder:layers=2,tokens=16,hidden=64,heads=4,ff=128", 3},

               {"layer_norm", 4}};
  hl_training_spec clipped = adam, sgd = adam;
  clipped.clip_norm = 1;
  clipped.accumulate = 2;
  sgd.optimizer = HL_OPTIMIZER_SGD;
  const hl_training_spec *const trainings[] = {NULL, &adam, &clipped, &sgd};
  size_t exact = 0;
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    for (size_t t = 0; t < HL_COUNT(trainings); t++) {
      hl_program_plan plan;
      pieces p;
      sums s;
      look(cases[i].model, cases[i].batch, trainings[t], &plan, &p, &s);
      assert_int_equal(s.always, plan.weight_bytes);
      assert_int_equal(s.outputs, plan.io_bytes);
      assert_int_equal(s.top, plan.arena_bytes);
      assert_true(s.fullest <= plan.arena_bytes);
      /* What lives at the fullest step is the arena, but for gaps that no order filled. */
      assert_true((double)s.fullest >= 0.99 * (double)plan.arena_bytes);
      exact += s.fullest == plan.arena_bytes;
      check_apart(&p);
      forget(&p);
    }
  assert_true(exact >= 16); /* of 20 */
}

/* -- kinds ------------------------------------------------------------------------------------- */

/* The most of one kind that lives at one step. */
static uint64_t most(const sums *s, hl_allocation_kind kind) {
  return s->by_kind[kind];
}

static void test_perceptron(void **state) {
  (void)state;
  enum { BATCH = 16, IN = 64, FIRST = 96, SECOND = 32, OUT = 48 };
  uint64_t weights =
      sizeof(float) * (IN * FIRST + FIRST + FIRST * SECOND + SECOND + SECOND * OUT + OUT);
  uint64_t hidden = sizeof(float) * BATCH * (FIRST + SECOND);
  hl_program_plan plan;
  pieces p;
  sums s;
  look("mlp:dims=64-96-32-48", BATCH, &adam, &plan, &p, &s);
  assert_int_equal(most(&s, HL_ALLOCATION_OPTIMIZER), 2 * weights);
  assert_int_equal(most(&s, HL_ALLOCATION_WEIGHT), weights);
  assert_true(most(&s, HL_ALLOCATION_SAVED) >= hidden); /* before and after each ReLU at most */
  assert_true(most(&s, HL_ALLOCATION_SAVED) <= 2 * hidden);
  /* Gradients are used up one by one: the largest, and what waits with it. */
  assert_true(most(&s, HL_ALLOCATION_GRADIENT) >= sizeof(float) * IN * FIRST);
  assert_true(most(&s, HL_ALLOCATION_GRADIENT) <= weights);
  uint64_t of_adam = s.always;
  forget(&p);
  hl_training_spec sgd = adam;
  sgd.optimizer = HL_OPTIMIZER_SGD;
  look("mlp:dims=64-96-32-48", BATCH, &sgd, &plan, &p, &s);
  assert_int_equal(most(&s, HL_ALLOCATION_OPTIMIZER), weights);
  assert_int_equal(of_adam - s.always, weights);
  forget(&p);
  look("mlp:dims=64-96-32-48", BATCH, NULL, &plan, &p, &s);
  assert_int_equal(s.outputs, sizeof(float) * BATCH * OUT);
  assert_true(most(&s, HL_ALLOCATION_WEIGHT) >= weights); /* padded to what products read best */
  for (int k = HL_ALLOCATION_SAVED; k <= HL_ALLOCATION_ACTIVATION_GRADIENT; k++)
    assert_int_equal(s.by_kind[k], 0);
  forget(&p);
}

/* What is kept, what is a gradient of a weight, and whose. */
static void test_names(void **state) {
  (void)state;
  hl_program_plan plan;
  pieces p;
  sums s;
  look("mlp:dims=64-96-32-48", 16, &adam, &plan, &p, &s);
  size_t saved = 0, gradients = 0;
  for (size_t i = 0; i < p.count; i++) {
    const hl_allocation *a = &p.items[i];
    if (a->kind == HL_ALLOCATION_SAVED) {
      saved++;
      assert_true(strstr(p.names[i], "fc") || strstr(p.names[i], "relu"));
      assert_true(p.step_phase[a->first] == HL_PHASE_FORWARD);
      assert_true(a->phase == HL_PHASE_FORWARD);
    }
    if (a->kind == HL_ALLOCATION_GRADIENT) {
      gradients++;
      assert_true(p.step_phase[a->first] == HL_PHASE_BACKWARD);
    }
  }
  assert_true(saved >= 2 && saved <= 4);
  assert_int_equal(gradients, 6); /* of three weights and three biases */
  forget(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_perceptron),
                                     cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
