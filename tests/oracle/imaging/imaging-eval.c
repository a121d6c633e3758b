/* imaging-eval WHAT NUMBERS...: src/imaging on float32 from standard input. Arrays go to standard
 * output as they are, numbers as text. imaging.py is its other half. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "imaging/quality.h"
#include "imaging/volume-augment.h"
#include "imaging/volume-generate.h"
#include "imaging/volume-transform.h"
#include "imaging/volume-windows.h"

enum { max_numbers = 16 };
static double number[max_numbers];
static int number_count;
static hl_error error;

static int64_t whole(int i) {
  return (int64_t)number[i];
}

static hl_volume_shape shape_at(int i) {
  return (hl_volume_shape){whole(i), whole(i + 1), whole(i + 2)};
}

static float *array(int64_t count) {
  float *a = calloc((size_t)count + 1, sizeof *a);
  if (!a) exit(3);
  return a;
}

static float *read_array(int64_t count) {
  float *a = array(count);
  if (fread(a, sizeof *a, (size_t)count, stdin) != (size_t)count) exit(3);
  return a;
}

static void write_array(float *a, int64_t count) {
  if (fwrite(a, sizeof *a, (size_t)count, stdout) != (size_t)count) exit(3);
  free(a);
}

static hl_status generate(int64_t voxels) {
  hl_nuclei_options o = {shape_at(0), number[3],          number[4],
                         number[5],   (uint64_t)whole(6), (uint64_t)whole(7)};
  hl_status status = hl_volume_count(o.shape, "volume", &voxels, &error);
  if (status != HL_OK) return status;
  float *image = array(voxels), *label = array(voxels), *target = array(voxels);
  status = hl_nuclei_generate(&o, image, label, target, &error);
  if (status == HL_OK) {
    write_array(image, voxels);
    write_array(label, voxels);
    write_array(target, voxels);
  } else {
    free(image);
    free(label);
    free(target);
  }
  return status;
}

static hl_status zoom(int64_t voxels) {
  hl_volume_shape to = {0};
  hl_status status = hl_volume_zoom_shape(shape_at(0), number + 3, &to, &error);
  if (status != HL_OK) return status;
  float *from = read_array(voxels), *out = array(to.depth * to.height * to.width);
  hl_volume_zoom_area(from, shape_at(0), to, out);
  free(from);
  write_array(out, to.depth * to.height * to.width);
  return HL_OK;
}

static hl_status rotate(int64_t voxels) {
  float *from = read_array(voxels), *out = array(voxels);
  hl_volume_rotate(from, shape_at(0), (int)number[3], out);
  free(from);
  write_array(out, voxels);
  return HL_OK;
}

static hl_status crop(int64_t voxels) {
  float *from = read_array(voxels);
  hl_volume_shape patch = shape_at(6);
  float *out = array(patch.depth * patch.height * patch.width);
  hl_status status = hl_volume_crop(from, shape_at(0), shape_at(3), patch, "image", out, &error);
  free(from);
  if (status == HL_OK)
    write_array(out, patch.depth * patch.height * patch.width);
  else
    free(out);
  return status;
}

/* What works in place, and what needs no other number than the shape. */
static hl_status in_place(const char *what, int64_t voxels) {
  float *a = read_array(voxels);
  if (strcmp(what, "normalise") == 0) hl_volume_normalise(a, voxels);
  if (strcmp(what, "threshold") == 0) hl_volume_threshold(a, voxels, (float)number[3]);
  if (strcmp(what, "sigmoid") == 0) hl_volume_sigmoid(a, voxels);
  if (strcmp(what, "flip") == 0) hl_volume_flip(a, shape_at(0), (unsigned)number[3]);
  if (strcmp(what, "bytes") == 0) {
    uint8_t *bytes = (uint8_t *)array(voxels);
    hl_volume_to_bytes(a, voxels, bytes);
    for (int64_t i = 0; i < voxels; i++) a[i] = bytes[i];
    free(bytes);
  }
  hl_status status = HL_OK;
  if (strcmp(what, "finite") == 0)
    status = hl_volume_check_finite(a, shape_at(0), "a.tiff: image", &error);
  write_array(a, voxels);
  return status;
}

/* A "network" that sees where in its window a voxel is, and all of the window. */
static hl_status network(void *context, int64_t count, const float *inputs, float *ret_outputs,
                         hl_error *e) {
  int64_t voxels = *(int64_t *)context;
  for (int64_t k = 0; k < count; k++) {
    const float *window = inputs + k * voxels;
    double sum = 0;
    for (int64_t i = 0; i < voxels; i++) sum += (double)window[i];
    float mean = (float)(sum / (double)voxels);
    for (int64_t i = 0; i < voxels; i++)
      ret_outputs[k * voxels + i] = window[i] * window[i] + 1e-3f * (float)i + mean;
  }
  if (count > whole(6)) return hl_error_set(e, HL_INTERNAL, "%" PRId64 " windows", count);
  return HL_OK;
}

static hl_status windows(int64_t voxels) {
  hl_windows_options o = {shape_at(3),    whole(6),  number[7],
                          number[8] != 0, number[9], (float)number[10]};
  float *image = read_array(voxels), *out = array(voxels);
  int64_t each = o.roi.depth * o.roi.height * o.roi.width;
  hl_status status = hl_windows_predict(&o, shape_at(0), image, network, &each, out, &error);
  free(image);
  if (status == HL_OK)
    write_array(out, voxels);
  else
    free(out);
  return status;
}

/* augment D H W d h w seed epoch sample flips rotate chance: the draw as text, then the patch. */
static hl_status augment(int64_t voxels) {
  hl_augment_options o = HL_AUGMENT_SEGMENTATION;
  o.histogram = o.shift = o.contrast = number[11];
  o.flips = (unsigned)number[9];
  o.rotate = number[10] != 0;
  hl_volume_shape patch = shape_at(3);
  int64_t count = patch.depth * patch.height * patch.width;
  hl_augment draw;
  hl_status status = hl_augment_check(&o, &error);
  if (status != HL_OK) return status;
  hl_augment_draw(&o, shape_at(0), patch, (uint64_t)whole(6), (uint32_t)number[7],
                  (uint64_t)whole(8), &draw);
  float *image = read_array(voxels), *out = array(count), *scratch = array(count);
  status = hl_volume_crop(image, shape_at(0), draw.at, patch, "image", out, &error);
  if (status != HL_OK) return status;
  hl_augment_turn(&draw, out, patch, scratch);
  hl_augment_intensity(&draw, out, count);
  printf("%" PRId64 " %" PRId64 " %" PRId64 " %u %d %.17g %.17g", draw.at.depth, draw.at.height,
         draw.at.width, draw.flips, draw.quarters, draw.shift, draw.gamma);
  for (int i = 0; i < draw.point_count; i++) printf(" %.17g", draw.points[i]);
  printf("\n");
  free(image);
  free(scratch);
  write_array(out, count);
  return HL_OK;
}

static hl_status quality(int64_t count) {
  float *a = read_array(count), *b = read_array(count);
  double ssim = 0;
  hl_status status = hl_quality_ssim(a, b, whole(1), whole(2), number[4], whole(5), &ssim, &error);
  hl_picture_quality q = {0};
  if (status == HL_OK)
    status = hl_quality_pictures(a, b, whole(1), whole(2), number[4], whole(5), &q, &error);
  if (status == HL_OK)
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n",
           hl_quality_dice(a, b, count, (float)number[3], 0),
           hl_quality_dice(a, b, count, (float)number[3], 1e-5),
           hl_quality_soft_dice(a, b, count, 1e-5), hl_quality_mse(a, b, count),
           hl_quality_correlation(a, b, count), hl_quality_psnr(a, b, count, number[4]), ssim,
           q.mse, q.correlation, q.psnr, q.ssim);
  free(a);
  free(b);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc - 2 > max_numbers) return 2;
  for (int i = 2; i < argc; i++) number[number_count++] = strtod(argv[i], NULL);
  const char *what = argv[1];
  int64_t voxels = 0;
  hl_status status = hl_volume_count(shape_at(0), "volume", &voxels, &error);
  if (status == HL_OK)
    status = strcmp(what, "generate") == 0  ? generate(voxels)
             : strcmp(what, "zoom") == 0    ? zoom(voxels)
             : strcmp(what, "rotate") == 0  ? rotate(voxels)
             : strcmp(what, "crop") == 0    ? crop(voxels)
             : strcmp(what, "windows") == 0 ? windows(voxels)
             : strcmp(what, "augment") == 0 ? augment(voxels)
             : strcmp(what, "quality") == 0 ? quality(voxels)
                                            : in_place(what, voxels);
  if (status == HL_OK) return 0;
  fprintf(stderr, "%s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
