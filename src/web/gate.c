#include "web/page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *header(hl__web *web, struct MHD_Connection *connection, const char *name) {
  return web->mhd->lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool is_number(const char *name) {
  return name[0] == '[' || name[strspn(name, "0123456789.")] == '\0';
}

/*
 * A page of a stranger can lead a browser here by a name of its own that means 127.0.0.1 (DNS
 * rebinding), and would then read what is served. It cannot choose the name in the Host header,
 * so only names of this machine are taken; numbers are no names.
 */
static bool knows_host(const hl__web *web, const char *given) {
  char name[256];
  if (!given || !hl_web_host_parse(given, name, sizeof name)) return false;
  return is_number(name) || strcmp(name, "localhost") == 0 ||
         strcasecmp(name, web->place.name) == 0 ||
         (!web->place.loopback && strcmp(name, web->host) == 0);
}

static bool has_token(hl__web *web, struct MHD_Connection *connection) {
  static const char bearer[] = "Bearer ";
  const char *given = header(web, connection, "Authorization");
  if (given && strncasecmp(given, bearer, sizeof bearer - 1) == 0) {
    given += sizeof bearer - 1;
    return hl_web_secret_same(given, strlen(given), web->config->token);
  }
  const char *cookies = header(web, connection, "Cookie"), *value;
  size_t length;
  return cookies && hl_web_cookie_find(cookies, web->cookie, &value, &length) &&
         hl_web_secret_same(value, length, web->session);
}

/* What needs no token: it tells nothing of the store. */
static bool is_open(const hl_web_target *target) {
  static const char *const open[] = {"login", "healthz", "assets"};
  if (!target->segment_count) return false;
  for (size_t i = 0; i < HL_COUNT(open); i++)
    if (strcmp(target->segments[0], open[i]) == 0) return true;
  return false;
}

bool hl__web_admit(hl__web *web, struct MHD_Connection *connection, const char *method,
                   const hl_web_target *target, hl__web_answer *ret_answer) {
  if (!knows_host(web, header(web, connection, "Host"))) {
    hl__web_refuse(ret_answer, 421,
                   "The Host header names another machine. Use the address that hotlap printed; "
                   "another name of this machine is given with --listen NAME:PORT.");
    return false;
  }
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
    hl__web_refuse(ret_answer, 405, "This dashboard is only looked at: GET and HEAD.");
    return false;
  }
  const char *length = header(web, connection, "Content-Length");
  if ((length && strcmp(length, "0") != 0) || header(web, connection, "Transfer-Encoding")) {
    hl__web_refuse(ret_answer, 413, "A request has no body here.");
    return false;
  }
  if (!web->config->token || is_open(target) || has_token(web, connection)) return true;
  const char *accepts = header(web, connection, "Accept");
  if (accepts && strstr(accepts, "text/html"))
    hl__web_page_refuse(web, ret_answer, 401, "This dashboard needs a token.", true);
  else
    hl__web_refuse(ret_answer, 401, "A token is needed: the header 'Authorization: Bearer TOKEN'.");
  return false;
}
