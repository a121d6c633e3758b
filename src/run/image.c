#include "run/image.h"

#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status bad_reply(hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "the worker's image does not add up");
}

static double number(const json_t *list, size_t i) {
  return json_number_value(json_array_get(list, i));
}

static void take_alignment(const json_t *reply, hl_reconstruction *image) {
  const json_t *rectangle = json_object_get(reply, "rectangle");
  const json_t *factor = json_object_get(reply, "factor"), *ramp = json_object_get(reply, "ramp");
  int64_t *sides[] = {&image->top, &image->left, &image->height, &image->width};
  image->is_aligned =
      json_array_size(rectangle) == 4 && json_array_size(factor) == 2 && json_array_size(ramp) == 2;
  for (size_t i = 0; i < 4 && image->is_aligned; i++) {
    *sides[i] = json_integer_value(json_array_get(rectangle, i));
    image->is_aligned = *sides[i] >= 0 && *sides[i] <= image->side;
  }
  image->is_aligned = image->is_aligned && image->top + image->height <= image->side &&
                      image->left + image->width <= image->side;
  for (size_t i = 0; i < 2 && image->is_aligned; i++) {
    image->factor[i] = number(factor, i);
    image->ramp[i] = number(ramp, i);
  }
}

/* A copy of `count` floats at *at, which goes on behind them. */
static float *part(const unsigned char **at, size_t count) {
  float *copy = malloc(count * sizeof *copy);
  if (copy) memcpy(copy, *at, count * sizeof *copy);
  *at += count * sizeof *copy;
  return copy;
}

/* Takes the image of a reply: complex pixels, then weights, then maybe the truth. */
static hl_status take(const hl_message *reply, hl_reconstruction **ret_image, hl_error *error) {
  int64_t side = hl_json_get_int(reply->object, "side", 0);
  bool truth = hl_json_get_bool(reply->object, "truth", false);
  if (side < 1 || side > 1 << 13) return bad_reply(error);
  size_t pixels = (size_t)(side * side);
  if (reply->byte_count != (truth ? 5 : 3) * pixels * sizeof(float)) return bad_reply(error);
  hl_reconstruction *image = calloc(1, sizeof *image);
  if (!image) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  const unsigned char *at = reply->bytes;
  *image = (hl_reconstruction){.side = side,
                               .x = hl_json_get_real(reply->object, "x", 0),
                               .y = hl_json_get_real(reply->object, "y", 0)};
  image->pixels = part(&at, 2 * pixels);
  image->weights = part(&at, pixels);
  if (truth) image->truth = part(&at, 2 * pixels);
  if (!image->pixels || !image->weights || (truth && !image->truth)) {
    hl_reconstruction_free(image);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  }
  take_alignment(reply->object, image);
  *ret_image = image;
  return HL_OK;
}

static void take_quality(const json_t *reply, hl_record *record) {
  double nan = (double)NAN;
  record->amplitude_ssim = hl_json_get_real(reply, "amplitude_ssim", nan);
  record->amplitude_psnr_db = hl_json_get_real(reply, "amplitude_psnr_db", nan);
  record->phase_error_rad = hl_json_get_real(reply, "phase_error_rad", nan);
  record->frc_half = hl_json_get_real(reply, "frc_half", nan);
  record->frc_half_bit = hl_json_get_real(reply, "frc_half_bit", nan);
  record->diffraction_residual = hl_json_get_real(reply, "diffraction_residual", nan);
  hl_record_set_text(&record->quality_reason, hl_json_get_text(reply, "quality_reason", NULL));
}

/* `record` (NULL: none) gets what the worker says of the image. */
static hl_status ask(hl_session *session, hl_record *record, hl_reconstruction **ret_image,
                     hl_error *error) {
  hl_message reply;
  hl_status status =
      hl_process_call(&session->process, "image", NULL, session->step_timeout_s, &reply, error);
  if (status != HL_OK) return status;
  status = take(&reply, ret_image, error);
  if (status == HL_OK && record) take_quality(reply.object, record);
  hl_message_release(&reply);
  return status;
}

/* -- the reference setting ------------------------------------------------------------------- */

static const hl_pipeline_spec one_by_one = {.preprocess_batch = 1, .reassemble_batch = 1};

/* By the definition of a convolution. */
static const hl_option plain = {.key = "winograd", .value = "off"};

static hl_configuration reference_of(const hl_row *r) {
  hl_configuration c = *r->configuration;
  c.engine = "native";
  c.plugins = NULL;
  c.plugin_count = 0;
  c.engine_options = &plain;
  c.engine_option_count = 1;
  c.provider = NULL;
  c.device = "cpu";
  c.device_note = NULL;
  c.dtype = "float32";
  c.pipeline = &one_by_one;
  c.simulated = false;
  c.batch_size = r->session.fixed_batch ? r->session.fixed_batch : 1;
  return c;
}

static hl_status measure(const hl_row *r, hl_reconstruction **ret_image, hl_error *error) {
  const hl_session_request one = {.max_samples = 1, .max_ns = 1, .group = 1, .restart = true};
  hl_configuration c = reference_of(r);
  hl_method_options method = *r->context->method;
  method.memory_limit_mb = 0; /* what the row may use is not what its reference may */
  method.counters = false;
  hl_row_context context = *r->context;
  context.method = &method;
  hl_session session;
  hl_session_samples samples = {0};
  hl_status status = hl_session_open(&context, &c, &session, NULL, error);
  if (status == HL_OK) status = hl_session_load(&session, &context, NULL, error);
  if (status == HL_OK) status = hl_session_prepare(&session, NULL, error);
  if (status == HL_OK) status = hl_session_run(&session, &one, &samples, error);
  hl_session_samples_release(&samples);
  if (status == HL_OK) status = ask(&session, NULL, ret_image, error);
  return hl_session_close(&session, status, error);
}

/* The cache has one: a sweep goes through one scan with one network. */
static hl_status find(const hl_row *r, const hl_reconstruction **ret_image, hl_error *error) {
  hl_reference_cache *cache = r->context->references;
  HL_CLEANUP(hl_free_pointer)
  char *key = hl_format("%s %s", r->session.reference_key, r->record->data ? r->record->data : "");
  if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  if (!cache->image || strcmp(cache->image_key, key) != 0) {
    hl_reconstruction *image = NULL;
    if (r->context->view->phase)
      r->context->view->phase(r->context->view->context, "reconstructing for comparison");
    hl_status status = measure(r, &image, error);
    if (status != HL_OK) return status;
    hl_reconstruction_free(cache->image);
    free(cache->image_key);
    cache->image = image;
    cache->image_key = hl_strdup(key);
    if (!cache->image_key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  }
  *ret_image = cache->image;
  return HL_OK;
}

/* max|a - b| / max|b|; infinite where a pixel is no number. */
static double difference(const hl_reconstruction *a, const hl_reconstruction *b) {
  double most = 0, largest = 0;
  if (a->side != b->side) return (double)INFINITY;
  for (int64_t i = 0; i < a->side * a->side; i++) {
    const float *p = a->pixels + 2 * i, *q = b->pixels + 2 * i;
    double d = hypot((double)p[0] - (double)q[0], (double)p[1] - (double)q[1]);
    if (isnan(d)) return (double)INFINITY;
    most = fmax(most, d);
    largest = fmax(largest, hypot((double)q[0], (double)q[1]));
  }
  return largest > 0 ? most / largest : most > 0 ? (double)INFINITY : 0;
}

static void not_compared(hl_record *record, const char *why) {
  HL_CLEANUP(hl_free_pointer) char *text = hl_format("not compared: %s", why);
  hl_record_set_text(&record->reconstruction_check, text);
}

hl_status hl_row_check_image(hl_row *r, hl_error *error) {
  hl_record *record = r->record;
  hl_reconstruction *image = NULL;
  hl_error failure = {0};
  if (!r->configuration->pipeline) return HL_OK;
  hl_status status = ask(&r->session, record, &image, &failure);
  if (status == HL_UNIMPLEMENTED) {
    not_compared(record, failure.msg);
    return HL_OK;
  }
  if (status != HL_OK) return hl_error_set(error, status, "%s", failure.msg);
  hl_reconstruction_free(record->reconstruction);
  record->reconstruction = image;
  if (!r->context->method->check) {
    not_compared(record, "--no-check");
    return HL_OK;
  }
  const hl_reconstruction *reference = NULL;
  status = find(r, &reference, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status != HL_OK) {
    not_compared(record, failure.msg);
    return HL_OK;
  }
  record->reconstruction_error = difference(image, reference);
  hl_record_set_text(&record->reconstruction_check,
                     "native, float32, plain convolutions, one input at a time: the whole image");
  return HL_OK;
}

void hl_row_judge_image(hl_record *record) {
  double allowed = strcmp(record->dtype, "int8") == 0
                       ? HL_IMAGE_INT8_TOLERANCE
                       : fmax(hl_reference_tolerance(record->dtype), HL_IMAGE_TOLERANCE);
  if (!(record->reconstruction_error > allowed) || !hl_record_passed(record)) return;
  HL_CLEANUP(hl_free_pointer)
  char *why = hl_format("the image differs from the reference setting's by %.2g of the largest "
                        "value; %.0e is allowed for %s",
                        record->reconstruction_error, allowed, record->dtype);
  hl_record_set_text(&record->outcome, hl_outcome_name(HL_MISTRUSTED));
  hl_record_set_text(&record->reason, why);
}
