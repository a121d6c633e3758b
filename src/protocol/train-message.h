/*
 * protocol/train-message.h - what a training run asks for, as the member `train` of `configure`.
 */
#ifndef HL_PROTOCOL_TRAIN_MESSAGE_H
#define HL_PROTOCOL_TRAIN_MESSAGE_H

#include "plan/train-spec.h"
#include <jansson.h>

/* NULL without memory. */
json_t *hl_train_message(const hl_train_spec *spec);

/* The inverse, in the arena; strings point into `object`. INVALID_ARGUMENT names a member that is
 * missing or out of range. */
hl_status hl_train_message_read(const json_t *object, hl_arena *arena,
                                const hl_train_spec **ret_spec, hl_error *error);

#endif
