#include "report/sides.h"

#include "report/number.h"

static void put_commits(const hl_side *sides, size_t count, hl_text *out) {
  for (size_t i = 0; i < count; i++)
    if (sides[i].commit) hl_text_format(out, "%c is commit %s\n", (char)('A' + i), sides[i].commit);
}

static void put_number(double value, hl_text *out, int width) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(value, "-", text), width);
}

static void put_row(const hl_side *side, char name, hl_text *out) {
  hl_side_summary s = hl_side_summarise(side);
  const double values[] = {s.median_ms, s.mean_ms, s.std_ms,    s.min_ms,
                           s.max_ms,    s.user_ms, s.system_ms, s.peak_mb};
  hl_text_format(out, "%c  ", name);
  for (size_t i = 0; i < HL_COUNT(values); i++) put_number(values[i], out, -9);
  hl_text_char(out, '\n');
}

void hl__report_sides(const hl_side *sides, size_t count, hl_text *out) {
  put_commits(sides, count, out);
  if (!sides[0].command) return;
  static const char *const titles[] = {"Median", "Mean", "Std",    "Min",
                                       "Max",    "User", "System", "Memory"};
  hl_text_append(out, "   ");
  for (size_t i = 0; i < HL_COUNT(titles); i++) hl_report_pad(out, titles[i], -9);
  hl_text_append(out, "   ms, MB\n");
  for (size_t i = 0; i < count; i++) put_row(&sides[i], (char)('A' + i), out);
}
