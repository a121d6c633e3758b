/*
 * record/epoch.h - the epochs of a training run: part of its row.
 *
 *     hl_epoch epoch;
 *     hl_epoch_init(&epoch);
 *     epoch.loss = 0.25;
 *     hl_epochs_add(&record.epochs, &epoch, error);
 */
#ifndef HL_RECORD_EPOCH_H
#define HL_RECORD_EPOCH_H

#include "record/fields.h"

/* Holds numbers only, so that a copy of the struct is a copy. */
typedef struct hl_epoch {
#define X(kind, key, unit, better, title, doc) HL_FIELD_##kind key;
#include "record/epochs.def"
#undef X
} hl_epoch;

void hl_epoch_init(hl_epoch *epoch); /* everything null */

/* In the order in which they were trained. */
typedef struct hl_epochs {
  hl_epoch *items;
  size_t count, capacity;
} hl_epochs;
void hl_epochs_release(hl_epochs *epochs);
hl_status hl_epochs_add(hl_epochs *epochs, const hl_epoch *epoch, hl_error *error);
/* Writes them as the list `key`; nothing where there are none. */
void hl_epochs_write_json(const hl_epochs *epochs, hl_json *json, const char *key);

#endif
