#include "machine/canary.h"

#include "base/clock.h"
#include <math.h>

enum { products = 16000, first_pieces = 80, pieces_least = 16, pieces_most = 1000 };

/* Each product needs the one before: processors that add constants while renaming registers do a
 * chain of additions in no time. */
uint64_t hl_canary_piece(void) {
  uint64_t start = hl_clock_ns(), x = start;
  for (int i = 0; i < products; i++) x = x * 6364136223846793005u + 1442695040888963407u;
  __asm__ volatile("" : : "r"(x)); /* must not be left out */
  uint64_t end = hl_clock_ns();
  return end > start ? end - start : 0;
}

void hl_canary_add(hl_canary *canary, uint64_t piece_ns) {
  if (piece_ns == 0) return; /* the clock did not move */
  if (piece_ns < canary->least_ns) canary->least_ns = piece_ns;
  canary->pieces++;
  canary->sum_ns += piece_ns;
}

void hl_canary_init(hl_canary *canary) {
  *canary = (hl_canary){.least_ns = UINT64_MAX};
  for (int i = 0; i < first_pieces; i++) hl_canary_add(canary, hl_canary_piece());
  canary->pieces = canary->sum_ns = 0;
}

void hl_canary_sing(hl_canary *canary, uint64_t slice_ns) {
  uint64_t pieces = canary->least_ns ? slice_ns / 100 / canary->least_ns : 0;
  if (pieces < pieces_least) pieces = pieces_least;
  if (pieces > pieces_most) pieces = pieces_most;
  for (uint64_t i = 0; i < pieces; i++) hl_canary_add(canary, hl_canary_piece());
}

double hl_canary_lost(hl_canary *canary) {
  double least = (double)canary->least_ns * (double)canary->pieces, sum = (double)canary->sum_ns;
  canary->pieces = canary->sum_ns = 0;
  return sum > 0 ? fmax(0, 1 - least / sum) : (double)NAN;
}
