/*
 * web/listen.h - the socket that a dashboard listens on (inside src/web only).
 *
 *     hl__web_place place;
 *     hl_status status = hl__web_listen("127.0.0.1:8080", &place, error);
 */
#ifndef HL_WEB_LISTEN_H
#define HL_WEB_LISTEN_H

#include "base/error.h"
#include <stdbool.h>

typedef struct hl__web_place {
  int fd;         /* listening, non-blocking; the caller's to close */
  bool loopback;  /* nobody else can reach it */
  char name[256]; /* as it was given, for a Host header: "box.example", "[::1]" */
  int port;       /* the one that it is, also where port 0 was asked for */
} hl__web_place;

/* INVALID_ARGUMENT: no ADDRESS:PORT, or an address that is not this machine's. UNAVAILABLE: the
 * port is in use, or may not be taken. */
hl_status hl__web_listen(const char *text, hl__web_place *ret_place, hl_error *error);

#endif
