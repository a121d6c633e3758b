/* Kernels that resize: every instruction set gives the bytes of the plain one. */
#include "data/image-internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* It needs those above. */
#include <cmocka.h>

enum { bits_low = HL__FILTER_LOW_BITS, one = 1 << HL__FILTER_BITS };

static uint32_t random_state = 1;

static uint32_t draw(uint32_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

static void *make(size_t count, size_t item) {
  void *array = calloc(count, item);
  assert_non_null(array);
  return array;
}

/* Weights that add up to one, over random places of an axis of `in` pixels. */
static hl__filter random_filter(int32_t count, int32_t in, int32_t taps_max) {
  hl__filter f = {.count = count, .taps = (taps_max + 3) / 4 * 4};
  f.first = make((size_t)count, sizeof *f.first);
  f.length = make((size_t)count, sizeof *f.length);
  f.high = make((size_t)count * (size_t)f.taps, sizeof *f.high);
  f.low = make((size_t)count * (size_t)f.taps, sizeof *f.low);
  for (int32_t i = 0; i < count; i++) {
    f.length[i] = 1 + (int32_t)draw((uint32_t)(taps_max < in ? taps_max : in));
    f.first[i] = (int32_t)draw((uint32_t)(in - f.length[i] + 1));
    int32_t left = one;
    for (int32_t t = 0; t < f.length[i]; t++) {
      int32_t w = t == f.length[i] - 1 ? left : (int32_t)draw((uint32_t)left + 1);
      f.high[i * f.taps + t] = (int16_t)(w >> bits_low);
      f.low[i * f.taps + t] = (int16_t)(w & ((1 << bits_low) - 1));
      left -= w;
    }
  }
  return f;
}

static void release(hl__filter *f) {
  free(f->first);
  free(f->length);
  free(f->high);
  free(f->low);
}

static void run(const hl__image_kernels *k, const hl_image *image, const hl__filter *across,
                const hl__filter *down, uint8_t *between, size_t stride, uint8_t *out) {
  size_t bytes = (size_t)across->count * HL_IMAGE_CHANNELS;
  k->across(image->pixels, (size_t)image->width * HL_IMAGE_CHANNELS, image->height, across, between,
            stride);
  for (int32_t i = 0; i < down->count; i++)
    k->down(between, stride, bytes, down, i, out + (size_t)i * bytes);
}

static void kernels_agree(void **state) {
  (void)state;
  const hl__image_kernels *fast = hl__image_kernels_avx2();
  if (!fast) skip();
  for (int trial = 0; trial < 300; trial++) {
    hl_image image = {0};
    assert_int_equal(hl__image_new(1 + draw(70), 1 + draw(40), "x", &image, NULL), HL_OK);
    size_t bytes = (size_t)image.width * (size_t)image.height * HL_IMAGE_CHANNELS;
    /* Extremes, where a sum would wrap; or anything. */
    for (size_t i = 0; i < bytes; i++)
      image.pixels[i] = (uint8_t)(trial % 3 ? draw(256) : draw(2) * 255);
    hl__filter across = random_filter(1 + (int32_t)draw(50), image.width, 1 + (int32_t)draw(13));
    hl__filter down = random_filter(1 + (int32_t)draw(30), image.height, 1 + (int32_t)draw(13));
    size_t row = (size_t)across.count * HL_IMAGE_CHANNELS, stride = row + HL_IMAGE_PADDING;
    size_t between_bytes = stride * (size_t)image.height, out_bytes = row * (size_t)down.count;
    uint8_t *between = make(between_bytes, 1), *a = make(out_bytes + HL_IMAGE_PADDING, 1);
    uint8_t *b = make(out_bytes + HL_IMAGE_PADDING, 1);
    run(&hl__image_kernels_baseline, &image, &across, &down, between, stride, a);
    memset(between, 170, between_bytes);
    run(fast, &image, &across, &down, between, stride, b);
    assert_memory_equal(a, b, out_bytes);
    free(between);
    free(a);
    free(b);
    release(&across);
    release(&down);
    hl_image_release(&image);
  }
}

/* Each pixel itself where sizes are equal, and one colour stays that colour at any size. */
static void resizing_keeps_what_it_must(void **state) {
  (void)state;
  hl_image image = {0}, same = {0}, flat = {0};
  assert_int_equal(hl__image_new(37, 23, "x", &image, NULL), HL_OK);
  for (int i = 0; i < 37 * 23 * 3; i++) image.pixels[i] = (uint8_t)draw(256);
  hl_image_cut cut = {37, 23, {5, 4, 30, 17}};
  assert_int_equal(hl_image_resize(&image, &cut, &same, NULL), HL_OK);
  for (int32_t y = 0; y < 17; y++)
    assert_memory_equal(same.pixels + y * 30 * 3, image.pixels + ((y + 4) * 37 + 5) * 3, 30 * 3);
  memset(image.pixels, 201, 37 * 23 * 3);
  cut = (hl_image_cut){100, 9, {1, 2, 80, 7}};
  assert_int_equal(hl_image_resize(&image, &cut, &flat, NULL), HL_OK);
  for (int i = 0; i < 80 * 7 * 3; i++) assert_int_equal(flat.pixels[i], 201);
  hl_image_release(&image);
  hl_image_release(&same);
  hl_image_release(&flat);
}

static void a_part_must_hold_the_cut(void **state) {
  (void)state;
  hl_image image = {0}, result = {0};
  hl_error error = {0};
  assert_int_equal(hl__image_new(20, 20, "x", &image, NULL), HL_OK);
  memset(image.pixels, 7, 20 * 20 * 3);
  image.whole_width = 100;
  image.x = 40;
  image.whole_height = 20;
  const hl_image_cut within = {100, 20, {42, 0, 16, 20}}, beyond = {100, 20, {42, 0, 19, 20}};
  assert_int_equal(hl_image_resize(&image, &within, &result, &error), HL_OK);
  assert_int_equal(result.pixels[0], 7);
  hl_image_release(&result);
  assert_int_equal(hl_image_resize(&image, &beyond, &result, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "too small for the cut"));
  hl_image_release(&image);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree),
                                     cmocka_unit_test(resizing_keeps_what_it_must),
                                     cmocka_unit_test(a_part_must_hold_the_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
