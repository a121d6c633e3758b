/* The pipe between runner and worker: pieces, attachments, floods, garbage, silence. */
#include "base/clock.h"
#include "protocol/channel.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Bytes written into a channel by a thread, in pieces with a pause between. */
typedef struct feed {
  pthread_t thread;
  hl_channel channel;
  int fd;
  const char *data;
  size_t bytes, piece;
} feed;

static void *write_pieces(void *argument) {
  feed *f = argument;
  for (size_t at = 0; at < f->bytes;) {
    size_t n = f->piece < f->bytes - at ? f->piece : f->bytes - at;
    ssize_t written = write(f->fd, f->data + at, n);
    if (written < 0) break;
    at += (size_t)written;
    if (f->piece < 64) usleep(200);
  }
  close(f->fd);
  return NULL;
}

static void feed_start(feed *f, const char *data, size_t bytes, size_t piece) {
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  hl_channel_init(&f->channel, fds[0], -1);
  f->fd = fds[1];
  f->data = data;
  f->bytes = bytes;
  f->piece = piece;
  assert_int_equal(pthread_create(&f->thread, NULL, write_pieces, f), 0);
}

static void feed_end(feed *f) {
  hl_channel_release(&f->channel);
  pthread_join(f->thread, NULL);
}

static uint64_t soon(double seconds) {
  return hl_clock_ns() + (uint64_t)(seconds * 1e9);
}

static void messages_arrive_in_pieces(void **state) {
  (void)state;
  static const char data[] =
      "{\"id\": 1, \"bytes\": 5}\nab\ncd{\"id\": 2}\n{\"id\":3,\"bytes\":1}\n"
      "{{\"id\": 4, \"text\": \"\xC3\xBC\"}\n";
  static const size_t pieces[] = {1, 2, 7, 30, 1000};
  for (size_t p = 0; p < HL_COUNT(pieces); p++) {
    feed f;
    feed_start(&f, data, sizeof data - 1, pieces[p]);
    static const char *const attached[] = {"ab\ncd", "", "{", ""};
    for (int i = 0; i < 4; i++) {
      hl_message message;
      assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, NULL), HL_OK);
      assert_int_equal(hl_json_get_int(message.object, "id", 0), i + 1);
      assert_int_equal(message.byte_count, strlen(attached[i]));
      if (message.byte_count) assert_memory_equal(message.bytes, attached[i], message.byte_count);
      hl_message_release(&message);
    }
    hl_message message;
    hl_error error = {0};
    assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, &error), HL_CRASHED);
    assert_non_null(strstr(error.msg, "closed"));
    feed_end(&f);
  }
}

static void what_is_no_message_is_told(void **state) {
  (void)state;
  static const char *const garbage[] = {"hello\n",
                                        "{\"id\": }\n",
                                        "[1]\n",
                                        "3\n",
                                        "\n",
                                        "null\n",
                                        "{\"a\":1,\"a\":2}\n",
                                        "{\"a\":\"\xFF\"}\n",
                                        "{\"bytes\": -1}\n",
                                        "{\"bytes\": 99999999999}\n",
                                        "{\"id\": 99999999999999999999}\n"};
  for (size_t i = 0; i < HL_COUNT(garbage); i++) {
    feed f;
    hl_message message;
    hl_error error = {0};
    feed_start(&f, garbage[i], strlen(garbage[i]), 1000);
    assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, &error), HL_BAD_DATA);
    assert_true(error.msg[0] != '\0');
    feed_end(&f);
  }
}

static void greetings_before_the_first_message_are_left_out(void **state) {
  (void)state;
  static const char *const greeted[] = {
      "{\"id\": 1}\n", "Welcome\n\n * motd [x] {y}\n{\"id\": 1}\n", "\x1b[0m{\"id\": 1}\n",
      "[1]\nnull\n no end {\"id\":1,\"bytes\":2}\nab"};
  for (size_t i = 0; i < HL_COUNT(greeted); i++) {
    feed f;
    hl_message message;
    hl_text data = HL_TEXT_INIT;
    hl_text_format(&data, "%snonsense\n", greeted[i]);
    feed_start(&f, data.data, data.length, 5);
    f.channel.skips_chatter = true;
    assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, NULL), HL_OK);
    assert_int_equal(hl_json_get_int(message.object, "id", 0), 1);
    hl_message_release(&message);
    assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, NULL), HL_BAD_DATA);
    if (i == 1) assert_string_equal(f.channel.chatter.data, "Welcome   * motd [x] {y}");
    feed_end(&f);
    hl_text_release(&data);
  }
}

static void an_endless_greeting_is_refused(void **state) {
  (void)state;
  size_t lines = 2 * HL_CHANNEL_LINE / 16;
  char *data = malloc(lines * 16);
  assert_non_null(data);
  for (size_t i = 0; i < lines; i++) memcpy(data + 16 * i, "welcome to box.\n", 16);
  signal(SIGPIPE, SIG_IGN);
  feed f;
  hl_message message;
  hl_error error = {0};
  feed_start(&f, data, lines * 16, 65536);
  f.channel.skips_chatter = true;
  assert_int_equal(hl_channel_receive(&f.channel, soon(20), -1, &message, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "'welcome to box."));
  feed_end(&f);
  free(data);
}

static void the_end_within_a_message_is_the_end(void **state) {
  (void)state;
  static const char *const cut[] = {"", "{\"id\": 1", "{\"bytes\": 5}\nabcd",
                                    "{\"bytes\": 1073741824}\nabcd"};
  for (size_t i = 0; i < HL_COUNT(cut); i++) {
    feed f;
    hl_message message;
    feed_start(&f, cut[i], strlen(cut[i]), 1000);
    assert_int_equal(hl_channel_receive(&f.channel, soon(10), -1, &message, NULL), HL_CRASHED);
    feed_end(&f);
  }
}

static void long_lines_are_refused(void **state) {
  (void)state;
  size_t bytes = HL_CHANNEL_LINE + 100000;
  char *data = malloc(bytes);
  assert_non_null(data);
  memset(data, ' ', bytes);
  signal(SIGPIPE, SIG_IGN);
  feed f;
  hl_message message;
  hl_error error = {0};
  feed_start(&f, data, bytes, 65536);
  assert_int_equal(hl_channel_receive(&f.channel, soon(20), -1, &message, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "longer than"));
  feed_end(&f);
  free(data);
}

static void large_attachments_arrive_whole(void **state) {
  (void)state;
  size_t count = 5000001;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "{\"bytes\": %zu}\n", count);
  for (size_t i = 0; i < count; i++) hl_text_char(&text, (char)(i * 31 % 251));
  feed f;
  hl_message message;
  feed_start(&f, text.data, text.length, 40000);
  assert_int_equal(hl_channel_receive(&f.channel, soon(20), -1, &message, NULL), HL_OK);
  assert_int_equal(message.byte_count, count);
  assert_memory_equal(message.bytes, text.data + text.length - count, count);
  hl_message_release(&message);
  feed_end(&f);
  hl_text_release(&text);
}

static void silence_ends_at_the_deadline(void **state) {
  (void)state;
  int fds[2], wake[2];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(pipe(wake), 0);
  hl_channel channel;
  hl_channel_init(&channel, fds[0], -1);
  hl_message message;
  uint64_t start = hl_clock_ns();
  assert_int_equal(hl_channel_receive(&channel, soon(0.05), wake[0], &message, NULL), HL_TIMED_OUT);
  assert_true(hl_clock_ns() - start >= 50000000);
  assert_int_equal(hl_channel_receive(&channel, 0, wake[0], &message, NULL), HL_TIMED_OUT);
  assert_int_equal(write(wake[1], "", 1), 1);
  assert_int_equal(hl_channel_receive(&channel, UINT64_MAX, wake[0], &message, NULL),
                   HL_INTERRUPTED);
  hl_channel_release(&channel);
  close(fds[1]);
  close(wake[0]);
  close(wake[1]);
}

static void what_is_sent_is_received(void **state) {
  (void)state;
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  hl_channel from, to;
  hl_channel_init(&from, -1, fds[1]);
  hl_channel_init(&to, fds[0], -1);
  json_t *object =
      json_pack("{s:i, s:f, s:s, s:b}", "i", 7, "r", 0.1, "t", "a\nb\"\xC3\xBC", "b", 1);
  assert_int_equal(hl_channel_send(&from, object, "xyz", 3, NULL), HL_OK);
  json_decref(object);
  hl_message message;
  assert_int_equal(hl_channel_receive(&to, soon(5), -1, &message, NULL), HL_OK);
  assert_int_equal(hl_json_get_int(message.object, "i", 0), 7);
  assert_true(hl_json_get_real(message.object, "r", 0) == 0.1);
  assert_true(hl_json_get_real(message.object, "i", 0) == 7);
  assert_string_equal(hl_json_get_text(message.object, "t", ""), "a\nb\"\xC3\xBC");
  assert_true(hl_json_get_bool(message.object, "b", false));
  assert_memory_equal(message.bytes, "xyz", 3);
  /* another type counts as absent */
  assert_int_equal(hl_json_get_int(message.object, "r", -5), -5);
  assert_int_equal(hl_json_get_int(message.object, "t", -5), -5);
  assert_string_equal(hl_json_get_text(message.object, "i", "no"), "no");
  assert_string_equal(hl_json_get_text(message.object, "absent", "no"), "no");
  assert_true(hl_json_get_bool(message.object, "i", true));
  hl_message_release(&message);
  hl_channel_release(&to);
  signal(SIGPIPE, SIG_IGN);
  object = json_object();
  hl_error error = {0};
  assert_int_equal(hl_channel_send(&from, object, NULL, 0, &error), HL_IO); /* nobody reads */
  json_decref(object);
  hl_channel_release(&from);
}

/* A message names what a damaged file holds: it must not be lost for a byte of it. */
static void words_of_damaged_files_arrive(void **state) {
  (void)state;
  json_t *object = json_object();
  hl_json_set_text(object, "a", "\xff of \xc3\xa9 \xc3");
  hl_json_set_text(object, "b", NULL);
  assert_string_equal(hl_json_get_text(object, "a", ""), "? of \xc3\xa9 ?");
  assert_true(json_is_null(json_object_get(object, "b")));
  json_decref(object);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_arrive_in_pieces),
      cmocka_unit_test(what_is_no_message_is_told),
      cmocka_unit_test(greetings_before_the_first_message_are_left_out),
      cmocka_unit_test(an_endless_greeting_is_refused),
      cmocka_unit_test(the_end_within_a_message_is_the_end),
      cmocka_unit_test(long_lines_are_refused),
      cmocka_unit_test(large_attachments_arrive_whole),
      cmocka_unit_test(silence_ends_at_the_deadline),
      cmocka_unit_test(what_is_sent_is_received),
      cmocka_unit_test(words_of_damaged_files_arrive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
