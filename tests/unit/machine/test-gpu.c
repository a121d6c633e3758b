/* The loaders of NVIDIA's libraries, against fake ones. */
#include "base/clock.h"
#include "machine/cuda.h"
#include "machine/nvml.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void open_nvml(const char *path, hl_nvml **ret_nvml) {
  hl_error error = {0};
  if (hl_nvml_open(path, ret_nvml, &error) != HL_OK) fail_msg("%s", error.msg);
}

static void a_sample_is_read(void **state) {
  (void)state;
  hl_nvml *nvml;
  hl_gpu_sample s;
  unsigned index = 9;
  setenv("FAKE_REASONS", "68", 1);
  open_nvml(FAKE_NVML, &nvml);
  assert_int_equal(hl_nvml_count(nvml), 2);
  assert_string_equal(hl_nvml_driver(nvml), "550.54.15");
  assert_int_equal(hl_nvml_find(nvml, "0000:01:00.0", &index, NULL), HL_OK);
  assert_int_equal(index, 1);
  assert_int_equal(hl_nvml_find(nvml, "0000:0f:00.0", &index, NULL), HL_NOT_FOUND);
  hl_nvml_sample(nvml, 1, getpid(), &s);
  assert_true(s.process_known && s.reasons_known);
  assert_true(s.process_bytes == 400ULL << 20 && s.used_bytes == 400ULL << 20);
  assert_true(s.energy_mj != UINT64_MAX && s.power_w == 50.0 && s.sm_clock_mhz == 1410.0);
  char text[64];
  hl_gpu_reasons_text(s.reasons, text, sizeof text);
  assert_string_equal(text, "power cap, heat (hardware)");
  hl_gpu_reasons_text(1, text, sizeof text); /* idle */
  assert_string_equal(text, "none");
  hl_nvml_sample(nvml, 7, getpid(), &s); /* no such GPU */
  assert_true(!s.process_known && s.energy_mj == UINT64_MAX && isnan(s.power_w));
  hl_nvml_close(nvml);
  unsetenv("FAKE_REASONS");
}

static void an_old_library_says_what_it_can(void **state) {
  (void)state;
  hl_nvml *nvml;
  hl_gpu gpu;
  hl_gpu_sample s;
  open_nvml(FAKE_OLD_NVML, &nvml);
  assert_true(hl_nvml_describe(nvml, 0, &gpu));
  assert_string_equal(gpu.name, "Fake GPU A");
  assert_string_equal(gpu.uuid, "");
  assert_int_equal(gpu.ecc, -1);
  assert_true(isnan(gpu.power_limit_w));
  hl_nvml_sample(nvml, 0, getpid(), &s);
  assert_true(s.process_known && s.process_bytes == 200ULL << 20);
  assert_true(s.energy_mj == UINT64_MAX && isnan(s.temperature_c) && s.reasons_known);
  hl_nvml_close(nvml);
}

static void a_library_that_fails_says_why(void **state) {
  (void)state;
  hl_nvml *nvml;
  hl_cuda *cuda;
  hl_error error = {0};
  assert_int_equal(hl_nvml_open("/nonexistent/lib.so", &nvml, &error), HL_UNAVAILABLE);
  assert_int_equal(hl_nvml_open(FAKE_CUDA, &nvml, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "lacks nvmlInit_v2"));
  setenv("FAKE_NVML", "init-fails", 1);
  assert_int_equal(hl_nvml_open(FAKE_NVML, &nvml, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "Driver Not Loaded (9)"));
  setenv("FAKE_NVML", "count-fails", 1);
  assert_int_equal(hl_nvml_open(FAKE_NVML, &nvml, &error), HL_UNAVAILABLE);
  unsetenv("FAKE_NVML");
  assert_int_equal(hl_cuda_open(FAKE_NVML, &cuda, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "lacks cuInit"));
  setenv("FAKE_CUDA", "init-fails", 1);
  assert_int_equal(hl_cuda_open(FAKE_CUDA, &cuda, &error), HL_UNAVAILABLE);
  unsetenv("FAKE_CUDA");
}

static void a_list_survives_its_driver(void **state) {
  (void)state;
  static hl_gpu_set gpus;
  hl_gpu_list(FAKE_NVML, 5, &gpus);
  assert_int_equal(gpus.count, 2);
  assert_string_equal(gpus.items[1].name, "Fake GPU B");
  assert_int_equal(hl_gpu_visible(&gpus, NULL), 2);
  assert_int_equal(hl_gpu_visible(&gpus, ""), 0);
  assert_int_equal(hl_gpu_visible(&gpus, "1"), 1);
  assert_int_equal(hl_gpu_visible(&gpus, "1,0"), 2);
  assert_int_equal(hl_gpu_visible(&gpus, "0,5,1"), 1);
  assert_int_equal(hl_gpu_visible(&gpus, "GPU-1,GPU-7"), 1);
  assert_int_equal(hl_gpu_visible(&gpus, "-1"), 0);
  setenv("FAKE_NVML", "hang", 1);
  uint64_t start = hl_clock_ns();
  hl_gpu_list(FAKE_NVML, 0.2, &gpus);
  assert_int_equal(gpus.count, 0);
  assert_non_null(strstr(gpus.reason, "did not answer"));
  assert_true(hl_clock_ns() - start >= 200000000);
  unsetenv("FAKE_NVML");
  hl_gpu_list("/nonexistent/lib.so", 5, &gpus);
  assert_int_equal(gpus.count, 0);
  assert_non_null(strstr(gpus.reason, "/nonexistent/lib.so"));
}

static void cuda_has_devices_and_events(void **state) {
  (void)state;
  hl_cuda *cuda;
  hl_cuda_device device;
  hl_cuda_timer timer;
  hl_error error = {0};
  uint64_t used = 0;
  double ms = -1;
  int stream;
  assert_int_equal(hl_cuda_open(FAKE_CUDA, &cuda, &error), HL_OK);
  assert_int_equal(hl_cuda_describe(cuda, 0, &device, &error), HL_OK);
  assert_string_equal(device.name, "Fake GPU B");
  assert_string_equal(device.bus_id, "0000:01:00.0");
  assert_int_equal(hl_cuda_describe(cuda, 2, &device, &error), HL_UNAVAILABLE);
  assert_int_equal(hl_cuda_describe(cuda, -1, &device, &error), HL_UNAVAILABLE);
  assert_int_equal(hl_cuda_used_bytes(cuda, 1, &used, &error), HL_OK);
  assert_true(used == 500ULL << 20);
  assert_int_equal(hl_cuda_timer_new(cuda, 0, &timer, &error), HL_OK);
  assert_int_equal(hl_cuda_timer_begin(cuda, &timer, &stream, &error), HL_OK);
  usleep(2000);
  assert_int_equal(hl_cuda_timer_end(cuda, &timer, &stream, &error), HL_OK);
  assert_int_equal(hl_cuda_timer_read(cuda, &timer, &ms, &error), HL_OK);
  assert_true(ms >= 2);
  assert_int_equal(hl_cuda_timer_begin(cuda, &timer, NULL, &error), HL_UNAVAILABLE);
  hl_cuda_timer_release(cuda, &timer);
  hl_cuda_close(cuda);
  setenv("FAKE_CUDA", "context-fails", 1);
  assert_int_equal(hl_cuda_open(FAKE_CUDA, &cuda, &error), HL_OK);
  assert_int_equal(hl_cuda_timer_new(cuda, 0, &timer, &error), HL_OUT_OF_MEMORY);
  hl_cuda_close(cuda);
  unsetenv("FAKE_CUDA");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sample_is_read),
      cmocka_unit_test(an_old_library_says_what_it_can),
      cmocka_unit_test(a_library_that_fails_says_why),
      cmocka_unit_test(a_list_survives_its_driver),
      cmocka_unit_test(cuda_has_devices_and_events),
  };
  unsetenv("CUDA_VISIBLE_DEVICES");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
