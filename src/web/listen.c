#include "web/listen.h"

#include "base/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT". */
static hl_status split(const char *text, hl__web_place *place, int64_t *ret_port, hl_error *error) {
  const char *colon = strrchr(text, ':');
  const char *port = colon ? colon + 1 : text;
  size_t length = colon ? (size_t)(colon - text) : 0;
  bool bare = length && text[0] != '[' && memchr(text, ':', length); /* ::1:8080 is which? */
  hl_error inner = {0};
  if (bare || (colon && !length) || length >= sizeof place->name ||
      hl_parse_int(port, 0, 65535, "the port", ret_port, &inner) != HL_OK)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--listen: '%.100s' is no ADDRESS:PORT, such as 127.0.0.1:8080 or "
                        "[::1]:8080",
                        text);
  memcpy(place->name, colon ? text : "127.0.0.1", colon ? length : sizeof "127.0.0.1");
  if (colon) place->name[length] = '\0';
  return HL_OK;
}

static hl_status look_up(const hl__web_place *place, int64_t port, struct addrinfo **ret_found,
                         hl_error *error) {
  char host[sizeof place->name], service[16];
  size_t length = strlen(place->name);
  bool bracketed = length > 2 && place->name[0] == '[' && place->name[length - 1] == ']';
  hl_text number = HL_TEXT_INIT;
  memcpy(host, place->name + bracketed, length - 2 * bracketed);
  host[length - 2 * bracketed] = '\0';
  hl_text_format(&number, "%lld", (long long)port);
  memcpy(service, number.data, number.length + 1);
  hl_text_release(&number);
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  int code = getaddrinfo(host, service, &hints, ret_found);
  if (code == 0) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--listen: there is no address '%.100s': %s",
                      host, gai_strerror(code));
}

static bool is_loopback(const struct sockaddr *address) {
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    return ntohl(in->sin_addr.s_addr) >> 24 == 127;
  }
  const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static int port_of(int fd) {
  struct sockaddr_storage bound;
  socklen_t size = sizeof bound;
  if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0) return 0;
  in_port_t port = bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                              : ((struct sockaddr_in6 *)&bound)->sin6_port;
  return ntohs(port);
}

static hl_status fail_to_bind(const char *text, int number, hl_error *error) {
  errno = number;
  if (number == EADDRINUSE)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s: the port is in use, maybe by another dashboard. Name another with "
                        "--listen; port 0 takes one that is free",
                        text);
  if (number == EADDRNOTAVAIL)
    return hl_error_errno(error, HL_INVALID_ARGUMENT,
                          "--listen: '%.100s' is no address of this machine", text);
  return hl_error_errno(error, HL_UNAVAILABLE,
                        "cannot listen on %.100s; --listen names another address and port", text);
}

hl_status hl__web_listen(const char *text, hl__web_place *ret_place, hl_error *error) {
  hl__web_place place = {.fd = -1};
  int64_t port = 0;
  struct addrinfo *found = NULL;
  hl_status status = split(text, &place, &port, error);
  if (status == HL_OK) status = look_up(&place, port, &found, error);
  if (status != HL_OK) return status;
  int one = 1;
  place.fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* So that a server that was ended can be started again while its connections fade out. */
  if (place.fd >= 0) (void)setsockopt(place.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  bool bound = place.fd >= 0 && bind(place.fd, found->ai_addr, found->ai_addrlen) == 0 &&
               listen(place.fd, 512) == 0;
  int number = errno;
  place.loopback = is_loopback(found->ai_addr);
  freeaddrinfo(found);
  if (!bound) {
    if (place.fd >= 0) close(place.fd);
    return fail_to_bind(text, number, error);
  }
  place.port = port_of(place.fd);
  *ret_place = place;
  return HL_OK;
}
