#include "protocol/channel.h"

#include "base/clock.h"
#include "base/file.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hl_channel_init(hl_channel *channel, int in, int out) {
  *channel = (hl_channel){
      .in = in, .out = out, .peer = -1, .received = HL_TEXT_INIT, .chatter = HL_TEXT_INIT};
}

void hl_channel_release(hl_channel *channel) {
  if (channel->in >= 0) close(channel->in);
  if (channel->out >= 0 && channel->out != channel->in) close(channel->out);
  if (channel->peer >= 0) close(channel->peer);
  hl_text_release(&channel->received);
  hl_text_release(&channel->chatter);
  hl_message_release(&channel->pending);
  channel->in = channel->out = channel->peer = -1;
}

hl_status hl_channel_send(hl_channel *channel, json_t *object, const void *bytes, size_t byte_count,
                          hl_error *error) {
  if (byte_count) json_object_set_new(object, "bytes", json_integer((json_int_t)byte_count));
  char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (!line) return hl_error_set(error, HL_INTERNAL, "a message cannot be written as JSON");
  size_t length = strlen(line);
  line[length] = '\n'; /* in place of the terminator */
  hl_status status = hl_write_all(channel->out, line, length + 1, "to the other process", error);
  free(line);
  if (status == HL_OK && byte_count)
    status = hl_write_all(channel->out, bytes, byte_count, "to the other process", error);
  return status;
}

void hl_message_release(hl_message *message) {
  json_decref(message->object);
  free(message->bytes);
  *message = (hl_message){0};
}

/* Waits until `in` is readable. */
static hl_status wait_readable(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                               hl_error *error) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline_ns != UINT64_MAX) {
      uint64_t now = hl_clock_ns();
      if (now >= deadline_ns) return hl_error_set(error, HL_TIMED_OUT, "no answer in time");
      uint64_t left_ms = (deadline_ns - now) / 1000000u + 1;
      timeout_ms = left_ms > 1000000 ? 1000000 : (int)left_ms;
    }
    struct pollfd fds[] = {{.fd = channel->in, .events = POLLIN},
                           {.fd = wake_fd, .events = POLLIN},
                           {.fd = channel->peer, .events = POLLIN}}; /* of -1 there is nothing */
    int n = poll(fds, 3, timeout_ms);
    if (n < 0 && errno != EINTR) return hl_error_errno(error, HL_IO, "cannot wait for a message");
    if (n > 0 && wake_fd >= 0 && fds[1].revents)
      return hl_error_set(error, HL_INTERRUPTED, "interrupted");
    if (n > 0 && fds[0].revents) return HL_OK;
    if (n > 0 && fds[2].revents) return hl_error_set(error, HL_CRASHED, "the other process ended");
  }
}

/* Reads what is there, at most `limit` bytes. */
static hl_status read_some(hl_channel *channel, void *buffer, size_t limit, uint64_t deadline_ns,
                           int wake_fd, size_t *ret_count, hl_error *error) {
  for (;;) {
    hl_status status = wait_readable(channel, deadline_ns, wake_fd, error);
    if (status != HL_OK) return status;
    ssize_t n = read(channel->in, buffer, limit);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return hl_error_errno(error, HL_IO, "cannot read a message");
    if (n == 0) return hl_error_set(error, HL_CRASHED, "the other process closed the connection");
    *ret_count = (size_t)n;
    return HL_OK;
  }
}

/* Waits for a whole line; its length without the end. */
static hl_status wait_line(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                           size_t *ret_length, hl_error *error) {
  char part[4096];
  char *end;
  while (!(end = memchr(channel->received.data, '\n', channel->received.length))) {
    if (channel->received.length > HL_CHANNEL_LINE)
      return hl_error_set(error, HL_BAD_DATA, "a message is longer than %zu bytes",
                          HL_CHANNEL_LINE);
    size_t n = 0;
    hl_status status = read_some(channel, part, sizeof part, deadline_ns, wake_fd, &n, error);
    if (status != HL_OK) return status;
    hl_text_append_n(&channel->received, part, n);
    if (channel->received.failed)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  }
  *ret_length = (size_t)(end - channel->received.data);
  return HL_OK;
}

static json_t *parse_object(const char *line, size_t length) {
  json_error_t json_error;
  json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &json_error);
  if (json_is_object(object)) return object;
  json_decref(object);
  return NULL;
}

/* Takes the line out; the text goes on behind it. */
static void drop_line(hl_channel *channel, size_t length) {
  size_t rest = channel->received.length - length - 1;
  memmove(channel->received.data, channel->received.data + length + 1, rest);
  channel->received.length = rest;
  channel->received.data[rest] = '\0';
}

/* The message behind what a shell wrote without ending its line. */
static json_t *parse_behind(const char *line, size_t length) {
  static const char begin[] = "{\"id\":";
  const char *at = memmem(line, length, begin, sizeof begin - 1);
  return at ? parse_object(at, length - (size_t)(at - line)) : NULL;
}

static hl_status keep_chatter(hl_channel *channel, size_t length, hl_error *error) {
  enum { kept = 300 };
  hl_text *chatter = &channel->chatter;
  chatter->cap_bytes = HL_CHANNEL_LINE;
  hl_text_format(chatter, "%s%.*s", chatter->length ? " " : "",
                 (int)(length < kept ? length : kept), channel->received.data);
  if (chatter->failed)
    return hl_error_set(error, HL_BAD_DATA, "no message, but more than %zu bytes: '%.60s'",
                        HL_CHANNEL_LINE, chatter->data);
  return HL_OK;
}

static hl_status receive_line(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                              json_t **ret_object, hl_error *error) {
  for (;;) {
    size_t length = 0;
    hl_status status = wait_line(channel, deadline_ns, wake_fd, &length, error);
    if (status != HL_OK) return status;
    const char *line = channel->received.data;
    json_t *object = parse_object(line, length);
    if (!object && channel->skips_chatter) object = parse_behind(line, length);
    if (!object && !channel->skips_chatter)
      return hl_error_set(error, HL_BAD_DATA, "not a message: '%.60s'", line);
    if (!object) status = keep_chatter(channel, length, error);
    if (status != HL_OK) return status;
    drop_line(channel, length);
    if (!object) continue;
    channel->skips_chatter = false;
    *ret_object = object;
    return HL_OK;
  }
}

/* The next size of an attachment's buffer: memory follows what arrives, not what is announced. */
static size_t next_capacity(size_t capacity, size_t count) {
  size_t next = capacity ? 2 * capacity : (size_t)1 << 20;
  return next < count ? next : count;
}

static hl_status grow_pending(hl_channel *channel, size_t capacity, hl_error *error) {
  unsigned char *grown = realloc(channel->pending.bytes, capacity);
  if (!grown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu bytes", capacity);
  channel->pending.bytes = grown;
  channel->pending_capacity = capacity;
  return HL_OK;
}

/* Moves what was read along with the line. */
static hl_status take_received(hl_channel *channel, hl_error *error) {
  size_t count = channel->pending.byte_count, there = channel->received.length;
  size_t taken = there < count ? there : count, rest = there - taken;
  hl_status status = grow_pending(channel, next_capacity(there, count), error);
  if (status != HL_OK) return status;
  memcpy(channel->pending.bytes, channel->received.data, taken);
  channel->pending_got = taken;
  memmove(channel->received.data, channel->received.data + taken, rest);
  channel->received.length = rest;
  if (channel->received.capacity) channel->received.data[rest] = '\0';
  return HL_OK;
}

/* Receives the line of a message and what of its bytes came with it. */
static hl_status begin_message(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                               hl_error *error) {
  hl_message *m = &channel->pending;
  channel->pending_got = channel->pending_capacity = 0;
  hl_status status = receive_line(channel, deadline_ns, wake_fd, &m->object, error);
  if (status != HL_OK) return status;
  int64_t count = hl_json_get_int(m->object, "bytes", 0);
  if (count < 0 || (uint64_t)count > HL_CHANNEL_BYTES)
    return hl_error_set(error, HL_BAD_DATA, "a message announces %lld bytes", (long long)count);
  m->byte_count = (size_t)count;
  return count ? take_received(channel, error) : HL_OK;
}

static hl_status receive_bytes(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                               hl_error *error) {
  hl_message *m = &channel->pending;
  while (channel->pending_got < m->byte_count) {
    size_t n = 0;
    hl_status status = HL_OK;
    if (channel->pending_got == channel->pending_capacity)
      status =
          grow_pending(channel, next_capacity(channel->pending_capacity, m->byte_count), error);
    if (status == HL_OK)
      status = read_some(channel, m->bytes + channel->pending_got,
                         channel->pending_capacity - channel->pending_got, deadline_ns, wake_fd, &n,
                         error);
    if (status != HL_OK) return status;
    channel->pending_got += n;
  }
  return HL_OK;
}

hl_status hl_channel_receive(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                             hl_message *ret_message, hl_error *error) {
  hl_status status = HL_OK;
  if (!channel->pending.object) status = begin_message(channel, deadline_ns, wake_fd, error);
  if (status == HL_OK) status = receive_bytes(channel, deadline_ns, wake_fd, error);
  if (status == HL_OK) {
    *ret_message = channel->pending;
    channel->pending = (hl_message){0};
  } else if (status != HL_INTERRUPTED && status != HL_TIMED_OUT) {
    hl_message_release(&channel->pending);
  }
  return status;
}

json_t *hl_json_make_text(const char *value) {
  json_t *text = json_string(value);
  HL_CLEANUP(hl_free_pointer) char *copy = text ? NULL : hl_strdup(value);
  if (!copy) return text;
  for (char *c = copy; *c;) {
    size_t length = (unsigned char)*c < 0x80 ? 1 : hl_utf8_length((unsigned char *)c);
    if (length == 0) *c = '?';
    c += length ? length : 1;
  }
  return json_string(copy);
}

void hl_json_set_text(json_t *object, const char *key, const char *value) {
  json_t *text = value ? hl_json_make_text(value) : NULL;
  json_object_set_new(object, key, text ? text : json_null());
}

void hl_json_set_int(json_t *object, const char *key, uint64_t value) {
  json_object_set_new(object, key, json_integer((json_int_t)value));
}

void hl_json_set_real(json_t *object, const char *key, double value) {
  json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

void hl_json_set_bool(json_t *object, const char *key, bool value) {
  json_object_set_new(object, key, json_boolean(value));
}

const char *hl_json_get_text(const json_t *object, const char *key, const char *otherwise) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : otherwise;
}

int64_t hl_json_get_int(const json_t *object, const char *key, int64_t otherwise) {
  const json_t *value = json_object_get(object, key);
  return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

double hl_json_get_real(const json_t *object, const char *key, double otherwise) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool hl_json_get_bool(const json_t *object, const char *key, bool otherwise) {
  const json_t *value = json_object_get(object, key);
  return json_is_boolean(value) ? json_is_true(value) : otherwise;
}
