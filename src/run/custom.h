/*
 * run/custom.h - metrics of a user's shared object (hotlap/metric.h) or Python file
 * (hotlap/metric.py), computed in a process of its own.
 *
 *     hl_status status = hl_custom_check(method, wake_fd, &names, error);   (at first)
 *     ...
 *     status = hl_custom_compute(method, wake_fd, &record, error);   (record.customs)
 *
 * The numbers of a row are final in this process only, and another machine's worker need not have
 * the object; a process between keeps what strangers wrote away from the run. Not thread-safe: it
 * forks.
 */
#ifndef HL_RUN_CUSTOM_H
#define HL_RUN_CUSTOM_H

#include "plan/configuration.h"
#include "record/record.h"

enum { HL_CUSTOM_MOST = 32, HL_CUSTOM_NAME_BYTES = 48 };

/* What the objects of a row are called. */
typedef struct hl_custom_names {
  char names[HL_CUSTOM_MOST][HL_CUSTOM_NAME_BYTES + 1];
  size_t count;
} hl_custom_names;

/* Opens each and reads its table, unless `wake_fd` becomes readable (-1: never): INTERRUPTED.
 * INVALID_ARGUMENT names the object and what is wrong with it, also two metrics of one name. */
hl_status hl_custom_check(const hl_method_options *method, int wake_fd, hl_custom_names *ret_names,
                          hl_error *error);

/* Adds all metrics of the objects to the row, whose outputs are then let go; those that failed are
 * null with a reason, and what cannot be said so is a note. INTERRUPTED, the row filled in all the
 * same, where `wake_fd` becomes readable meanwhile; where it was so before, an object has a second.
 * OUT_OF_MEMORY. */
hl_status hl_custom_compute(const hl_method_options *method, int wake_fd, hl_record *record,
                            hl_error *error);

#endif
