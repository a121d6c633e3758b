#include "statistics/step-down.h"

#include <math.h>
#include <stdlib.h>

/* The strongest that is not judged yet; `count` when there is none. */
static size_t strongest(const double *evidence, const bool *judged, size_t count) {
  size_t best = count;
  for (size_t i = 0; i < count; i++)
    if (!judged[i] && !isnan(evidence[i]) && (best == count || evidence[i] > evidence[best]))
      best = i;
  return best;
}

hl_status hl_step_down(const double *evidence, size_t count, double alpha, hl_step_down_judge judge,
                       void *context, hl_error *error) {
  bool *judged = calloc(count + 1, sizeof *judged);
  if (!judged) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  size_t left = 0; /* the divisor of the level */
  for (size_t i = 0; i < count; i++) left += isnan(evidence[i]) ? 0 : 1;
  hl_status status = HL_OK;
  bool stopped = false;
  for (size_t i; status == HL_OK && (i = strongest(evidence, judged, count)) < count;) {
    bool differs = false;
    judged[i] = true;
    status = judge(context, i, alpha / (double)left, &differs, error);
    stopped = stopped || !differs;
    if (!stopped) left--;
  }
  free(judged);
  return status;
}
