/*
 * method/rate-search.h - the largest rate of arrivals at which a latency target holds.
 *
 *     hl_rate_search search;
 *     hl_rate_search_init(&search, 200, 0.02);
 *     double rate;
 *     while (hl_rate_search_next(&search, &rate)) hl_rate_search_add(&search, run_at(rate));
 *     print(search.best);                                    // 0: none held
 *
 * Doubles from a guess until a rate fails (halves until one holds), then bisects on the logarithm
 * until what holds and what fails are within `resolution` of each other, as LoadGen's
 * FindPeakPerformance does. A rate is a random experiment: the answer is to be confirmed by longer
 * runs with other seeds; where one of them fails the answer is 3 % lower, and so on. Pure.
 */
#ifndef HL_METHOD_RATE_SEARCH_H
#define HL_METHOD_RATE_SEARCH_H

#include <stdbool.h>

typedef struct hl_rate_search {
  double resolution;
  double best;    /* largest that held, 0 if none did yet */
  double failing; /* smallest that failed, INFINITY if none did yet */
  double next;
  int probes;
  bool ended;
} hl_rate_search;

#define HL_RATE_LEAST 1e-3
#define HL_RATE_MOST 1e8
#define HL_RATE_PROBES 64

/* `guess` and `resolution` are positive; the guess is moved into HL_RATE_LEAST .. HL_RATE_MOST. */
void hl_rate_search_init(hl_rate_search *search, double guess, double resolution);

/* The rate to try next; false once the search is over. */
bool hl_rate_search_next(const hl_rate_search *search, double *ret_rate);

/* What came of it. */
void hl_rate_search_add(hl_rate_search *search, bool held);

/* The best did not stand up to a longer run: `best` becomes 3 % less. */
void hl_rate_search_refute(hl_rate_search *search);

#endif
