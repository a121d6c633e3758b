/*
 * web/web.h - the dashboard: a store of runs, and a monitor's log, as pages that are only looked
 * at.
 *
 *     hl_web_config config = {.store = path, .listen = "127.0.0.1:8080", .interrupt = fd,
 *                             .patience_s = 60, .started = print_address};
 *     hl_status status = hl_web_serve(&config, &error);
 *
 * One thread serves everybody: it waits in epoll, and does what a request asks for before it looks
 * at the next. The store is opened without the permission to write. Only GET and HEAD are answered;
 * requests are limited in size, time and number. docs/dashboard.md has the pages and the limits.
 */
#ifndef HL_WEB_WEB_H
#define HL_WEB_WEB_H

#include "base/error.h"

enum { HL_WEB_TOKEN_LEAST = 16 }; /* bytes of a token */

typedef struct hl_web_config {
  const char *store;   /* the file; it need not be there yet */
  const char *monitor; /* log of a monitor; NULL: none */
  /* ADDRESS:PORT, a name or a number ("[::1]:8080"); port 0: one that is free. */
  const char *listen;
  const char *token;   /* what a client has to know; NULL: nothing, on a loopback address only */
  unsigned patience_s; /* a request, a pause between two, or the taking of an answer */
  int interrupt;       /* descriptor that becomes readable when it shall end */
  /* Called once it listens: "http://127.0.0.1:8080/", with /login where there is a token. */
  void (*started)(void *context, const char *url);
  void *context;
} hl_web_config;

/*
 * Serves until `interrupt` is readable; HL_OK then. INVALID_ARGUMENT: the address, or one that
 * others reach without a token, or a token that is too short. UNAVAILABLE: the port is taken, or
 * libmicrohttpd is not there. NOT_FOUND, IO: the monitor's log. A store that cannot be read is a
 * page that says so.
 */
hl_status hl_web_serve(const hl_web_config *config, hl_error *error);

#endif
