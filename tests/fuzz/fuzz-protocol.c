/* Whatever a process writes into the protocol's pipe: messages, or an error that says why not. */
#include "driver.h"

#include "base/clock.h"
#include "protocol/messages.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(int condition) {
  if (!condition) abort();
}

static void check_failure(hl_status status, const hl_error *error) {
  must(status != HL_OK && error->status == status && error->msg[0]);
}

/* What both sides make of a message. */
static void use(const json_t *object) {
  hl_arena arena;
  hl_arena_init(&arena, 1 << 24);
  hl_configuration configuration;
  hl_error error = {0};
  hl_status status = hl_message_to_configuration(object, &arena, &configuration, &error);
  if (status != HL_OK) {
    check_failure(status, &error);
  } else {
    must(configuration.batch_size >= 1 && configuration.threads >= 1 && configuration.model[0]);
    for (size_t i = 0; i < configuration.plugin_count; i++) must(configuration.plugins[i] != NULL);
    json_t *again = hl_message_from_configuration(&configuration, NULL);
    hl_configuration same;
    must(again && hl_message_to_configuration(again, &arena, &same, &error) == HL_OK);
    must(same.seed == configuration.seed && strcmp(same.model, configuration.model) == 0);
    json_decref(again);
  }
  hl_error failure = {0};
  status = hl_message_status(object, &failure);
  if (status != HL_OK) check_failure(status, &failure);
  hl_arena_release(&arena);
}

/* Everything that comes, up to the end or to garbage. `greeted`: from behind a launcher. */
static void receive_all(const uint8_t *data, size_t size, bool greeted) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  if (size > 1 << 16) size = 1 << 16; /* what the socket takes at once */
  must(size == 0 || send(ends[1], data, size, MSG_DONTWAIT) == (ssize_t)size);
  close(ends[1]);
  hl_channel channel;
  hl_channel_init(&channel, ends[0], -1);
  channel.skips_chatter = greeted;
  uint64_t deadline = hl_clock_ns() + 10000000000u;
  hl_status status = HL_OK;
  while (status == HL_OK) {
    hl_message message;
    hl_error error = {0};
    status = hl_channel_receive(&channel, deadline, -1, &message, &error);
    if (status != HL_OK) {
      check_failure(status, &error);
      must(status == HL_CRASHED || status == HL_BAD_DATA); /* the end, or garbage */
      break;
    }
    must(json_is_object(message.object) && (message.byte_count == 0 || message.bytes));
    must(message.byte_count <= size);
    use(message.object);
    hl_message_release(&message);
  }
  must(channel.chatter.length <= size + 1);
  hl_channel_release(&channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  receive_all(data, size, false);
  receive_all(data, size, true);
  return 0;
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char configure[] =
      "{\"id\": 2, \"verb\": \"configure\", \"model\": \"mlp\", \"builtin\": true, \"engine\": "
      "\"null\", \"plugins\": [\"a.so\", \"b.so\"], \"engine_options\": [[\"spin_ns\", \"5\"]], "
      "\"dtype\": \"float32\", \"device\": \"cpu\", \"batch_size\": 8, \"threads\": 2, "
      "\"test_data\": null, \"n_images\": 0, \"seed\": 42, \"simulated_clock\": [1000000.0, 1e5], "
      "\"cache_directory\": \"/tmp\"}\n";
  static const char attached[] = "{\"id\": 6, \"samples\": 1, \"bytes\": 16, \"ok\": true}\n"
                                 "0123456789abcdef{\"id\": 7, \"ok\": true}\n";
  static const char failed[] = "{\"id\": 3, \"ok\": false, \"status\": \"OUT_OF_MEMORY\", "
                               "\"message\": \"no memory for \\u00fc\"}\n";
  static const char odd[] = "{\"bytes\": -1}\n[[[[]]]]\nnull\n\n{\"bytes\": 1073741824}\nx";
  static const char greeted[] =
      "Welcome to box\n\n  {x}\n[1]\n$ {\"id\":1,\"protocol\":1,\"ok\":true}\n";
  static const char *const seeds[] = {configure, attached, failed, odd, greeted};
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  size_t length = strlen(seeds[index]);
  if (length > capacity) return 0;
  memcpy(ret_data, seeds[index], length);
  return length;
}
