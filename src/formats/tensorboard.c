#include "formats/tensorboard.h"

#include "base/file.h"
#include "formats/png-grey.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

uint32_t hl_crc32c(const void *data, size_t count) {
  const unsigned char *bytes = data;
  uint32_t table[16], crc = 0xffffffffu; /* of 4 bits: small enough to be made each time */
  for (uint32_t i = 0; i < 16; i++) {
    table[i] = i;
    for (int bit = 0; bit < 4; bit++)
      table[i] = (table[i] >> 1) ^ (0x82f63b78u & (0u - (table[i] & 1u)));
  }
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    crc = (crc >> 4) ^ table[crc & 15u];
    crc = (crc >> 4) ^ table[crc & 15u];
  }
  return ~crc;
}

/* --- protobuf's wire format: a number of the field and its type, then the value */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(hl_text *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) hl_text_char(out, (char)(unsigned char)(value | 0x80));
  hl_text_char(out, (char)(unsigned char)value);
}

static void put_tag(hl_text *out, unsigned field, unsigned type) {
  put_varint(out, field << 3 | type);
}

static void put_little(hl_text *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) hl_text_char(out, (char)(unsigned char)(value >> (8 * i)));
}

static void put_int(hl_text *out, unsigned field, int64_t value) {
  put_tag(out, field, VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_double(hl_text *out, unsigned field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_tag(out, field, FIXED64);
  put_little(out, bits, 8);
}

static void put_float(hl_text *out, unsigned field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_tag(out, field, FIXED32);
  put_little(out, bits, 4);
}

static void put_bytes(hl_text *out, unsigned field, const char *bytes, size_t count) {
  put_tag(out, field, BYTES);
  put_varint(out, count);
  hl_text_append_n(out, bytes, count);
}

/* --- Event, Summary (tensorflow/core/util/event.proto, framework/summary.proto) */

enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_IMAGE = 4 };
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_COLORSPACE = 3, IMAGE_ENCODED = 4 };

typedef struct writer {
  const hl_profile *profile;
  int fd;
  hl_text event, summary, value, image; /* a message each, whose length its parent needs */
  hl_status status;
  hl_error *error;
} writer;

static uint32_t masked_crc(const void *data, size_t count) {
  uint32_t crc = hl_crc32c(data, count);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* The event as a TFRecord: length, its checksum, the bytes, their checksum. */
static void put_record(writer *w) {
  hl_text *head = &w->value; /* no longer needed */
  if (w->event.failed || w->summary.failed || w->value.failed || w->image.failed) {
    if (w->status == HL_OK)
      w->status = hl_error_set(w->error, HL_OUT_OF_MEMORY, "no memory for TensorBoard's events");
    return;
  }
  put_little(&w->event, masked_crc(w->event.data, w->event.length), 4);
  hl_text_clear(head);
  put_little(head, w->event.length - 4, 8);
  put_little(head, masked_crc(head->data, 8), 4);
  if (w->status == HL_OK)
    w->status = hl_write_all(w->fd, head->data, head->length, "TensorBoard's events", w->error);
  if (w->status == HL_OK)
    w->status =
        hl_write_all(w->fd, w->event.data, w->event.length, "TensorBoard's events", w->error);
}

/* Seconds: of the end of that step, of the last step's beyond it. */
static double wall_of(const hl_profile *p, int64_t step) {
  double at = (double)p->wall_start_us / 1e6;
  if (!p->step_count || step < 0) return at;
  size_t i = (uint64_t)step < p->step_count ? (size_t)step : p->step_count - 1;
  return at + ((double)p->step_start_ns[i] + (double)p->step_ns[i]) / 1e9;
}

static void begin_event(writer *w, int64_t step) {
  hl_text_clear(&w->event);
  put_double(&w->event, EVENT_WALL_TIME, wall_of(w->profile, step));
  put_int(&w->event, EVENT_STEP, step);
}

static void put_version(writer *w) {
  static const char version[] = "brain.Event:2";
  hl_text_clear(&w->event);
  put_double(&w->event, EVENT_WALL_TIME, wall_of(w->profile, -1));
  put_bytes(&w->event, EVENT_FILE_VERSION, version, sizeof version - 1);
  put_record(w);
}

static void put_tag_name(hl_text *value, const char *name) {
  hl_text valid = HL_TEXT_INIT;
  for (const char *at = *name ? name : "unnamed"; *at;) {
    size_t n = (unsigned char)*at < 0x80 ? 1 : hl_utf8_length((const unsigned char *)at);
    hl_text_append_n(&valid, n ? at : "\xef\xbf\xbd", n ? n : 3);
    at += n ? n : 1;
  }
  value->failed |= valid.failed;
  put_bytes(value, VALUE_TAG, valid.data, valid.length);
  hl_text_release(&valid);
}

/* An event of one value: what `value` holds. */
static void put_summary(writer *w, int64_t step) {
  begin_event(w, step);
  hl_text_clear(&w->summary);
  put_bytes(&w->summary, SUMMARY_VALUE, w->value.data, w->value.length);
  put_bytes(&w->event, EVENT_SUMMARY, w->summary.data, w->summary.length);
  put_record(w);
}

static void put_scalar(writer *w, const char *name, int64_t step, double number) {
  hl_text_clear(&w->value);
  put_tag_name(&w->value, name);
  put_float(&w->value, VALUE_SIMPLE, (float)number);
  put_summary(w, step);
}

static void put_picture(writer *w, const hl_profile_picture *picture) {
  enum { GREY = 1 };
  hl_text png = HL_TEXT_INIT;
  hl_status status = hl_png_grey(picture->pixels, picture->height, picture->width, &png, w->error);
  hl_text_clear(&w->image);
  put_int(&w->image, IMAGE_HEIGHT, picture->height);
  put_int(&w->image, IMAGE_WIDTH, picture->width);
  put_int(&w->image, IMAGE_COLORSPACE, GREY);
  put_bytes(&w->image, IMAGE_ENCODED, png.data, png.length);
  hl_text_release(&png);
  hl_text_clear(&w->value);
  put_tag_name(&w->value, picture->name);
  put_bytes(&w->value, VALUE_IMAGE, w->image.data, w->image.length);
  if (status == HL_OK)
    put_summary(w, picture->step);
  else if (w->status == HL_OK)
    w->status = status;
}

hl_status hl_tensorboard_write(const hl_profile *profile, int fd, hl_error *error) {
  const hl_profile *p = profile;
  writer w = {.profile = p,
              .fd = fd,
              .event = HL_TEXT_INIT,
              .summary = HL_TEXT_INIT,
              .value = HL_TEXT_INIT,
              .image = HL_TEXT_INIT,
              .status = HL_OK,
              .error = error};
  put_version(&w);
  for (size_t i = 0; i < p->step_count; i++)
    put_scalar(&w, "time/step_ms", (int64_t)i, (double)p->step_ns[i] / 1e6);
  for (size_t i = 0; i < p->scalar_count; i++)
    put_scalar(&w, p->scalars[i].name, p->scalars[i].step, p->scalars[i].value);
  for (size_t i = 0; i < p->picture_count && w.status == HL_OK; i++)
    put_picture(&w, &p->pictures[i]);
  hl_text_release(&w.event);
  hl_text_release(&w.summary);
  hl_text_release(&w.value);
  hl_text_release(&w.image);
  return w.status;
}

static void put_host(hl_text *out, const char *host) {
  for (const char *at = host && *host ? host : "localhost"; *at; at++)
    hl_text_char(out, isalnum((unsigned char)*at) || *at == '-' ? *at : '_');
}

void hl_tensorboard_event_name(const hl_profile *profile, const char *host, int64_t pid,
                               hl_text *out) {
  hl_text_format(out, "events.out.tfevents.%010" PRIu64 ".", profile->wall_start_us / 1000000);
  put_host(out, host);
  hl_text_format(out, ".%" PRId64 ".0", pid);
}

void hl_tensorboard_trace_name(const hl_profile *profile, const char *host, int64_t pid,
                               hl_text *out) {
  put_host(out, host);
  hl_text_format(out, "_%" PRId64 ".%" PRIu64 ".pt.trace.json", pid, profile->wall_start_us / 1000);
}
