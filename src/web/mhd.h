/*
 * web/mhd.h - libmicrohttpd, opened when a dashboard is asked for (inside src/web only).
 *
 * It brings GnuTLS and what that needs along, which no worker and no other command shall load.
 */
#ifndef HL_WEB_MHD_H
#define HL_WEB_MHD_H

#include "base/error.h"
#include <microhttpd.h>

#define HL_WEB_MHD_FUNCTIONS(X)                                                                    \
  X(start_daemon)                                                                                  \
  X(stop_daemon)                                                                                   \
  X(run)                                                                                           \
  X(get_timeout)                                                                                   \
  X(get_daemon_info)                                                                               \
  X(get_connection_info)                                                                           \
  X(lookup_connection_value)                                                                       \
  X(suspend_connection)                                                                            \
  X(resume_connection)                                                                             \
  X(queue_response)                                                                                \
  X(create_response_from_buffer)                                                                   \
  X(create_response_from_callback)                                                                 \
  X(add_response_header)                                                                           \
  X(destroy_response)

typedef struct hl_web_mhd {
#define X(name) __typeof__(MHD_##name) *name;
  HL_WEB_MHD_FUNCTIONS(X)
#undef X
} hl_web_mhd;

/* The library's functions, loaded once and kept. UNAVAILABLE: it is not there, or is too old. */
hl_status hl__web_mhd_open(const hl_web_mhd **ret_mhd, hl_error *error);

#endif
