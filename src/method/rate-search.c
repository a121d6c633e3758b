#include "method/rate-search.h"

#include <math.h>

void hl_rate_search_init(hl_rate_search *search, double guess, double resolution) {
  *search = (hl_rate_search){.resolution = resolution,
                             .failing = (double)INFINITY,
                             .next = fmin(fmax(guess, HL_RATE_LEAST), HL_RATE_MOST)};
}

bool hl_rate_search_next(const hl_rate_search *search, double *ret_rate) {
  *ret_rate = search->next;
  return !search->ended;
}

void hl_rate_search_add(hl_rate_search *search, bool held) {
  hl_rate_search *s = search;
  if (held && s->next > s->best) s->best = s->next;
  if (!held && s->next < s->failing) s->failing = s->next;
  s->probes++;
  if (s->best == 0)
    s->next = s->failing / 2;
  else if (isinf(s->failing))
    s->next = s->best * 2;
  else
    s->next = sqrt(s->best * s->failing);
  bool resolved = s->best > 0 && s->failing / s->best <= 1 + s->resolution;
  s->ended =
      resolved || s->next < HL_RATE_LEAST || s->next > HL_RATE_MOST || s->probes >= HL_RATE_PROBES;
}

void hl_rate_search_refute(hl_rate_search *search) {
  if (search->best < search->failing) search->failing = search->best;
  search->best *= 0.97;
}
