/*
 * worker/feed.h - the verb `feed`: steps whose pictures are loaded meanwhile.
 */
#ifndef HL_WORKER_FEED_H
#define HL_WORKER_FEED_H

#include "workloads/feed.h"
#include <jansson.h>

/* `reply` gets what hl_feed_result has, or no more than `reason` where memory is short. */
hl_status hl_worker_feed(hl_inference *inference, const json_t *request, json_t *reply,
                         hl_error *error);

#endif
