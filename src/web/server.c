#include "web/internal.h"

#include "base/clock.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SWEEP_MS = 500, STREAMS_MS = 200, LOG_MS = 1000 };

/*
 * Called with the whole target before anything is decoded. It is read here, once and for all; what
 * MHD would find behind the '?' is cut off, since it keeps a record of 64 bytes of each parameter,
 * and of a thousand of them has no memory left to answer with. The text is in its own buffer.
 */
static void *note_target(void *context, const char *uri, struct MHD_Connection *connection) {
  hl__web_client *client = hl__web_client_of(context, connection);
  if (!client) return NULL;
  if (!client->target) client->target = malloc(sizeof *client->target);
  client->is_long = uri && strnlen(uri, HL_WEB_URI + 1) > HL_WEB_URI;
  client->broken = client->target ? NULL : "there is no memory for it";
  const char *reason;
  if (client->target && !hl_web_target_parse(uri ? uri : "", client->target, &reason))
    client->broken = reason;
  char *query = uri ? strchr(uri, '?') : NULL;
  if (query && query[1]) query[1] = '\0';
  return client;
}

static bool is_too_long(const hl__web *web, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      web->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info && info->header_size > HL__WEB_HEADERS;
}

/* MHD asks twice: with the headers alone, and when all is there. Refused is at once, which ends the
 * connection where a body would follow; answered is what is whole. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request) {
  hl__web *web = context;
  hl__web_client *client = hl__web_client_of(web, connection);
  (void)url, (void)version, (void)upload;
  if (!client) return MHD_NO;
  if (client->state == HL__WEB_WAITING && *request == client) {
    *request = web; /* seen once */
    hl__web_answer refusal = {.body = HL_TEXT_INIT};
    if (client->broken)
      hl__web_refuse(&refusal, client->is_long ? 414 : 400, client->broken);
    else if (is_too_long(web, connection))
      hl__web_refuse(&refusal, 431, "The headers are too long.");
    else if (hl__web_admit(web, connection, method, client->target, &refusal))
      return MHD_YES;
    web->requests++;
    return hl__web_send(client, &refusal);
  }
  if (*upload_bytes) return MHD_NO;
  hl__web_answer answer = {.body = HL_TEXT_INIT};
  web->requests++;
  hl__web_route(web, client->target, &answer);
  return hl__web_send(client, &answer);
}

/* An answer is out: the client may ask again. */
static void completed(void *context, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode code) {
  hl__web *web = context;
  hl__web_client *client = hl__web_client_of(web, connection);
  (void)request, (void)code;
  if (!client) return;
  if (client->state == HL__WEB_STREAMING) web->stream_count--;
  hl__web_client_rest(client);
  client->since_ns = hl_clock_ns();
}

/* Targets are decoded by target.c, once and strictly. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text) {
  (void)context, (void)connection;
  return strlen(text);
}

/* As many descriptors as there may be clients, where the system allows it. */
static unsigned client_limit(void) {
  enum { OTHERS = 64 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return HL__WEB_CLIENTS_OF_ONE / 4;
  rlim_t wanted = HL__WEB_CLIENTS + OTHERS;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) (void)getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) return HL__WEB_CLIENTS;
  return limit.rlim_cur > 2 * OTHERS ? (unsigned)limit.rlim_cur - OTHERS : OTHERS;
}

static hl_status begin(hl__web *web, hl_error *error) {
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  unsigned clients = client_limit();
  unsigned of_one = clients < HL__WEB_CLIENTS_OF_ONE ? clients : HL__WEB_CLIENTS_OF_ONE;
  web->daemon = web->mhd->start_daemon(
      flags, 0, NULL, NULL, answer, web, MHD_OPTION_LISTEN_SOCKET, web->place.fd,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HL__WEB_REQUEST, MHD_OPTION_CONNECTION_LIMIT,
      clients, MHD_OPTION_PER_IP_CONNECTION_LIMIT, of_one, MHD_OPTION_NOTIFY_CONNECTION,
      hl__web_client_notify, web, MHD_OPTION_NOTIFY_COMPLETED, completed, web,
      MHD_OPTION_URI_LOG_CALLBACK, note_target, web, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped,
      web, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
  if (web->daemon) return HL_OK;
  return hl_error_errno(error, HL_UNAVAILABLE, "cannot serve on %s", web->config->listen);
}

static void announce(const hl__web *web) {
  HL_CLEANUP(hl_free_pointer)
  char *url = hl_format("http://%s:%d/%s", web->place.name, web->place.port,
                        web->config->token ? "login" : "");
  if (url && web->config->started) web->config->started(web->config->context, url);
}

static int wait_ms(hl__web *web) {
  MHD_UNSIGNED_LONG_LONG mhd_ms;
  int ms = web->stream_count ? STREAMS_MS : web->client_count ? SWEEP_MS : web->log ? LOG_MS : -1;
  if (web->log_behind) ms = 0;
  if (web->mhd->get_timeout(web->daemon, &mhd_ms) == MHD_YES && (ms < 0 || (int64_t)mhd_ms < ms))
    ms = (int)mhd_ms;
  return ms;
}

static hl_status loop(hl__web *web, hl_error *error) {
  const union MHD_DaemonInfo *info =
      web->mhd->get_daemon_info(web->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  if (!info) return hl_error_set(error, HL_UNAVAILABLE, "libmicrohttpd has no epoll here");
  struct pollfd waits[] = {{.fd = info->epoll_fd, .events = POLLIN},
                           {.fd = web->config->interrupt, .events = POLLIN}};
  uint64_t swept_ns = 0, told_ns = 0, read_ns = 0;
  for (;;) {
    if (poll(waits, HL_COUNT(waits), wait_ms(web)) < 0 && errno != EINTR)
      return hl_error_errno(error, HL_IO, "cannot wait for clients");
    if (waits[1].revents) return HL_OK;
    (void)web->mhd->run(web->daemon);
    uint64_t now_ns = hl_clock_ns();
    if (now_ns - swept_ns >= SWEEP_MS * UINT64_C(1000000)) {
      hl__web_clients_sweep(web, now_ns);
      swept_ns = now_ns;
    }
    if (web->log && (web->log_behind || now_ns - read_ns >= LOG_MS * UINT64_C(1000000))) {
      hl__web_monitor_read(web);
      read_ns = now_ns;
    }
    if (web->stream_count && now_ns - told_ns >= STREAMS_MS * UINT64_C(1000000)) {
      hl__web_streams_tell(web, now_ns);
      told_ns = now_ns;
    }
  }
}

/* What a browser shows after /login in place of the token. */
static hl_status make_session(hl__web *web, hl_error *error) {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return hl_error_errno(error, HL_UNAVAILABLE, "no random numbers for a session");
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < sizeof bytes; i++) hl_text_format(&text, "%02x", bytes[i]);
  if (text.length < sizeof web->session) memcpy(web->session, text.data, text.length + 1);
  hl_text_clear(&text);
  /* Cookies know no ports: two dashboards of a machine have two names. */
  hl_text_format(&text, "hotlap-%d", web->place.port);
  if (text.length < sizeof web->cookie) memcpy(web->cookie, text.data, text.length + 1);
  hl_text_release(&text);
  return web->session[0] && web->cookie[0]
             ? HL_OK
             : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a session");
}

static hl_status check(const hl__web *web, hl_error *error) {
  const char *token = web->config->token;
  if (token && strlen(token) < HL_WEB_TOKEN_LEAST)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "the token has %zu characters; it needs %d. `openssl rand -hex 16` makes "
                        "one",
                        strlen(token), HL_WEB_TOKEN_LEAST);
  if (token || web->place.loopback) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--listen %.100s: others can reach this address; give --token-file FILE, "
                      "with a token in it that they have to know, or listen on 127.0.0.1",
                      web->config->listen);
}

hl_status hl_web_serve(const hl_web_config *config, hl_error *error) {
  hl__web web = {.config = config, .place.fd = -1};
  hl_status status = hl__web_mhd_open(&web.mhd, error);
  if (status == HL_OK) status = hl__web_listen(config->listen, &web.place, error);
  if (status == HL_OK) status = check(&web, error);
  if (status == HL_OK) status = make_session(&web, error);
  if (status == HL_OK) status = hl__web_monitor_begin(&web, error);
  if (gethostname(web.host, sizeof web.host - 1) != 0) web.host[0] = '\0';
  for (char *c = web.host; *c; c++) *c = (char)tolower((unsigned char)*c);
  if (status == HL_OK) status = begin(&web, error);
  if (web.daemon) {
    announce(&web);
    status = loop(&web, error);
    hl__web_streams_end(&web);
    web.mhd->stop_daemon(web.daemon); /* which closes the socket */
  } else if (web.place.fd >= 0) {
    close(web.place.fd);
  }
  hl__web_store_close(&web);
  hl__web_monitor_end(&web);
  return status;
}
