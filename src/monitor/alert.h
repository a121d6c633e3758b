/*
 * monitor/alert.h - tells somebody of an event: by a command, and by a webhook.
 *
 *     hl_alerts *alerts;
 *     if ((status = hl_alerts_new(command, url, &alerts, error))) return status;
 *     hl_alerts_send(alerts, json, message);     // starts processes and waits for none
 *     hl_alerts_reap(alerts, failed, context);   // now and then
 *     hl_alerts_free(alerts);                    // waits a little for the last
 *
 * A command is a list of words: it is started as it stands (by $PATH), with the message as one more
 * word and the event's JSON as its standard input, so nothing in an event can be taken for a
 * command or an option of a shell. A webhook is the same with the program curl, which posts the
 * JSON: it brings TLS, proxies and certificates without a library that every serving program would
 * have to load. Address and JSON go to it by standard input, since addresses of webhooks are
 * secrets and words of a process are seen by all.
 *
 * At most HL_ALERTS_RUNNING processes at a time; each is killed with its group after
 * HL_ALERTS_LIMIT_S. Output is thrown away. One thread.
 */
#ifndef HL_MONITOR_ALERT_H
#define HL_MONITOR_ALERT_H

#include "base/error.h"

enum {
  HL_ALERTS_RUNNING = 4,
  HL_ALERTS_LIMIT_S = 30,
  HL_ALERTS_END_S = 3, /* that _free waits */
  HL_ALERTS_WORDS = 64,
  HL_ALERTS_URL = 2048
};

typedef struct hl_alerts hl_alerts;

/* `command`: NULL-terminated, copied, may be NULL; `webhook`: http:// or https://, may be NULL.
 * INVALID_ARGUMENT. */
hl_status hl_alerts_new(const char *const *command, const char *webhook, hl_alerts **ret_alerts,
                        hl_error *error);
void hl_alerts_free(hl_alerts *alerts); /* NULL is allowed */
/* Gives memory back and waits for nothing: in a child of fork, whose children they are not. */
void hl_alerts_forget(hl_alerts *alerts);

/* `failed` is told what could not be started, and how a process ended that did not end well. */
typedef void (*hl_alert_failed)(void *context, const char *what);
void hl_alerts_send(hl_alerts *alerts, const char *json, const char *message,
                    hl_alert_failed failed, void *context);
void hl_alerts_reap(hl_alerts *alerts, hl_alert_failed failed, void *context);

#endif
