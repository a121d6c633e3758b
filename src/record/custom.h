/*
 * record/custom.h - metrics that a user's shared object computed: part of its row.
 *
 *     hl_custom custom;
 *     hl_custom_init(&custom);
 *     hl_record_set_text(&custom.name, "usd_per_million");
 *     custom.value = 1.25;
 *     hl_status status = hl_customs_take(&record.customs, &custom, error);
 *     hl_custom_release(&custom);
 */
#ifndef HL_RECORD_CUSTOM_H
#define HL_RECORD_CUSTOM_H

#include "record/fields.h"

typedef struct hl_custom {
#define X(kind, key, unit, better, title, doc) HL_FIELD_##kind key;
#include "record/customs.def"
#undef X
} hl_custom;

void hl_custom_init(hl_custom *custom); /* everything null */
void hl_custom_release(hl_custom *custom);
/* As a metric of hotlap, whose texts are those of `custom`; it is no field of a record. */
hl_metric hl_custom_as_metric(const hl_custom *custom);

typedef struct hl_customs {
  hl_custom *items;
  size_t count, capacity;
} hl_customs;
void hl_customs_release(hl_customs *customs);
/* Moves `custom` to the end of the list and leaves it initialised. */
hl_status hl_customs_take(hl_customs *customs, hl_custom *custom, hl_error *error);
/* The one of that name, or NULL. */
const hl_custom *hl_customs_find(const hl_customs *customs, const char *name);
/* Writes an object by name as the member `key`; nothing where there are none. */
void hl_customs_write_json(const hl_customs *customs, hl_json *json, const char *key);

#endif
