/* What a smaller type gains and costs, against the same engine in float32. */
#include "analyse/engines-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The member with the same engine, threads and device in float32, or SIZE_MAX. */
static size_t reference_of(const hl_engine_model *m, size_t member) {
  const hl_analysis_group *g = m->members[member].group;
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_analysis_group *o = m->members[i].group;
    if (i == member || !hl__engines_is_float32(&m->members[i]) || o->threads != g->threads)
      continue;
    if (g->engine && o->engine && strcmp(g->engine, o->engine) == 0 &&
        hl_text_same(g->device, o->device))
      return i;
  }
  return SIZE_MAX;
}

static hl_engine_precision compare(const hl_engine_model *m, size_t batch, size_t member,
                                   size_t reference) {
  const hl_engine_point *p = hl__engines_point(m, member, m->batch_sizes[batch]),
                        *r = hl__engines_point(m, reference, m->batch_sizes[batch]);
  const hl_engine_ratio *speedup = hl_engines_ratio(m, batch, reference, member);
  const hl_comparison *c = speedup->comparison;
  return (hl_engine_precision){.member = member,
                               .reference = reference,
                               .batch_size = m->batch_sizes[batch],
                               .speedup = *speedup,
                               .memory_ratio =
                                   r->memory_mb > 0 ? p->memory_mb / r->memory_mb : (double)NAN,
                               .memory_change_mb = p->memory_mb - r->memory_mb,
                               .output_error = p->output_error,
                               .reference_output_error = r->output_error,
                               .cosine = c ? c->cosine : (double)NAN,
                               .top1 = c ? c->top1 : (double)NAN};
}

bool hl__engines_precision(hl_engine_model *m) {
  m->precisions = calloc(m->point_count + 1, sizeof *m->precisions);
  if (!m->precisions) return false;
  for (size_t i = 0; i < m->member_count; i++) {
    if (hl__engines_is_float32(&m->members[i])) continue;
    size_t reference = reference_of(m, i);
    for (size_t k = 0; reference != SIZE_MAX && k < m->batch_count; k++)
      if (hl__engines_point(m, i, m->batch_sizes[k]) &&
          hl__engines_point(m, reference, m->batch_sizes[k]))
        m->precisions[m->precision_count++] = compare(m, k, i, reference);
  }
  return true;
}
