/*
 * worker/about.h - what a worker says of itself and of where it runs, without a model.
 *
 * A runner elsewhere cannot look for itself: what the machine is, what it can do at most, where the
 * cache is.
 */
#ifndef HL_WORKER_ABOUT_H
#define HL_WORKER_ABOUT_H

#include "base/error.h"
#include <jansson.h>

/* The verb `hello`. UNAVAILABLE for another protocol; IO where the clock cannot time. A limit of
 * memory holds from then on. */
hl_status hl_worker_hello(const json_t *request, json_t *reply, hl_error *error);

/* The verbs `machine` and `limits`; INVALID_ARGUMENT for any other. */
hl_status hl_worker_about(const char *verb, const json_t *request, json_t *reply, hl_error *error);

#endif
