/*
 * profile-eval DIRECTORY KIND [GNUPLOT]: writes the files of a made-up profile, for files.py to
 * read back; prints what was written and notes. KIND: odd (names that want escapes), empty,
 * crashed, plain (a small training of two steps).
 */
#include "report/profile-files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t now = 1000;

static int32_t add(hl_profile *p, const char *name, const char *kind, const char *phase,
                   double mflop, double mbytes) {
  return hl_profile_operator_add(p, &(hl_profile_operator){.name = name,
                                                           .kind = kind,
                                                           .layer = name,
                                                           .phase = phase,
                                                           .flops = mflop * 1e6,
                                                           .bytes = mbytes * 1e6,
                                                           .memory_bytes = mbytes * 4e5});
}

static void call(hl_profile *p, int32_t operator, int32_t step, uint64_t us) {
  hl_profile_event_add(
      p, &(hl_profile_event){
             .operator= operator, .step = step, .start_ns = now, .duration_ns = us * 1000});
  now += us * 1000;
}

static void span(hl_profile *p, int32_t operator, int32_t step, uint64_t start) {
  hl_profile_event_add(
      p, &(hl_profile_event){
             .operator= operator, .step = step, .start_ns = start, .duration_ns = now - start});
}

static void fill_plain(hl_profile *p) {
  double none = (double)NAN;
  int32_t forward = add(p, "forward", "span", "", none, none),
          backward = add(p, "backward", "span", "", none, none),
          conv = add(p, "conv1+relu", "convolution", "forward", 118, 3.2),
          copy = add(p, "reorder", "reorder", "forward", none, 1.6),
          gemm = add(p, "fc", "matmul", "forward", 2.1, 4.1),
          grad = add(p, "conv1.grad", "convolution", "backward", 236, 6.4),
          adam = add(p, "adam", "Adam", "optimizer", 0.5, 20);
  for (int32_t step = 0; step < 2; step++) {
    uint64_t begin = now, start = now;
    call(p, conv, step, 1500);
    call(p, copy, step, 120);
    call(p, gemm, step, 300);
    span(p, forward, step, start);
    start = now += 10000;
    call(p, grad, step, 2900);
    span(p, backward, step, start);
    call(p, adam, step, 700);
    now += 40000;
    hl_profile_step_add(p, begin, now - begin);
    hl_profile_scalar_add(p, "loss", step, 0.5 / (step + 1));
  }
}

static void fill_odd(hl_profile *p) {
  static const char *const names[] = {"say \"conv\" & <b>'x'</b>",
                                      "back\\slash\ttab\nline\x01\x1b[31m\x7f",
                                      "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\xa5",
                                      "bad \xff\xc3( \xed\xa0\x80",
                                      "]]></title><script>alert(1)</script>",
                                      "a;b %n %s\r",
                                      "",
                                      "\xef\xbf\xbe \xc2\x85"};
  uint64_t begin = now;
  for (size_t i = 0; i < HL_COUNT(names); i++) {
    call(p, add(p, names[i], names[i], names[(i + 1) % HL_COUNT(names)], 1, 1), 0, 100);
    hl_profile_scalar_add(p, names[i], (int64_t)i, (double)i);
  }
  hl_profile_step_add(p, begin, now - begin);
  p->model = names[0];
  p->engine = names[3];
  p->workload = names[1];
}

int main(int argc, char **argv) {
  hl_error error = {0};
  hl_profile *p = NULL;
  hl_text written = HL_TEXT_INIT, notes = HL_TEXT_INIT;
  if (argc < 3 || hl_profile_new(&p, &error) != HL_OK) return 2;
  p->workload = "training";
  p->model = "lenet5";
  p->engine = "native";
  p->engine_version = "0.1.0";
  p->dtype = "float32";
  p->device = strcmp(argv[2], "cuda") == 0 ? "cuda:0" : "cpu";
  p->source = "hotlap";
  p->batch_size = 8;
  p->threads = 2;
  p->complete = strcmp(argv[2], "crashed") != 0;
  p->reason = p->complete ? "" : "the worker crashed: signal 11 (Segmentation fault)";
  p->wall_start_us = 1700000000123456;
  p->peak_gflops = 180;
  p->bandwidth_gbs = 21;
  p->overhead = 1.004;
  p->overhead_low = 0.998;
  p->overhead_high = 1.011;
  p->overhead_pairs = 20;
  if (strcmp(argv[2], "odd") == 0)
    fill_odd(p);
  else if (strcmp(argv[2], "empty") != 0)
    fill_plain(p);
  static float pixels[40 * 60];
  for (int i = 0; i < 40 * 60; i++) pixels[i] = (float)i / 2400;
  pixels[0] = (float)NAN;
  pixels[1] = 7;
  pixels[2] = -3;
  hl_profile_picture picture = {
      .name = "reconstruction", .step = 1, .height = 40, .width = 60, .pixels = pixels};
  if (strcmp(argv[2], "empty") != 0) hl_profile_picture_add(p, &picture);
  hl_profile_files files = {
      .directory = argv[1], .host = "node-1.lab", .pid = 77, .gnuplot = argc > 3 ? argv[3] : NULL};
  hl_status status = hl_profile_write_all(p, &files, &written, &notes, &error);
  printf("%s--\n%s", written.data, notes.data);
  if (status != HL_OK) fprintf(stderr, "%s\n", error.msg);
  hl_text_release(&written);
  hl_text_release(&notes);
  hl_profile_free(p);
  return status != HL_OK;
}
