/* Volumes for training: recipes, sets, and patches through a loader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/loader.h"
#include "data/npz.h"
#include "data/tiff.h"
#include "imaging/volume-generate.h"
#include "imaging/volume-transform.h"
#include "workloads/volume-source.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const hl_port input = {
    .name = "input", .dtype = HL_FLOAT32, .rank = 5, .dims = {-1, 1, 4, 8, 8}};
static const hl_port output = {
    .name = "logits", .dtype = HL_FLOAT32, .rank = 5, .dims = {-1, 1, 4, 8, 8}};
enum { patch_voxels = 4 * 8 * 8 };

static hl_volume_recipe recipe_of(hl_volume_task task, const char *text) {
  hl_volume_recipe recipe;
  hl_error error = {0};
  hl_volume_recipe_default(task, &recipe);
  if (hl_volume_recipe_parse(text, &recipe, &error) != HL_OK) fail_msg("%s: %s", text, error.msg);
  return recipe;
}

static hl_volume_set *open_set(const char *path, hl_volume_task task, const char *recipe_text) {
  hl_volume_recipe recipe = recipe_of(task, recipe_text);
  hl_volume_set *set = NULL;
  hl_error error = {0};
  if (hl_volume_set_open(path, &recipe, 42, 0, &set, &error) != HL_OK) fail_msg("%s", error.msg);
  return set;
}

static void test_recipe(void **state) {
  (void)state;
  hl_volume_recipe r = recipe_of(HL_VOLUME_SEGMENTATION, "");
  assert_true(r.zoom[0] == 1 && r.patches == 1 && r.threshold == 0.1 && r.normalise);
  assert_true(r.augment.histogram == 0.1 && r.augment.flips == 0);
  r = recipe_of(HL_VOLUME_LABEL_FREE, "zoom=0.5x0.25x0.125,patches=7,flips=xz,rotate=on,channel=3");
  assert_true(r.zoom[0] == 0.5 && r.zoom[1] == 0.25 && r.zoom[2] == 0.125);
  assert_true(r.patches == 7 && r.channel == 3 && r.augment.rotate && r.augment.flips == 5);
  assert_true(r.augment.histogram == 0);
  r = recipe_of(HL_VOLUME_SEGMENTATION, "flips=zyx,augment=off");
  assert_true(r.augment.histogram == 0 && r.augment.flips == 7);
  static const char *const bad[] = {"zoom=0",
                                    "zoom=1x2",
                                    "zoom=1x2x3x4",
                                    "zoom=nan",
                                    "patches=0",
                                    "flips=w",
                                    "rotate=yes",
                                    "zoom",
                                    "sooz=3",
                                    "channel=-1",
                                    ",",
                                    "threshold=inf",
                                    "zoom=0.5,",
                                    "normalise=1",
                                    "patches=1e3",
                                    "zoom=1,zoom=2",
                                    "patches=2,flips=y,patches=2"};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    hl_volume_recipe same = r;
    hl_error error = {0};
    assert_int_equal(hl_volume_recipe_parse(bad[i], &same, &error), HL_INVALID_ARGUMENT);
    assert_memory_equal(&same, &r, sizeof r);
    assert_true(error.msg[0]);
  }
}

static void test_prepared(void **state) {
  (void)state;
  hl_volume_set *set =
      open_set("nuclei:size=16x32x32,count=3,radius=4", HL_VOLUME_SEGMENTATION, "zoom=0.5");
  assert_int_equal(hl_volume_set_count(set), 3);
  assert_non_null(strstr(hl_volume_set_description(set), "3 made-up volumes"));
  assert_non_null(strstr(hl_volume_set_description(set), "zoom 0.5 by area"));
  hl_prepared_volume v = {0};
  assert_int_equal(hl_volume_set_read(set, 2, true, &v, NULL), HL_OK);
  assert_true(hl_volume_same(v.shape, (hl_volume_shape){8, 16, 16}));
  double sum = 0, squares = 0;
  int ones = 0;
  for (int i = 0; i < 8 * 16 * 16; i++) {
    sum += (double)v.image[i];
    squares += (double)v.image[i] * (double)v.image[i];
    assert_true(v.target[i] == 0 || v.target[i] == 1);
    ones += v.target[i] == 1;
  }
  assert_true(fabs(sum / 2048) < 1e-5 && fabs(squares / 2048 - 1) < 1e-4);
  assert_true(ones > 100 && ones < 1500);
  hl_prepared_volume_release(&v);
  assert_int_equal(hl_volume_set_read(set, 0, false, &v, NULL), HL_OK);
  assert_null(v.target);
  hl_prepared_volume_release(&v);
  hl_volume_set_free(set);
}

/* Sums over the batches of two epochs, in order. */
static void load(hl_source *source, int threads, uint64_t seed, double sums[2][8],
                 int64_t *ret_batches) {
  const hl_loader_spec spec = {.source = source,
                               .batch_size = 2,
                               .threads = threads,
                               .seed = seed,
                               .is_shuffled = true,
                               .is_whole = true,
                               .epochs = 2,
                               .transform = hl_volume_source_cut,
                               .transform_context = source->context,
                               .ports = hl_volume_source_ports(source)};
  hl_loader *loader = NULL;
  hl_error error = {0};
  if (hl_loader_new(&spec, &loader, &error) != HL_OK) fail_msg("%s", error.msg);
  *ret_batches = 0;
  for (const hl_batch *batch = NULL;; ++*ret_batches) {
    if (hl_loader_next(loader, &batch, &error) != HL_OK) fail_msg("%s", error.msg);
    if (!batch) break;
    assert_int_equal(batch->values[0].rank, 5);
    assert_int_equal(batch->values[0].dims[2], 4);
    const float *image = batch->values[0].data, *target = batch->values[1].data;
    double sum = 0;
    for (int i = 0; i < 2 * patch_voxels; i++) {
      assert_true(isfinite(image[i]) && (target[i] == 0 || target[i] == 1));
      sum += (double)image[i] * (i + 1) + (double)target[i] * i;
    }
    sums[batch->epoch][batch->number] = sum;
    hl_loader_return(loader, batch);
  }
  hl_loader_free(loader);
}

static void test_patches(void **state) {
  (void)state;
  hl_volume_set *set = open_set("nuclei:size=8x16x16,count=4,radius=3", HL_VOLUME_SEGMENTATION,
                                "patches=3,flips=zyx,rotate=on");
  hl_source *source = NULL;
  assert_true(hl_volume_ports_fit(&input, &output));
  assert_int_equal(hl_source_of_volumes(set, &input, &output, &source, NULL), HL_OK);
  assert_int_equal(source->count, 12);
  double a[2][8] = {0}, b[2][8] = {0}, c[2][8] = {0};
  int64_t batches = 0;
  load(source, 0, 1, a, &batches);
  assert_int_equal(batches, 12);
  load(source, 3, 1, b, &batches);
  load(source, 1, 2, c, &batches);
  for (int e = 0; e < 2; e++)
    for (int i = 0; i < 6; i++) {
      assert_true(a[e][i] == b[e][i]); /* whatever the threads */
      assert_true(a[e][i] != c[e][i]);
      assert_true(a[0][i] != a[1][i]);
    }
  hl_source_free(source);
}

/* Image and mask are cut and turned together. */
static void test_pairs(void **state) {
  (void)state;
  hl_volume_set *set = open_set("nuclei:size=12x24x24,count=1,noise=0", HL_VOLUME_SEGMENTATION,
                                "normalise=off,augment=off,flips=zyx,rotate=on");
  hl_source *source = NULL;
  assert_int_equal(hl_source_of_volumes(set, &input, &output, &source, NULL), HL_OK);
  hl_tensor_view whole[2] = {{.rank = 4}, {.rank = 4}};
  assert_int_equal(source->shape(source->context, 0, whole, NULL), HL_OK);
  assert_int_equal(whole[1].dims[1], 12);
  assert_int_equal(source->read(source->context, 0, whole, NULL), HL_OK);
  static float image[patch_voxels], mask[patch_voxels];
  hl_tensor_view values[2] = {{.data = image}, {.data = mask}};
  double inside = 0, outside = 0;
  int in = 0, out = 0;
  for (uint64_t seed = 0; seed < 50; seed++) {
    assert_int_equal(hl_volume_source_cut(source->context, seed, whole, values, NULL), HL_OK);
    for (int i = 0; i < patch_voxels; i++)
      if (mask[i] == 1) {
        inside += (double)image[i];
        in++;
      } else {
        outside += (double)image[i];
        out++;
      }
  }
  assert_true(in > 0 && out > 0);
  assert_true(inside / in > 2.5 * outside / out); /* 1 if they were turned apart */
  hl_source_free(source);
}

static hl_status first_batch(const char *path, hl_volume_task task, const char *recipe_text,
                             hl_error *error) {
  hl_volume_recipe recipe = recipe_of(task, recipe_text);
  hl_volume_set *set = NULL;
  hl_source *source = NULL;
  hl_status status = hl_volume_set_open(path, &recipe, 1, 0, &set, error);
  if (status == HL_OK) status = hl_source_of_volumes(set, &input, &output, &source, error);
  if (status == HL_OK) {
    hl_tensor_view values[2] = {{.rank = 4}, {.rank = 4}};
    status = source->shape(source->context, source->count - 1, values, error);
  }
  hl_source_free(source);
  return status;
}

static void expect(const char *path, hl_volume_task task, const char *recipe, hl_status status,
                   const char *a, const char *b) {
  hl_error error = {0};
  hl_status found = first_batch(path, task, recipe, &error);
  if (found != status) fail_msg("%s: %s, %s", path, hl_status_name(found), error.msg);
  if (!strstr(error.msg, a) || !strstr(error.msg, b)) fail_msg("%s: %s", path, error.msg);
}

static void write_npz(const char *path, int64_t depth, const char *image, const char *target,
                      int64_t target_depth, float odd) {
  static float values[2][2 * 8 * 16 * 16];
  hl_tensor_view arrays[2];
  for (int i = 0; i < 2; i++) {
    int64_t d = i ? target_depth : depth;
    for (int64_t k = 0; k < 2 * d * 256; k++) values[i][k] = (float)(k % 17);
    arrays[i] = (hl_tensor_view){.name = i ? target : image,
                                 .dtype = HL_FLOAT32,
                                 .rank = 4,
                                 .dims = {2, d, 16, 16},
                                 .data = values[i],
                                 .bytes = (uint64_t)(2 * d * 256) * sizeof(float)};
  }
  values[0][2 * depth * 256 - 1] = odd;
  assert_int_equal(hl_npz_write(path, arrays, target ? 2 : 1, false, NULL), HL_OK);
}

static void test_hostile(void **state) {
  (void)state;
  char folder[] = "/tmp/hotlap-volumes-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.npz", folder);
  const hl_volume_task mask = HL_VOLUME_SEGMENTATION, signal = HL_VOLUME_LABEL_FREE;
  expect("nuclei:size=3x8x8", mask, "", HL_INVALID_ARGUMENT, "4 x 8 x 8", "3 x 8 x 8");
  expect("nuclei:size=8x16x16", mask, "zoom=0.25", HL_INVALID_ARGUMENT, "nuclei_0003", "2 x 4 x 4");
  expect("nuclei:size=3x16x16", mask, "zoom=0.25", HL_INVALID_ARGUMENT, "nuclei_0003", "side of 3");
  expect("nuclei:size=99999x99999x99999", mask, "", HL_LIMIT, "2^32", "99999");
  write_npz(path, 8, "image", "label", 8, 1);
  expect(path, mask, "", HL_OK, "", "");
  assert_true(hl_volume_set_is(path));
  expect(path, mask, "zoom=0.25", HL_INVALID_ARGUMENT, "a.npz, volume 1", "2 x 4 x 4");
  write_npz(path, 8, "image", "label", 8, NAN);
  expect(path, mask, "", HL_BAD_DATA, "a.npz, volume 1: image", "[7, 15, 15] (z, y, x) is NaN");
  write_npz(path, 8, "image", "label", 6, 1);
  expect(path, mask, "", HL_BAD_DATA, "a.npz", "different shapes");
  write_npz(path, 8, "image", NULL, 8, 1);
  expect(path, mask, "", HL_NOT_FOUND, "no array of targets", "'label'");
  write_npz(path, 8, "image", "signal", 8, 1);
  expect(path, signal, "", HL_OK, "", "");
  write_npz(path, 8, "pictures", "label", 8, 1);
  expect(path, mask, "", HL_BAD_DATA, "a.npz", "no array 'image'");
  assert_false(hl_volume_set_is(path));
  unlink(path);
  expect(path, mask, "", HL_NOT_FOUND, "a.npz", "");
  rmdir(folder);
}

static void write_tiff(const char *folder, const char *name, int64_t depth, float value) {
  static float voxels[8 * 16 * 16];
  char path[96];
  for (int i = 0; i < 8 * 256; i++) voxels[i] = (float)(i % 5);
  voxels[0] = value;
  hl_tensor_view view = {.dtype = HL_FLOAT32,
                         .rank = 3,
                         .dims = {depth, 16, 16},
                         .data = voxels,
                         .bytes = (uint64_t)(depth * 256) * sizeof(float)};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  hl_error error = {0};
  if (hl_tiff_write(path, &view, false, &error) != HL_OK) fail_msg("%s", error.msg);
}

static void write_text(const char *folder, const char *name, const char *text) {
  char path[96];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* The image and the target that are read first begin with these values. */
static void expect_first(const char *path, hl_volume_task task, const char *more, int64_t count,
                         float image, float target) {
  char recipe[96];
  snprintf(recipe, sizeof recipe, "normalise=off,threshold=5%s", more);
  hl_volume_set *set = open_set(path, task, recipe);
  hl_prepared_volume v = {0};
  hl_error error = {0};
  assert_int_equal(hl_volume_set_count(set), count);
  if (hl_volume_set_read(set, 0, true, &v, &error) != HL_OK) fail_msg("%s", error.msg);
  assert_true(v.image[0] == image);
  assert_true(v.target[0] == target);
  hl_prepared_volume_release(&v);
  hl_volume_set_free(set);
}

static void test_files(void **state) {
  (void)state;
  char folder[] = "/tmp/hotlap-volumes-XXXXXX", path[96], command[96];
  assert_non_null(mkdtemp(folder));
  const hl_volume_task mask = HL_VOLUME_SEGMENTATION, signal = HL_VOLUME_LABEL_FREE;
  write_tiff(folder, "a.tif", 8, 11);
  write_tiff(folder, "a_seg.tif", 8, 9); /* above the threshold */
  write_tiff(folder, "a_signal.tiff", 8, 33);
  write_tiff(folder, "b.ome.tif", 8, 44);
  write_text(folder, "notes.txt", "no volume");
  assert_true(hl_volume_set_is(folder));
  expect_first(folder, mask, "", 2, 11, 1);
  expect_first(folder, signal, "", 2, 11, 33);
  expect(folder, mask, "", HL_NOT_FOUND, "b.ome.tif has no target", "b_label.tif");
  expect(folder, mask, "target-channel=0", HL_OK, "", "");
  expect(folder, mask, "target-channel=2", HL_INVALID_ARGUMENT, "b.ome.tif has 1 channel",
         "no channel 2");
  expect(folder, mask, "channel=1", HL_INVALID_ARGUMENT, "b.ome.tif has 1 channel", "channel 1");
  snprintf(path, sizeof path, "%s/a.tif", folder);
  expect_first(path, mask, "", 1, 11, 1);
  snprintf(path, sizeof path, "%s/t.csv", folder);
  write_text(folder, "t.csv",
             "id,raw,seg\r\n1,\"b.ome.tif\",a_signal.tiff\r\n\r\n2,a.tif,a_seg.tif\n");
  expect_first(path, mask, "", 2, 44, 1);
  static const struct {
    const char *text, *a, *b;
    hl_status status;
  } bad[] = {{"", "no column 'raw'", "t.csv", HL_BAD_DATA},
             {"a,b\n1,2\n", "no column 'raw'", "t.csv", HL_BAD_DATA},
             {"raw,seg\n", "names no volume", "t.csv", HL_BAD_DATA},
             {"raw,seg\n\"a.tif,x\n", "line 2", "quote", HL_BAD_DATA},
             {"seg,raw\na_seg.tif\n", "line 2", "no image", HL_BAD_DATA},
             {"raw,seg\nno.tif,a_seg.tif\n", "no.tif", "", HL_NOT_FOUND},
             {"raw,seg\nt.csv,a_seg.tif\n", "t.csv", "", HL_BAD_DATA},
             {"raw,seg\na.tif,\n", "a.tif has no target", "", HL_NOT_FOUND}};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    write_text(folder, "t.csv", bad[i].text);
    expect(path, mask, "", bad[i].status, bad[i].a, bad[i].b);
  }
  write_tiff(folder, "b_label.tif", 7, 1);
  expect(folder, mask, "", HL_BAD_DATA, "b.ome.tif", "7 x 16 x 16");
  write_tiff(folder, "b_label.tif", 8, INFINITY);
  expect(folder, mask, "", HL_BAD_DATA, "b.ome.tif: target", "[0, 0, 0] (z, y, x) is infinite");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0); /* NOLINT: a folder of our own */
}

static void test_ports(void **state) {
  (void)state;
  hl_port flat = {.name = "x", .dtype = HL_FLOAT32, .rank = 4, .dims = {-1, 1, 64, 48}};
  assert_true(hl_volume_ports_fit(&flat, &flat));
  assert_true(hl_volume_same(hl_volume_port_patch(&flat), (hl_volume_shape){1, 64, 48}));
  hl_port other = flat;
  other.dims[3] = 47;
  assert_false(hl_volume_ports_fit(&flat, &other));
  other = flat;
  other.dims[1] = 3;
  assert_false(hl_volume_ports_fit(&other, &other));
  other = flat;
  other.dtype = HL_INT64;
  assert_false(hl_volume_ports_fit(&flat, &other));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_recipe),  cmocka_unit_test(test_prepared),
      cmocka_unit_test(test_patches), cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_hostile), cmocka_unit_test(test_files),
      cmocka_unit_test(test_ports),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
