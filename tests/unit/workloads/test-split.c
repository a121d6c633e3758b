/* A batch over several devices: parts, order of calls, outputs put together, failures. */
#include "workloads/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An engine whose only output is its first input, once a step has been waited for. */
struct hl_engine {
  char device[16];
};
struct hl_request {
  struct hl_engine *engine;
  hl_tensor_view input, output;
  char *data;
};

static char calls[512];           /* "submit cuda:0,..." */
static const char *fails_at = ""; /* such a call */
static char said[256];
static int alive;

static hl_status call(const char *what, const hl_engine *engine, hl_error *error) {
  char own[64];
  snprintf(own, sizeof own, "%s %s", what, engine->device);
  strncat(calls, own, sizeof calls - strlen(calls) - 1);
  strncat(calls, ",", sizeof calls - strlen(calls) - 1);
  return strcmp(own, fails_at) == 0 ? hl_error_set(error, HL_OUT_OF_MEMORY, "it is full") : HL_OK;
}

static hl_status open_one(const hl_host *host, const hl_engine_config *config, hl_engine **ret,
                          hl_error *error) {
  (void)host;
  hl_engine *engine = calloc(1, sizeof *engine);
  snprintf(engine->device, sizeof engine->device, "%s", config->device);
  hl_status status = call("open", engine, error);
  if (status != HL_OK) {
    free(engine);
    return status;
  }
  alive++;
  *ret = engine;
  return HL_OK;
}

static void close_one(hl_engine *engine) {
  alive--;
  free(engine);
}

static hl_status load_one(hl_engine *engine, const hl_model_source *source, hl_model **ret,
                          hl_error *error) {
  (void)source;
  *ret = (hl_model *)(void *)engine;
  return call("load", engine, error);
}

static hl_status prepare_one(hl_model *model, const hl_program_spec *spec, hl_program **ret,
                             hl_error *error) {
  (void)spec;
  *ret = (hl_program *)(void *)model;
  return call("prepare", (hl_engine *)(void *)model, error);
}

static hl_status request_one(hl_program *program, hl_request **ret, hl_error *error) {
  (void)error;
  *ret = calloc(1, sizeof **ret);
  (*ret)->engine = (hl_engine *)(void *)program;
  alive++;
  return HL_OK;
}

static hl_status bind_one(hl_request *request, size_t input, const hl_tensor_view *view,
                          hl_error *error) {
  (void)error;
  if (input == 0) request->input = *view;
  return HL_OK;
}

static hl_status submit_one(hl_request *request, hl_error *error) {
  return call("submit", request->engine, error);
}

static hl_status wait_one(hl_request *request, hl_error *error) {
  request->data = realloc(request->data, request->input.bytes + 1);
  memcpy(request->data, request->input.data, request->input.bytes);
  request->output = request->input;
  request->output.data = request->data;
  return call("wait", request->engine, error);
}

static hl_status output_one(hl_request *request, size_t output, hl_tensor_view *ret,
                            hl_error *error) {
  (void)output, (void)error;
  *ret = request->output;
  return HL_OK;
}

static void request_free_one(hl_request *request) {
  free(request->data);
  free(request);
  alive--;
}

static void nothing_program(hl_program *program) {
  (void)program;
}

static void nothing_model(hl_model *model) {
  (void)model;
}

static void note(const char *engine, const char *sentence) {
  (void)engine;
  snprintf(said, sizeof said, "%s", sentence);
}

static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof host, .note = note};

static hl_engine_ops ops_of_one(void) {
  return (hl_engine_ops){.abi = HL_ENGINE_ABI,
                         .size = sizeof(hl_engine_ops),
                         .name = "one",
                         .open = open_one,
                         .load = load_one,
                         .prepare = prepare_one,
                         .request = request_one,
                         .bind = bind_one,
                         .submit = submit_one,
                         .wait = wait_one,
                         .output = output_one,
                         .request_free = request_free_one,
                         .program_free = nothing_program,
                         .model_free = nothing_model,
                         .close = close_one};
}

/* A batch with dimension `axis` open and 4 along the others through devices; what comes out must be
 * what went in.
 */
static hl_status run(const char *device, int32_t axis, int64_t batch, bool *ret_same,
                     hl_error *error) {
  hl_port port = {"x", HL_FLOAT32, 3, {4, 4, 4}};
  port.dims[axis] = -1;
  hl_model_file file = {.inputs = &port,
                        .input_count = 1,
                        .outputs = &port,
                        .output_count = 1,
                        .input_axes = &axis,
                        .output_axes = &axis};
  hl_engine_ops ops = ops_of_one();
  const hl_engine_config config = {.size = sizeof config, .threads = 1, .device = device};
  hl_engine *engine = NULL;
  hl_model *model = NULL;
  hl_program *program = NULL;
  hl_request *request = NULL;
  float *values = malloc((size_t)batch * 16 * sizeof *values);
  for (int64_t i = 0; i < batch * 16; i++) values[i] = (float)i;
  port.dims[axis] = batch;
  const hl_program_spec spec = {
      .size = sizeof spec, .dtype = HL_FLOAT32, .inputs = &port, .input_count = 1};
  hl_tensor_view view = {.dtype = HL_FLOAT32,
                         .rank = 3,
                         .data = values,
                         .bytes = (uint64_t)batch * 16 * sizeof *values};
  memcpy(view.dims, port.dims, sizeof port.dims);
  calls[0] = said[0] = '\0';
  hl_status status = hl_split_open(&ops, &file, &host, &config, &engine, error);
  if (status == HL_OK) status = ops.load(engine, NULL, &model, error);
  if (status == HL_OK) status = ops.prepare(model, &spec, &program, error);
  if (status == HL_OK) status = ops.request(program, &request, error);
  if (status == HL_OK) status = ops.bind(request, 0, &view, error);
  if (status == HL_OK) status = ops.submit(request, error);
  if (status == HL_OK) status = ops.wait(request, error);
  hl_tensor_view out = {0};
  if (status == HL_OK) status = ops.output(request, 0, &out, error);
  *ret_same = status == HL_OK && out.dims[axis] == batch && out.bytes == view.bytes &&
              memcmp(out.data, values, view.bytes) == 0;
  if (request) ops.request_free(request);
  if (program) ops.program_free(program);
  if (model) ops.model_free(model);
  if (engine) ops.close(engine);
  free(values);
  return status;
}

static void parts_differ_by_one_at_most(void **state) {
  (void)state;
  for (int64_t batch = 0; batch < 40; batch++)
    for (size_t parts = 1; parts < 6; parts++) {
      int64_t sum = 0;
      for (size_t i = 0; i < parts; i++) {
        int64_t own = hl_split_share(batch, parts, i);
        assert_in_range(own, batch / (int64_t)parts, batch / (int64_t)parts + 1);
        assert_true(i == 0 || own <= hl_split_share(batch, parts, i - 1));
        sum += own;
      }
      assert_int_equal(sum, batch);
    }
}

static void outputs_are_those_of_the_whole(void **state) {
  (void)state;
  static const char *const devices[] = {"cuda:0+1", "cuda:2+0+1"};
  for (size_t d = 0; d < HL_COUNT(devices); d++)
    for (int32_t axis = 0; axis < 3; axis++)
      for (int64_t batch = 1; batch < 9; batch++) {
        hl_error error = {0};
        bool same;
        hl_status status = run(devices[d], axis, batch, &same, &error);
        if (status != HL_OK || !same)
          fail_msg("%s, axis %d, batch %d: %s", devices[d], (int)axis, (int)batch, error.msg);
      }
  assert_int_equal(alive, 0);
}

static void all_start_before_one_is_waited_for(void **state) {
  (void)state;
  bool same;
  assert_int_equal(run("cuda:1+0", 0, 5, &same, NULL), HL_OK);
  assert_string_equal(calls, "open cuda:1,open cuda:0,load cuda:1,load cuda:0,prepare cuda:1,"
                             "prepare cuda:0,submit cuda:1,submit cuda:0,wait cuda:1,wait cuda:0,");
  assert_string_equal(said, "");
  assert_int_equal(run("cuda:0+1+2", 0, 2, &same, NULL), HL_OK);
  assert_null(strstr(calls, "submit cuda:2"));
  assert_string_equal(said, "a batch of 2 used 2 of 3 devices");
}

static void a_failure_names_its_device(void **state) {
  (void)state;
  static const char *const at[] = {"open cuda:1", "load cuda:1", "prepare cuda:1", "submit cuda:1",
                                   "wait cuda:0"};
  for (size_t i = 0; i < HL_COUNT(at); i++) {
    hl_error error = {0};
    bool same;
    fails_at = at[i];
    assert_int_equal(run("cuda:0+1", 0, 4, &same, &error), HL_OUT_OF_MEMORY);
    assert_non_null(strstr(error.msg, strchr(at[i], ' ') + 1));
    assert_non_null(strstr(error.msg, "it is full"));
    /* What was started is waited for before anything is taken away. */
    if (i >= 3) assert_non_null(strstr(calls, i == 3 ? "wait cuda:0" : "wait cuda:1"));
  }
  fails_at = "";
  assert_int_equal(alive, 0);
}

static void what_cannot_be_split_is_unimplemented(void **state) {
  (void)state;
  hl_error error = {0};
  bool same;
  assert_int_equal(run("gpu:0+1", 0, 4, &same, &error), HL_UNIMPLEMENTED);
  hl_model_file file = {.fixed_batch = 4};
  hl_engine_ops ops = ops_of_one();
  hl_engine *engine;
  const hl_engine_config config = {.size = sizeof config, .threads = 1, .device = "cuda:0+1"};
  assert_int_equal(hl_split_open(&ops, &file, &host, &config, &engine, &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "fixed at 4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_differ_by_one_at_most),
                                     cmocka_unit_test(outputs_are_those_of_the_whole),
                                     cmocka_unit_test(all_start_before_one_is_waited_for),
                                     cmocka_unit_test(a_failure_names_its_device),
                                     cmocka_unit_test(what_cannot_be_split_is_unimplemented)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
