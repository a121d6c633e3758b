/*
 * protocol/channel.h - JSON lines with attached bytes over a pair of file descriptors.
 *
 * A message is one JSON object on a line. If it has a member "bytes": n, n raw bytes follow the
 * line. docs/protocol.md lists the messages. What arrives is untrusted: lines are limited to
 * HL_CHANNEL_LINE bytes and attachments to HL_CHANNEL_BYTES.
 */
#ifndef HL_PROTOCOL_CHANNEL_H
#define HL_PROTOCOL_CHANNEL_H

#include "base/error.h"
#include "base/text.h"
#include <jansson.h>

#define HL_PROTOCOL_VERSION 1
/* Exit status of a worker that a deadline ended. */
#define HL_WORKER_EXIT_DEADLINE 124
/* What rank 0 says before that on standard error, in front of which rank the others wait for. */
#define HL_RANKS_LATE "hotlap worker: late: "
#define HL_CHANNEL_LINE ((size_t)1 << 20)
#define HL_CHANNEL_BYTES ((size_t)1 << 30)

typedef struct hl_message {
  json_t *object;       /* owned */
  unsigned char *bytes; /* owned, may be NULL */
  size_t byte_count;
} hl_message;

typedef struct hl_channel {
  int in, out; /* owned */
  int peer;    /* owned; pidfd of the process at the other end, or -1 */
  hl_text received;
  hl_message pending; /* a message whose bytes have not all come */
  size_t pending_got, pending_capacity;
  /* Lines that are no messages are left out until one is, as a login shell's greetings are; what
   * they said, in part. Set by the owner, at the beginning. */
  bool skips_chatter;
  hl_text chatter;
} hl_channel;

void hl_channel_init(hl_channel *channel, int in, int out);
void hl_channel_release(hl_channel *channel); /* closes all */

/* Sends `object` (a reference is not taken) and `byte_count` raw bytes. IO if the peer is gone;
 * SIGPIPE must be ignored by the process. */
hl_status hl_channel_send(hl_channel *channel, json_t *object, const void *bytes, size_t byte_count,
                          hl_error *error);

void hl_message_release(hl_message *message);

/* Waits until `deadline_ns` (of hl_clock_ns; UINT64_MAX: for ever) for a message. TIMED_OUT,
 * CRASHED at end of file
 * or where the peer has ended (what it left behind may hold the pipe open), BAD_DATA for what is
 * not a message. A byte on `wake_fd` (>= 0) ends the wait with INTERRUPTED. After INTERRUPTED and
 * TIMED_OUT the next call goes on with the message. */
hl_status hl_channel_receive(hl_channel *channel, uint64_t deadline_ns, int wake_fd,
                             hl_message *ret_message, hl_error *error);

/* A text; '?' stands for bytes that are no UTF-8, as a damaged file's words have. */
json_t *hl_json_make_text(const char *value);

/* Sets a member; a real that is not finite, and a text that is NULL, become null. */
void hl_json_set_text(json_t *object, const char *key, const char *value);
void hl_json_set_int(json_t *object, const char *key, uint64_t value);
void hl_json_set_real(json_t *object, const char *key, double value);
void hl_json_set_bool(json_t *object, const char *key, bool value);

/* Members of a message with a check; `otherwise` where absent or of another type. */
const char *hl_json_get_text(const json_t *object, const char *key, const char *otherwise);
int64_t hl_json_get_int(const json_t *object, const char *key, int64_t otherwise);
double hl_json_get_real(const json_t *object, const char *key, double otherwise);
bool hl_json_get_bool(const json_t *object, const char *key, bool otherwise);

#endif
