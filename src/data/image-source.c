#include "data/image-source.h"

#include "base/dtype.h"
#include "base/file.h"
#include "data/dataset-internal.h"
#include "data/image.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};

enum { port_image, port_label, named_max = 3 };

typedef struct images {
  hl_source source; /* the object that callers hold */
  const hl_image_folder *folder;
  hl_port input; /* with the batch */
  hl_image_decoding decoding;
  hl_source_port ports[2];
  char *description;
  pthread_mutex_t lock; /* for what follows */
  bool *is_replaced;    /* by picture; NULL: none was */
  int64_t replaced_count;
  hl_text replaced;
} images;

bool hl_image_port_fits(const hl_port *port) {
  return port->dtype == HL_FLOAT32 && port->rank == 4 &&
         (port->dims[1] == HL_IMAGE_CHANNELS || port->dims[3] == HL_IMAGE_CHANNELS) &&
         port->dims[1] > 0 && port->dims[2] > 0 && port->dims[3] > 0 &&
         port->dims[2] <= HL_IMAGE_PIXELS_MAX / 256;
}

/* -- one picture ------------------------------------------------------------------------------ */

typedef struct layout {
  int64_t height, width;
  int64_t pixel, channel; /* steps between values */
} layout;

static layout layout_of(const hl_port *port) {
  if (port->dims[1] == HL_IMAGE_CHANNELS)
    return (layout){port->dims[2], port->dims[3], 1, port->dims[2] * port->dims[3]};
  return (layout){port->dims[1], port->dims[2], HL_IMAGE_CHANNELS, 1};
}

/* Python's round() of half of `n`: to even. */
static int32_t half(int32_t n) {
  return n / 2 + (n % 2 && n / 2 % 2);
}

/* Scales the shorter side and cuts the centre out, as torchvision rounds it. */
static hl_status find_cut(int32_t width, int32_t height, layout l, const char *what,
                          hl_image_cut *ret_cut, hl_error *error) {
  int64_t longest = l.height > l.width ? l.height : l.width;
  int64_t side = (longest * 256 + 112) / 224;
  int64_t shorter = width < height ? width : height;
  int64_t longer = width < height ? height : width;
  int64_t scaled = side * longer / shorter;
  if (scaled > HL_IMAGE_PIXELS_MAX)
    return hl_error_set(error, HL_LIMIT,
                        "%s has %d x %d pixels, too narrow to be scaled to %" PRId64
                        " pixels. Remove it",
                        what, width, height, side);
  hl_image_cut cut = {.width = (int32_t)(width <= height ? side : scaled),
                      .height = (int32_t)(width <= height ? scaled : side)};
  cut.crop = (hl_image_crop){.x = half(cut.width - (int32_t)l.width),
                             .y = half(cut.height - (int32_t)l.height),
                             .width = (int32_t)l.width,
                             .height = (int32_t)l.height};
  *ret_cut = cut;
  return HL_OK;
}

static void normalise(const uint8_t *pixels, layout l, float *ret_values) {
  float values[HL_IMAGE_CHANNELS][256];
  for (int c = 0; c < HL_IMAGE_CHANNELS; c++)
    for (int v = 0; v < 256; v++) values[c][v] = ((float)v / 255.0f - mean[c]) / deviation[c];
  for (int64_t p = 0; p < l.height * l.width; p++)
    for (int c = 0; c < HL_IMAGE_CHANNELS; c++)
      ret_values[p * l.pixel + c * l.channel] = values[c][*pixels++];
}

hl_status hl_image_to_input(const void *data, size_t bytes, const char *what, const hl_port *input,
                            hl_image_decoding decoding, float *ret_values, hl_error *error) {
  hl_image image = {0}, part = {0};
  hl_image_cut cut = {0};
  int32_t width = 0, height = 0;
  layout l = layout_of(input);
  hl_status status = hl_image_size(data, bytes, what, &width, &height, error);
  if (status == HL_OK) status = find_cut(width, height, l, what, &cut, error);
  if (status == HL_OK)
    status = hl_image_decode_for(data, bytes, what, &cut, decoding, &image, error);
  if (status == HL_OK) status = hl_image_resize(&image, &cut, &part, error);
  hl_image_release(&image);
  if (status != HL_OK) return status;
  normalise(part.pixels, l, ret_values);
  hl_image_release(&part);
  return HL_OK;
}

double hl_image_input_squares(const float *a, const float *b, const hl_port *input) {
  layout l = layout_of(input);
  double sum = 0;
  for (int64_t p = 0; p < l.height * l.width; p++)
    for (int c = 0; c < HL_IMAGE_CHANNELS; c++) {
      int64_t at = p * l.pixel + c * l.channel;
      double difference = ((double)a[at] - (double)b[at]) * (double)deviation[c] * 255;
      sum += difference * difference;
    }
  return sum;
}

/* -- the source ------------------------------------------------------------------------------- */

static hl_status read_picture(const images *s, int64_t index, float *ret_values, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_image_folder_file(s->folder, index);
  HL_CLEANUP(hl_free_pointer) char *data = NULL;
  size_t bytes = 0;
  if (!path) return hl__dataset_no_memory(error);
  hl_status status = hl_file_read(path, HL_IMAGE_FILE_MAX, &data, &bytes, error);
  if (status != HL_OK) return status;
  return hl_image_to_input(data, bytes, path, &s->input, s->decoding, ret_values, error);
}

static void note_replaced(images *s, int64_t index) {
  const hl_image_entry *image = &s->folder->images[index];
  pthread_mutex_lock(&s->lock);
  if (!s->is_replaced) s->is_replaced = calloc((size_t)s->folder->count, sizeof *s->is_replaced);
  bool is_known = s->is_replaced && s->is_replaced[index];
  if (s->is_replaced) s->is_replaced[index] = true;
  if (!is_known && s->replaced_count++ < named_max)
    hl_text_format(&s->replaced, "%s%.80s%s%.60s", s->replaced.length ? ", " : "", image->folder,
                   image->folder[0] ? "/" : "", image->name);
  pthread_mutex_unlock(&s->lock);
}

static void put_label(hl_tensor_view *value, int64_t label) {
  /* Little-endian: the low bytes come first. */
  memcpy(value->data, &label, hl_dtype_bytes(value->dtype));
}

static hl_status read_sample(void *context, int64_t index, hl_tensor_view *values,
                             hl_error *error) {
  images *s = context;
  hl_status status = HL_OK;
  hl_error first = {0};
  int64_t all = s->folder->count, start = (int64_t)((__int128)index * all / s->source.count);
  for (int64_t i = 0; i < all; i++) {
    int64_t at = (start + i) % all;
    hl_error problem = {0};
    status = read_picture(s, at, values[port_image].data, &problem);
    if (i == 0) first = problem;
    if (status == HL_OK) {
      if (s->source.port_count > 1) put_label(&values[port_label], s->folder->images[at].label);
      return HL_OK;
    }
    if (status == HL_OUT_OF_MEMORY) break;
    note_replaced(s, at);
  }
  if (error) *error = first;
  return first.status;
}

static void say_problems(void *context, hl_text *out) {
  images *s = context;
  pthread_mutex_lock(&s->lock);
  if (s->replaced_count)
    hl_text_format(out, "%" PRId64 " broken picture%s replaced by the next in order: %s%s",
                   s->replaced_count, s->replaced_count == 1 ? "" : "s", s->replaced.data,
                   s->replaced_count > named_max ? ", ..." : "");
  pthread_mutex_unlock(&s->lock);
}

static void free_images(void *context) {
  images *s = context;
  pthread_mutex_destroy(&s->lock);
  hl_text_release(&s->replaced);
  free(s->is_replaced);
  free(s->description);
}

static hl_port without_batch(const hl_port *port) {
  hl_port sample = *port;
  sample.rank--;
  for (int32_t i = 0; i < sample.rank; i++) sample.dims[i] = port->dims[i + 1];
  sample.dims[sample.rank] = 0;
  return sample;
}

static hl_status check_ports(const hl_image_folder *folder, const hl_port *input,
                             const hl_port *label, int64_t label_limit, hl_error *error) {
  if (!hl_image_port_fits(input))
    return hl_error_set(error, HL_BAD_DATA,
                        "input '%.60s' takes no pictures: it would have to be float32 of shape "
                        "(any, 3, height, width) or (any, height, width, 3)",
                        input->name);
  if (!label) return HL_OK;
  if (label->rank != 1 || label->dtype == HL_BOOL || hl_dtype_is_float(label->dtype) ||
      hl_dtype_bytes(label->dtype) == 0 || hl_dtype_bytes(label->dtype) > sizeof(int64_t))
    return hl_error_set(error, HL_BAD_DATA,
                        "'%.60s' takes no labels: it would have to be integers, one for each "
                        "picture",
                        label->name);
  if (folder->class_count == 0)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s has no labels, which '%.60s' needs: put the pictures of each class "
                        "into a sub-folder",
                        folder->path, label->name);
  if (label_limit > 0 && folder->class_count > (uint64_t)label_limit)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s has %zu classes (sub-folders); the network tells %" PRId64
                        " apart. Use a network with more outputs, or fewer classes",
                        folder->path, folder->class_count, label_limit);
  return HL_OK;
}

hl_status hl_source_of_images(const hl_image_folder *folder, const hl_port *input,
                              const hl_port *label, int64_t label_limit, int64_t max_images,
                              hl_image_decoding decoding, hl_source **ret_source, hl_error *error) {
  hl_status status = check_ports(folder, input, label, label_limit, error);
  if (status != HL_OK) return status;
  images *s = calloc(1, sizeof *s);
  if (!s) return hl__dataset_no_memory(error);
  *s = (images){.folder = folder, .input = *input, .decoding = decoding, .replaced = HL_TEXT_INIT};
  layout l = layout_of(input);
  int64_t longest = l.height > l.width ? l.height : l.width;
  int64_t count = max_images > 0 && max_images < folder->count ? max_images : folder->count;
  HL_CLEANUP(hl_free_pointer)
  char *part = count < folder->count ? hl_format("; %" PRId64 " of them, evenly spread", count)
                                     : hl_strdup("");
  s->description =
      hl_format("%s%s; shorter side to %" PRId64 ", centre %" PRId64 " x %" PRId64
                ", ImageNet's mean and deviation%s",
                folder->description, part ? part : "", (longest * 256 + 112) / 224, l.height,
                l.width, decoding == HL_IMAGE_SCALED ? ", JPEG decoded at a smaller scale" : "");
  s->ports[port_image].port = without_batch(input);
  if (label) s->ports[port_label] = (hl_source_port){without_batch(label), true, false};
  s->source = (hl_source){.context = s,
                          .count = count,
                          .port_count = label ? 2 : 1,
                          .ports = s->ports,
                          .description = s->description,
                          .read = read_sample,
                          .problems = say_problems,
                          .free = free_images};
  pthread_mutex_init(&s->lock, NULL);
  if (!s->description) {
    hl_source_free(&s->source);
    return hl__dataset_no_memory(error);
  }
  *ret_source = &s->source;
  return HL_OK;
}
