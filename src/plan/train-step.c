#include "plan/train-step.h"

#include <stddef.h>

const char *hl_train_span_name(hl_train_span span) {
  static const char *const names[HL_SPAN_COUNT] = {"load", "transfer", "forward",
                                                   "loss", "backward", "optimizer"};
  return (size_t)span < HL_SPAN_COUNT ? names[span] : "unknown";
}
