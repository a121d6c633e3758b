/* What is said of TIFF files: one, or those of a folder. */
#include "base/dtype.h"
#include "data/array.h"
#include "data/describe-internal.h"
#include "data/folder-walk.h"
#include "data/kind.h"
#include "data/tiff.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { files_shown = 20 };

typedef struct range {
  double low, high; /* of the first channel at the first time; NaN: it cannot be read */
} range;

static range find_range(hl_tiff *tiff, hl_error *ret_problem) {
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  hl_tensor_view volume = {0};
  range r = {NAN, NAN};
  const int64_t dims[] = {s->depth, s->height, s->width};
  hl_status status = hl_array_new(NULL, s->dtype, 3, dims, &volume, ret_problem);
  if (status == HL_OK) status = hl_tiff_read(tiff, 0, 0, volume.data, ret_problem);
  if (status == HL_OK) hl_array_check_finite(&volume, "channel 0", ret_problem);
  for (int64_t i = 0; status == HL_OK && i < dims[0] * dims[1] * dims[2]; i++) {
    double value = hl_array_at(&volume, i);
    if (!(value >= r.low)) r.low = value;
    if (!(value <= r.high)) r.high = value;
  }
  hl_array_release(&volume);
  return r;
}

/* Two lines about a file; `ret_problem` says what is wrong with it. */
static void format_file(const char *path, hl_text *text, hl_error *ret_problem) {
  hl_tiff *tiff = NULL;
  if (hl_tiff_open(path, &tiff, ret_problem) != HL_OK) {
    hl_text_line(text, "  unreadable: %s", ret_problem->msg);
    return;
  }
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  range r = find_range(tiff, ret_problem);
  hl_text_line(text, "  %s", path);
  hl_text_format(text,
                 "    %" PRId64 " x %" PRId64 " x %" PRId64 " (z, y, x) of %s, %" PRId64
                 " channel%s, %" PRId64 " time%s (%s); compression: %s\n",
                 s->depth, s->height, s->width, hl_dtype_name(s->dtype), s->channels,
                 s->channels == 1 ? "" : "s", s->times, s->times == 1 ? "" : "s", s->order,
                 s->compression);
  if (!isnan(r.low)) hl_text_format(text, "    channel 0: %.6g to %.6g\n", r.low, r.high);
  if (ret_problem->status) hl_text_line(text, "    problem: %s", ret_problem->msg);
  hl_tiff_free(tiff);
}

static void write_file(const char *path, hl_json *json, hl_error *ret_problem) {
  hl_tiff *tiff = NULL;
  range r = {NAN, NAN};
  hl_json_object(json, NULL);
  hl_json_text(json, "file", path);
  if (hl_tiff_open(path, &tiff, ret_problem) == HL_OK) {
    const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
    r = find_range(tiff, ret_problem);
    hl_json_text(json, "dtype", hl_dtype_name(s->dtype));
    hl_json_int(json, "times", s->times);
    hl_json_int(json, "channels", s->channels);
    hl_json_int(json, "depth", s->depth);
    hl_json_int(json, "height", s->height);
    hl_json_int(json, "width", s->width);
    hl_json_text(json, "order", s->order);
    hl_json_text(json, "compression", s->compression);
  }
  hl_json_real(json, "min", r.low);
  hl_json_real(json, "max", r.high);
  hl_json_text(json, "problem", ret_problem->status ? ret_problem->msg : NULL);
  hl_json_end(json);
  hl_tiff_free(tiff);
}

/* Says each TIFF in the folder and below, as text or JSON. */
static hl_status each_file(const char *folder, hl_text *text, hl_json *json, int64_t *ret_count,
                           hl_error *error) {
  hl_arena arena;
  hl_folder_walk walk;
  hl_arena_init(&arena, (size_t)1 << 30);
  hl_folder_walk_init(folder, &arena, &walk);
  hl_status status = hl_folder_walk_files(&walk, "", true, error);
  for (size_t i = 0; i < walk.count && status == HL_OK; i++) {
    hl_error problem = {0};
    HL_CLEANUP(hl_free_pointer)
    char *path = hl_folder_path(folder, walk.files[i].folder, walk.files[i].name);
    if (!path)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the description");
    else if (hl_data_kind_of(path) == HL_DATA_TIFF && json)
      write_file(path, json, &problem);
    else if (hl_data_kind_of(path) == HL_DATA_TIFF && (*ret_count)++ < files_shown)
      format_file(path, text, &problem);
  }
  hl_folder_walk_release(&walk);
  hl_arena_release(&arena);
  return status;
}

hl_status hl__describe_tiff(const char *path, bool is_folder, hl_text *text, hl_error *error) {
  int64_t count = 1;
  hl_error problem = {0};
  hl_text_line(text, "%s: %s", path, is_folder ? "a folder of TIFF files" : "a TIFF");
  if (is_folder) {
    count = 0;
    hl_status status = each_file(path, text, NULL, &count, error);
    if (status != HL_OK) return status;
  } else {
    format_file(path, text, &problem);
    if (problem.status) return hl_error_set(error, problem.status, "%s", problem.msg);
  }
  if (count > files_shown) hl_text_format(text, "  ... %" PRId64 " more\n", count - files_shown);
  hl_text_append(text, "\nRead as windows of the model's size, values less their mean over their "
                       "deviation.\n");
  hl_text_line(text, "Measure with it: hotlap sweep dynunet --test-data %s", path);
  return HL_OK;
}

hl_status hl__describe_tiff_json(const char *path, bool is_folder, hl_json *json, hl_error *error) {
  int64_t count = 0;
  hl_error problem = {0};
  hl_status status = HL_OK;
  hl_json_text(json, "container", is_folder ? "TIFF folder" : "TIFF");
  hl_json_array(json, "files");
  if (is_folder)
    status = each_file(path, NULL, json, &count, error);
  else
    write_file(path, json, &problem);
  hl_json_end(json);
  if (problem.status) status = hl_error_set(error, problem.status, "%s", problem.msg);
  return status;
}
