#include "web/internal.h"

#include "base/clock.h"
#include "base/json-writer.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A row is some 300 bytes, more with a long reason: as many as wait well within
 * HL__WEB_STREAM_BYTES. */
enum { ROWS_AT_ONCE = 100, BEAT_S = 15 };

/* ---- one stream ---- */

/* What MHD takes from, as fast as the client does. */
static ssize_t take(void *context, uint64_t position, char *buffer, size_t most) {
  hl__web_client *client = context;
  (void)position;
  size_t left = client->pending.length - client->taken;
  if (left) {
    size_t bytes = left < most ? left : most;
    memcpy(buffer, client->pending.data + client->taken, bytes);
    client->taken += bytes;
    if (client->taken == client->pending.length) {
      hl_text_clear(&client->pending);
      client->taken = 0;
    }
    return (ssize_t)bytes;
  }
  if (client->ended) return MHD_CONTENT_READER_END_OF_STREAM;
  client->suspended = true;
  client->web->mhd->suspend_connection(client->connection);
  return 0;
}

static void wake(hl__web_client *client) {
  if (!client->suspended) return;
  client->suspended = false;
  client->web->mhd->resume_connection(client->connection);
}

static void end_stream(hl__web_client *client) {
  client->ended = true;
  wake(client);
}

/* An event with one line of data. */
static void put(hl__web_client *client, const char *event, const hl_text *data) {
  hl_text_format(&client->pending, "event: %s\ndata: %s\n\n", event, data->data);
}

struct MHD_Response *hl__web_stream_begin(hl__web_client *client, const hl__web_answer *answer) {
  hl__web *web = client->web;
  struct MHD_Response *response =
      web->mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, take, client, NULL);
  if (!response) return NULL;
  free(client->run);
  client->run = hl_strdup(answer->run);
  client->topic = answer->topic;
  client->seen = 0;
  client->seen_count = -1;
  client->behind = false;
  client->state_told[0] = '\0';
  client->suspended = client->ended = false;
  client->taken = 0;
  hl_text_clear(&client->pending);
  client->pending.cap_bytes = HL__WEB_STREAM_BYTES;
  hl_text_append(&client->pending, "retry: 2000\n\n");
  client->told_ns = 0; /* the first look is due at once */
  client->state = HL__WEB_STREAMING;
  web->stream_count++;
  return response;
}

/* ---- a run ---- */

static void put_row(void *context, const hl_store_brief *row) {
  hl__web_client *client = context;
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_int(&json, "row", row->row_id);
  hl_json_text(&json, "outcome", row->outcome);
  hl_json_text(&json, "workload", row->workload);
  hl_json_text(&json, "model", row->model);
  hl_json_text(&json, "engine", row->engine);
  hl_json_text(&json, "dtype", row->dtype);
  hl_json_text(&json, "device", row->device);
  hl_record_json_int(&json, "batch_size", row->batch_size);
  hl_record_json_int(&json, "threads", row->threads);
  hl_json_real(&json, "throughput_ips", row->throughput_ips);
  hl_json_real(&json, "latency_p50_ms", row->latency_p50_ms);
  hl_json_real(&json, "latency_p99_ms", row->latency_p99_ms);
  hl_json_real(&json, "memory_mb", row->memory_mb);
  hl_json_text(&json, "reason", row->reason);
  hl_json_end(&json);
  put(client, "row", &text);
  hl_text_release(&text);
  client->seen = row->row_id;
  client->told++;
}

static const char *state_of(const hl_store_standing *standing) {
  return standing->abandoned ? "abandoned" : standing->state;
}

static void put_state(hl__web_client *client, const hl_store_standing *standing) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "state", state_of(standing));
  hl_json_int(&json, "rows", standing->rows);
  hl_json_int(&json, "passed", standing->passed);
  hl_json_end(&json);
  put(client, "state", &text);
  hl_text_release(&text);
}

/* Rows that are new, some at once, and after the last how the run stands; a run that is over ends
 * the stream. */
static hl_status tell_run(hl__web_client *client, hl_store *store, hl_error *error) {
  hl_store_standing standing;
  hl_status status = hl_store_run_standing(store, client->run, &standing, error);
  client->told = 0;
  if (status == HL_OK)
    status = hl_store_rows_follow(store, client->run, client->seen, ROWS_AT_ONCE, put_row, client,
                                  error);
  if (status != HL_OK) return status;
  client->behind = client->told == ROWS_AT_ONCE;
  if (client->behind) return HL_OK;
  const char *state = state_of(&standing);
  if (strcmp(state, client->state_told) != 0 || standing.rows != client->seen_count) {
    put_state(client, &standing);
    snprintf(client->state_told, sizeof client->state_told, "%s", state);
    client->seen_count = standing.rows;
  }
  /* The client is told that it is over, and does not come back. */
  if (strcmp(state, "running") != 0 && strcmp(state, "abandoned") != 0) client->ended = true;
  return HL_OK;
}

/* ---- all ---- */

static uint64_t version_of(const hl__web_client *client) {
  return client->topic == HL__WEB_MONITOR ? client->web->log_version : client->web->version;
}

static void put_version(hl__web_client *client) {
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "{\"version\":%" PRIu64 "}", version_of(client));
  put(client, "changed", &text);
  hl_text_release(&text);
}

/* Whether the store has changed since the last look, without reading it. */
static hl_status look(hl__web *web, hl_store **ret_store, hl_error *error) {
  hl_status status = hl__web_store(web, ret_store, error);
  int64_t version = 0;
  if (status == HL_OK) status = hl_store_version(*ret_store, &version, error);
  if (status == HL_OK && version != web->data_version) {
    web->data_version = version;
    web->version++;
  }
  return status;
}

/* Nobody reads from a connection that waits: whether its other end is there is asked of the socket.
 */
static bool is_gone(const hl__web_client *client) {
  char byte;
  ssize_t got = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static void tell(hl__web_client *client, hl_store *store, uint64_t now_ns) {
  hl_error error = {0};
  bool changed = client->version != version_of(client);
  size_t before = client->pending.length;
  bool first = client->told_ns == 0;
  bool beats = now_ns - client->told_ns > BEAT_S * UINT64_C(1000000000);
  hl_status status = HL_OK;
  if (client->topic != HL__WEB_RUN && !first && changed) put_version(client);
  /* Whether a writer died is in no change of the store: also with each beat. More rows follow when
   * those before them were taken. */
  bool due = client->behind ? client->pending.length == 0 : changed;
  if (client->topic == HL__WEB_RUN && store && (due || beats))
    status = tell_run(client, store, &error);
  client->version = version_of(client);
  if (client->pending.length == before && beats) hl_text_append(&client->pending, ": beat\n\n");
  if (client->pending.length != before || beats) client->told_ns = now_ns;
  if (client->pending.failed || status != HL_OK || is_gone(client)) client->ended = true;
  /* It takes nothing: what waits for it would grow. */
  if (client->pending.failed) (void)shutdown(client->fd, SHUT_RDWR);
  if (client->pending.length != before || client->ended) wake(client);
}

void hl__web_streams_tell(hl__web *web, uint64_t now_ns) {
  hl_error error = {0};
  hl_store *store = NULL;
  if (look(web, &store, &error) != HL_OK) store = NULL; /* those who follow wait for its return */
  for (hl__web_client *client = web->clients; client; client = client->next)
    if (client->state == HL__WEB_STREAMING) tell(client, store, now_ns);
}

void hl__web_streams_end(hl__web *web) {
  for (hl__web_client *client = web->clients; client; client = client->next)
    if (client->state == HL__WEB_STREAMING) end_stream(client);
}

static hl_status begin(hl__web *web, hl__web_topic topic, const char *run, hl__web_answer *answer,
                       hl_error *error) {
  if (web->stream_count >= HL__WEB_STREAMS)
    return hl_error_set(error, HL_UNAVAILABLE, "%d pages follow events already; close some",
                        HL__WEB_STREAMS);
  answer->stream = true;
  answer->type = "text/event-stream";
  answer->topic = topic;
  answer->run = hl_strdup(run);
  return run && !answer->run ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory") : HL_OK;
}

hl_status hl__web_runs_events(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                              hl_error *error) {
  (void)target;
  return begin(web, HL__WEB_RUNS, NULL, answer, error);
}

hl_status hl__web_run_events(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                             hl_error *error) {
  hl_store *store;
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_status status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = hl_store_run_resolve(store, target->segments[1], &id, error);
  return status == HL_OK ? begin(web, HL__WEB_RUN, id, answer, error) : status;
}

hl_status hl__web_monitor_events(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                                 hl_error *error) {
  (void)target;
  if (!web->log)
    return hl_error_set(error, HL_NOT_FOUND, "There is no log: --monitor LOG names it.");
  return begin(web, HL__WEB_MONITOR, NULL, answer, error);
}
