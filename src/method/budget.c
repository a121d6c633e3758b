#include "method/budget.h"

uint64_t hl_budget_ns(double seconds) {
  if (!(seconds > 0)) return 0;
  double ns = seconds * 1e9;
  return ns < 1.8e19 ? (uint64_t)ns : UINT64_MAX;
}

uint64_t hl_budget_warmup_ns(uint64_t row_ns) {
  return row_ns / 10 * 3 + row_ns % 10 * 3 / 10;
}

uint64_t hl_budget_measure_ns(uint64_t row_ns, uint64_t spent_ns) {
  return row_ns > spent_ns ? row_ns - spent_ns : 0;
}
