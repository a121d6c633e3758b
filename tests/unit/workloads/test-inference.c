/* Opening an inference: which shapes can be fed, and where its outputs begin. */
#include "workloads/inference.h"
#include "workloads/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_configuration configuration(int64_t batch, int64_t images) {
  return (hl_configuration){.model = "net.onnx",
                            .engine = "null",
                            .dtype = "float32",
                            .device = "cpu",
                            .batch_size = batch,
                            .threads = 1,
                            .n_images = images,
                            .seed = 42};
}

static hl_status open_port(hl_port port, int64_t batch, hl_error *error) {
  hl_configuration c = configuration(batch, 0);
  hl_model_file file = {.memory_fd = -1, .inputs = &port, .input_count = 1};
  hl_inference in;
  hl_status status = hl_inference_open(&c, &file, NULL, &in, error);
  if (status == HL_OK) hl_inference_release(&in);
  return status;
}

static void shapes_that_can_be_fed(void **state) {
  (void)state;
  static const struct {
    hl_port port;
    int64_t batch;
    hl_status status;
    const char *part;
  } cases[] = {
      {{"x", HL_FLOAT32, 2, {-1, 4}}, 3, HL_OK, ""},
      {{"x", HL_FLOAT32, 1, {-1}}, 3, HL_OK, ""},
      {{"x", HL_INT64, 2, {-1, 4}}, 3, HL_OK, ""},
      {{"x", HL_FLOAT32, 2, {3, 4}}, 3, HL_OK, ""},
      {{"x", HL_FLOAT32, 2, {3, 4}}, 2, HL_UNAVAILABLE, "fixed batch of 3"},
      {{"x", HL_FLOAT32, 0, {0}}, 1, HL_UNIMPLEMENTED, "scalar"},
      {{"x", HL_FLOAT32, 3, {-1, -1, 4}}, 1, HL_INVALID_ARGUMENT, "dimension 1"},
      {{"x", HL_FLOAT32, 4, {-1, 1 << 30, 1 << 30, 1 << 30}}, 1, HL_OUT_OF_MEMORY, ""},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error = {0};
    hl_status status = open_port(cases[i].port, cases[i].batch, &error);
    bool too_large = cases[i].status == HL_OUT_OF_MEMORY && status == HL_LIMIT;
    if (status != cases[i].status && !too_large)
      fail_msg("case %zu: %s (%s)", i, hl_status_name(status), error.msg);
    if (!strstr(error.msg, cases[i].part)) fail_msg("case %zu: %s", i, error.msg);
  }
}

static void several_inputs_walk_together(void **state) {
  (void)state;
  hl_configuration c = configuration(4, 10);
  hl_port ports[] = {{"a", HL_FLOAT32, 2, {-1, 5}}, {"b", HL_INT64, 1, {-1}}};
  hl_model_file file = {.memory_fd = -1, .inputs = ports, .input_count = 2};
  hl_inference in;
  assert_int_equal(hl_inference_open(&c, &file, NULL, &in, NULL), HL_OK);
  assert_int_equal(in.image_bytes[0], 20);
  assert_int_equal(in.image_bytes[1], 8);
  assert_int_equal(in.full.images, 4);
  assert_int_equal(in.partial.images, 2);
  assert_int_equal(hl_inference_load(&in, NULL), HL_OK);
  assert_int_equal(hl_inference_prepare(&in, NULL), HL_OK);
  int64_t images = 0;
  for (int step = 0; step < 3; step++)
    assert_int_equal(hl_inference_step(&in, &images, NULL), HL_OK);
  assert_int_equal(images, 2);
  assert_ptr_equal(in.views[0].data, (char *)in.dataset->inputs[0].data + 8 * 20);
  assert_ptr_equal(in.views[1].data, (char *)in.dataset->inputs[1].data + 8 * 8);
  assert_int_equal(in.offset, 0);
  hl_inference_release(&in);
  hl_model_file none = {.memory_fd = -1};
  hl_error error = {0};
  assert_int_equal(hl_inference_open(&c, &none, NULL, &in, &error), HL_UNIMPLEMENTED);
}

static void plug_ins_come_before_built_in_engines(void **state) {
  (void)state;
  hl_configuration c = configuration(1, 1);
  hl_port port = {"x", HL_FLOAT32, 2, {-1, 4}};
  hl_model_file file = {.memory_fd = -1, .inputs = &port, .input_count = 1};
  static const char *const paths[] = {"/no/such.so"};
  c.plugins = paths;
  c.plugin_count = 1;
  hl_inference in;
  hl_error error = {0};
  assert_int_equal(hl_inference_open(&c, &file, NULL, &in, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "/no/such.so"));
  c.plugin_count = 0;
  c.engine = "nonsense";
  assert_int_equal(hl_inference_open(&c, &file, NULL, &in, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "nonsense"));
}

static void data_of_another_kind_is_bad_data(void **state) {
  (void)state;
  hl_configuration c = configuration(1, 1);
  hl_port port = {"x", HL_FLOAT32, 2, {-1, 4}};
  hl_model_file file = {.memory_fd = -1, .inputs = &port, .input_count = 1};
  hl_inference in;
  hl_error error = {0};
  c.test_data = "/no/such/file.npz";
  assert_int_equal(hl_inference_open(&c, &file, NULL, &in, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "file.npz"));
  c.test_data = "/dev/null";
  hl_status status = hl_inference_open(&c, &file, NULL, &in, &error);
  assert_true(status == HL_BAD_DATA || status == HL_IO);
}

/* -- outputs -------------------------------------------------------------------------------- */

static float output_values[12];
static hl_tensor_view output_view;

static hl_status fake_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                             hl_error *error) {
  (void)request, (void)output, (void)error;
  *ret_view = output_view;
  return HL_OK;
}

static void the_first_image_of_each_output_is_taken(void **state) {
  (void)state;
  hl_configuration c = configuration(4, 10);
  hl_port port = {"x", HL_FLOAT32, 2, {-1, 4}};
  hl_model_file file = {.memory_fd = -1, .inputs = &port, .input_count = 1, .output_count = 2};
  hl_inference in;
  assert_int_equal(hl_inference_open(&c, &file, NULL, &in, NULL), HL_OK);
  assert_int_equal(hl_inference_load(&in, NULL), HL_OK);
  assert_int_equal(hl_inference_prepare(&in, NULL), HL_OK);
  in.ops.output = fake_output;
  for (size_t i = 0; i < HL_COUNT(output_values); i++) output_values[i] = (float)i;
  output_view = (hl_tensor_view){.dtype = HL_FLOAT32,
                                 .rank = 2,
                                 .dims = {4, 3},
                                 .data = output_values,
                                 .bytes = sizeof output_values};
  int64_t images;
  assert_int_equal(hl_inference_step(&in, &images, NULL), HL_OK); /* anywhere in the data */
  float *values = NULL;
  size_t counts[4] = {9, 9, 9, 9}, count = 0;
  assert_int_equal(hl_inference_first_outputs(&in, &values, counts, 4, &count, NULL), HL_OK);
  assert_int_equal(count, 2);
  assert_int_equal(counts[0], 3);
  assert_int_equal(counts[1], 3);
  static const float expected[] = {0, 1, 2, 0, 1, 2};
  assert_memory_equal(values, expected, sizeof expected);
  free(values);
  assert_int_equal(in.offset, 0); /* the next step is the first of a pass */
  values = NULL;
  output_view.dims[0] = 3; /* not by image: left out */
  assert_int_equal(hl_inference_first_outputs(&in, &values, counts, 4, &count, NULL), HL_OK);
  assert_int_equal(counts[0], 0);
  free(values);
  assert_int_equal(hl_inference_first_outputs(&in, &values, counts, 1, &count, NULL), HL_LIMIT);
  hl_inference_release(&in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_that_can_be_fed),
      cmocka_unit_test(several_inputs_walk_together),
      cmocka_unit_test(plug_ins_come_before_built_in_engines),
      cmocka_unit_test(data_of_another_kind_is_bad_data),
      cmocka_unit_test(the_first_image_of_each_output_is_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
