/*
 * protocol/messages.h - the configuration as a message, for both sides. See docs/protocol.md.
 */
#ifndef HL_PROTOCOL_MESSAGES_H
#define HL_PROTOCOL_MESSAGES_H

#include "plan/configuration.h"
#include "protocol/channel.h"

/* The members of `configure`; NULL without memory. `cache_directory` may be NULL. */
json_t *hl_message_from_configuration(const hl_configuration *configuration,
                                      const char *cache_directory);

/* The inverse: strings point into `object`, options into `arena`. INVALID_ARGUMENT names a member
 * that is missing or out of range. */
hl_status hl_message_to_configuration(const json_t *object, hl_arena *arena,
                                      hl_configuration *ret_configuration, hl_error *error);

/* A reply that says what went wrong, or HL_OK if it says all is well. */
hl_status hl_message_status(const json_t *reply, hl_error *error);

#endif
