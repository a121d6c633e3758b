#include "numeric/fft.h"

static void reverse(float complex *data, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    float complex swap = data[i];
    data[i] = data[count - 1 - i];
    data[count - 1 - i] = swap;
  }
}

/* Element i moves to (i + by) mod count: three reversals, in place. */
static void roll(float complex *data, size_t count, size_t by) {
  reverse(data, count);
  reverse(data, by);
  reverse(data + by, count - by);
}

/* Rolling the whole picture by `down` rows moves rows only, so two rolls do both axes. */
static void roll2(float complex *data, size_t batch, size_t h, size_t w, size_t down,
                  size_t right) {
  for (size_t i = 0; i < batch; i++) {
    float complex *picture = data + i * h * w;
    roll(picture, h * w, down * w);
    for (size_t row = 0; row < h; row++) roll(picture + row * w, w, right);
  }
}

/* Even lengths: both directions exchange the quadrants across the centre, in one walk. */
static void exchange(float complex *data, size_t batch, size_t h, size_t w) {
  for (size_t row = 0; row < batch * h; row++) {
    if (row % h >= h / 2) continue;
    float complex *a = data + row * w, *b = a + h / 2 * w;
    for (size_t i = 0; i < w / 2; i++) {
      float complex left = a[i], right = a[i + w / 2];
      a[i] = b[i + w / 2];
      a[i + w / 2] = b[i];
      b[i] = right;
      b[i + w / 2] = left;
    }
  }
}

void hl_fft_shift(float complex *data, size_t batch, size_t h, size_t w) {
  if (h % 2 == 0 && w % 2 == 0)
    exchange(data, batch, h, w);
  else
    roll2(data, batch, h, w, h / 2, w / 2);
}

void hl_fft_unshift(float complex *data, size_t batch, size_t h, size_t w) {
  if (h % 2 == 0 && w % 2 == 0)
    exchange(data, batch, h, w);
  else
    roll2(data, batch, h, w, h - h / 2, w - w / 2);
}
