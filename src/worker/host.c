#include "worker/host.h"
#include "worker/profile-document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_notes = 16, most_reason = 64 << 10 };

static void log_line(const char *engine, const char *line) {
  fprintf(stderr, "%s: %s\n", engine, line);
}

/* What hooks say beside their status, until the reply takes it. */
static json_t *said_notes;
static char *said_whole;

static void add_note(const char *engine, const char *sentence) {
  (void)engine;
  if (!said_notes) said_notes = json_array();
  if (json_array_size(said_notes) < most_notes)
    json_array_append_new(said_notes, hl_json_make_text(sentence));
}

static void keep_whole(const char *text) {
  free(said_whole);
  said_whole = strndup(text, most_reason);
}

static hl_host host = {.abi = HL_ENGINE_ABI,
                       .size = sizeof host,
                       .log = log_line,
                       .note = add_note,
                       .explain = keep_whole,
                       .read_profile = hl_worker_read_profile};

/* Notes, and the message of a failure: whole where the hook gave more than an error holds. */
void hl_worker_host_reply(json_t *reply, const hl_error *failure) {
  if (said_notes) json_object_set_new(reply, "notes", said_notes);
  said_notes = NULL;
  if (failure) {
    bool whole = said_whole && failure->msg[0] &&
                 strncmp(said_whole, failure->msg, strlen(failure->msg)) == 0;
    hl_json_set_text(reply, "status", hl_status_name(failure->status));
    hl_json_set_text(reply, "message", whole ? said_whole : failure->msg);
  }
  free(said_whole);
  said_whole = NULL;
}

hl_host *hl_worker_host(void) {
  return &host;
}
