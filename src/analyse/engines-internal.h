/* analyse/engines-internal.h - the steps of the analysis of one model's engines. */
#ifndef HL_ANALYSE_ENGINES_INTERNAL_H
#define HL_ANALYSE_ENGINES_INTERNAL_H

#include "analyse/engines.h"

#include "base/text.h"

/* Members as bits. */
typedef uint32_t hl_member_set;
_Static_assert(HL_ENGINES_MEMBERS_MOST <= 32, "a member is a bit");

static inline hl_member_set hl__member(size_t member) {
  return (hl_member_set)1 << member;
}

/* The point of a member at a batch size, or NULL. */
const hl_engine_point *hl__engines_point(const hl_engine_model *model, size_t member,
                                         int64_t batch_size);
/* Of `candidates` with a row at this batch those that none of the others is faster than; all of
 * them where each is beaten by another. */
hl_member_set hl__engines_fastest(const hl_engine_model *model, size_t batch,
                                  hl_member_set candidates);
/* Of `candidates` those with a row at this batch. */
hl_member_set hl__engines_present(const hl_engine_model *model, size_t batch,
                                  hl_member_set candidates);
/* Of `candidates` those within 1 % of the least memory at this batch; none where it is unknown. */
hl_member_set hl__engines_smallest(const hl_engine_model *model, size_t batch,
                                   hl_member_set candidates);

void hl__engines_front(hl_engine_model *model);
/* False without memory. */
bool hl__engines_best(hl_engine_model *model);
bool hl__engines_precision(hl_engine_model *model);
bool hl__engines_verdict(const hl_records *records, hl_engine_model *model);
/* Takes `text`; false without memory. */
bool hl__engines_remark(hl_engine_model *model, char *text);

bool hl__engines_is_float32(const hl_engine_member *member);

#endif
