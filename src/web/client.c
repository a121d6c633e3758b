#include "web/internal.h"

#include "base/clock.h"
#include <stdlib.h>
#include <sys/socket.h>

static void begin(hl__web *web, struct MHD_Connection *connection, void **context) {
  hl__web_client *client = calloc(1, sizeof *client);
  *context = client;
  if (!client) return; /* its requests are not answered */
  const union MHD_ConnectionInfo *info =
      web->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  client->web = web;
  client->connection = connection;
  client->fd = info ? info->connect_fd : -1;
  client->since_ns = hl_clock_ns();
  client->pending = (hl_text)HL_TEXT_INIT;
  client->next = web->clients;
  client->back = &web->clients;
  if (client->next) client->next->back = &client->next;
  web->clients = client;
  web->client_count++;
}

static void end(hl__web *web, void **context) {
  hl__web_client *client = *context;
  *context = NULL;
  if (!client) return;
  if (client->state == HL__WEB_STREAMING) web->stream_count--;
  *client->back = client->next;
  if (client->next) client->next->back = client->back;
  web->client_count--;
  hl_text_release(&client->pending);
  free(client->target);
  free(client->run);
  free(client);
}

void hl__web_client_notify(void *web, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code) {
  if (code == MHD_CONNECTION_NOTIFY_STARTED)
    begin(web, connection, context);
  else
    end(web, context);
}

void hl__web_client_rest(hl__web_client *client) {
  client->state = HL__WEB_WAITING;
  free(client->target);
  client->target = NULL;
}

hl__web_client *hl__web_client_of(hl__web *web, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      web->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

void hl__web_clients_sweep(hl__web *web, uint64_t now_ns) {
  uint64_t patience_ns = web->config->patience_s * UINT64_C(1000000000);
  for (hl__web_client *client = web->clients; client; client = client->next) {
    if (client->state == HL__WEB_STREAMING || client->fd < 0) continue;
    /* A byte now and then does not count: the whole has to come, or be taken. */
    if (now_ns - client->since_ns > patience_ns) (void)shutdown(client->fd, SHUT_RDWR);
  }
}
