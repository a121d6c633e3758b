#include "worker/python.h"

#include "base/file.h"
#include "engine/python.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static hl_status write_requests(int fd, const json_t *counters, const json_t *configure,
                                hl_error *error) {
  json_t *both = json_pack("{s:O?, s:O}", "counters", counters, "configure", configure);
  char *text = both ? json_dumps(both, JSON_COMPACT) : NULL;
  hl_status status = text ? hl_write_all(fd, text, strlen(text), "requests", error)
                          : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for requests");
  free(text);
  json_decref(both);
  if (status == HL_OK && lseek(fd, 0, SEEK_SET) != 0)
    status = hl_error_errno(error, HL_IO, "cannot go back in the requests");
  return status;
}

static const char *interpreter_of(const hl_configuration *c) {
  for (size_t i = 0; i < c->engine_option_count; i++)
    if (strcmp(c->engine_options[i].key, "python") == 0) return c->engine_options[i].value;
  return NULL;
}

hl_status hl_worker_tell_state(hl_channel *channel, const char *state, hl_error *error) {
  json_t *message = json_pack("{s:s}", "state", state);
  if (!message) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  hl_status status = hl_channel_send(channel, message, NULL, 0, error);
  json_decref(message);
  return status;
}

hl_status hl_worker_enter_python(const hl_configuration *configuration, hl_channel *channel,
                                 const json_t *counters, const json_t *configure, hl_error *error) {
  const hl_configuration *c = configuration;
  const char *code = hl_python_needed(c->engine, c->plugins, c->plugin_count);
  if (!code) return HL_OK;
  if (!channel)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "engine %s runs in Python: --trainer ddp is for engines that do not",
                        c->engine);
  int requests = memfd_create("hotlap-requests", 0);
  if (requests < 0) return hl_error_errno(error, HL_INTERNAL, "cannot make a file in memory");
  hl_status status = write_requests(requests, counters, configure, error);
  char in[16], out[16], file[16];
  snprintf(in, sizeof in, "%d", channel->in);
  snprintf(out, sizeof out, "%d", channel->out);
  snprintf(file, sizeof file, "%d", requests);
  const char *const arguments[] = {"worker", in, out, file, NULL};
  if (status == HL_OK) status = hl_worker_tell_state(channel, "becoming", error);
  if (status == HL_OK) {
    fcntl(channel->in, F_SETFD, 0);
    fcntl(channel->out, F_SETFD, 0);
    status = hl_python_become(code, interpreter_of(c), arguments, error);
    fcntl(channel->in, F_SETFD, FD_CLOEXEC);
    fcntl(channel->out, F_SETFD, FD_CLOEXEC);
  }
  close(requests);
  return status;
}

hl_status hl_worker_take_requests(int fd, json_t **ret_counters, json_t **ret_configure,
                                  hl_error *error) {
  json_error_t where;
  json_t *both = json_loadfd(fd, 0, &where);
  close(fd);
  json_t *configure = json_object_get(both, "configure");
  json_t *counters = json_object_get(both, "counters");
  hl_status status = json_is_object(configure)
                         ? HL_OK
                         : hl_error_set(error, HL_BAD_DATA, "no requests to go on from");
  if (status == HL_OK) {
    *ret_configure = json_incref(configure);
    *ret_counters = json_is_object(counters) ? json_incref(counters) : NULL;
  }
  json_decref(both);
  return status;
}
