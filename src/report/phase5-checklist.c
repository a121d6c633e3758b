/* The document's acceptance checklist, each item with its number. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct sides {
  hl__phase5_side baseline, optimised;
} sides;

static void select_sides(const hl_report_input *input, const char *scenario, sides *ret) {
  hl__phase5_select(input->records, scenario, "none", &ret->baseline);
  hl__phase5_select(input->records, scenario, "all", &ret->optimised);
}

static hl__phase5_item item(const char *name, const char *requirement, const char *unit) {
  return (hl__phase5_item){.name = name,
                           .requirement = requirement,
                           .value = (double)NAN,
                           .low = (double)NAN,
                           .high = (double)NAN,
                           .unit = unit,
                           .passed = -1};
}

/* By the whole interval where there is one: an interval that holds the limit is no pass. */
static hl__phase5_item speed_up(const hl_report_input *input, const sides *s, const char *name) {
  hl__phase5_item i = item(name, "speed-up >= 3", "x");
  hl__phase5_ratio each[HL__PHASE5_ROWS];
  size_t count = 0;
  hl__phase5_ratio r = hl__phase5_compare_sides(input, &s->baseline, &s->optimised, each, &count);
  i.value = r.value;
  i.low = r.low;
  i.high = r.high;
  if (isnan(r.value)) {
    snprintf(i.sentence, sizeof i.sentence, "rows of both configurations are needed");
    return i;
  }
  i.passed = (isnan(r.low) ? r.value : r.low) >= 3;
  snprintf(i.sentence, sizeof i.sentence, "%zu repetition%s, %lld interleaved pairs", count,
           count == 1 ? "" : "s", (long long)r.pairs);
  return i;
}

static hl__phase5_item hit_rate(const sides *s, bool repeats) {
  hl__phase5_item i = item(repeats ? "Cache hit rate, progressive" : "Cache hit rate, standard",
                           repeats ? "hit rate >= 80 %" : "told as it is", "%");
  i.value = hl__phase5_median(&s->optimised, "cache_hit_percent");
  if (isnan(i.value)) {
    snprintf(i.sentence, sizeof i.sentence, "no row says it");
    return i;
  }
  i.passed = repeats ? i.value >= 80 : 1;
  if (repeats)
    snprintf(i.sentence, sizeof i.sentence, "each of %.0f apertures is visited %.0f times",
             hl__phase5_median(&s->optimised, "apertures"),
             hl__phase5_median(&s->optimised, "rounds"));
  else
    snprintf(i.sentence, sizeof i.sentence,
             "each aperture of this scenario is visited once, so there is nothing that a cache "
             "could have: its speed-up owes nothing to it");
  return i;
}

/* The first row of a seed, or NULL. */
static const hl_record *of_seed(const hl__phase5_side *side, int64_t seed) {
  for (size_t i = 0; i < side->count; i++)
    if (side->rows[i]->seed == seed) return side->rows[i];
  return NULL;
}

/* By how much the optimised picture is worse than the baseline's of the same seed; how many. */
static size_t differences(const sides *s, double *ret_values) {
  size_t count = 0;
  for (size_t i = 0; i < s->baseline.count; i++) {
    const hl_record *a = s->baseline.rows[i];
    if (of_seed(&s->baseline, a->seed) != a) continue; /* the same training again */
    const hl_record *b = of_seed(&s->optimised, a->seed);
    if (b && !isnan(a->psnr_db - b->psnr_db)) ret_values[count++] = a->psnr_db - b->psnr_db;
  }
  return count;
}

/* Of several trainings of each kind the mean with Student's interval: one of each goes apart by
 * rounding alone, as far as that interval says. The whole interval is below the limit, or it is no
 * pass. */
static hl__phase5_item psnr_of_several(const sides *several, const sides *one, const char *name) {
  hl__phase5_item i = item(name, "mean PSNR lower by less than 1 dB", "dB");
  double d[HL__PHASE5_ROWS], half;
  size_t n = differences(several, d);
  if (n < 3) {
    snprintf(i.sentence, sizeof i.sentence,
             "%zu pair%s of trainings from the same seed; 3 are needed", n, n == 1 ? "" : "s");
    return i;
  }
  i.value = hl__phase5_mean(d, n, &half);
  i.low = i.value - half;
  i.high = i.value + half;
  i.passed = i.high < 1;
  int length = snprintf(i.sentence, sizeof i.sentence,
                        "baseline less optimised, mean of %zu trainings of each from as many seeds "
                        "in a smaller picture",
                        n);
  double a = hl__phase5_median(&one->baseline, "psnr_db");
  double b = hl__phase5_median(&one->optimised, "psnr_db");
  if (!isnan(a - b))
    snprintf(
        i.sentence + length, sizeof i.sentence - (size_t)length,
        "; the one of each in full size, %.2f and %.2f dB, tells nothing: rounding alone parts "
        "two trainings by more than 1 dB",
        a, b);
  return i;
}

static hl__phase5_item psnr(const sides *s, const char *name) {
  hl__phase5_item i = item(name, "PSNR lower by less than 1 dB", "dB");
  double a = hl__phase5_median(&s->baseline, "psnr_db");
  double b = hl__phase5_median(&s->optimised, "psnr_db");
  i.value = a - b; /* a better picture is no regression */
  if (!isnan(i.value)) i.passed = i.value < 1;
  if (isnan(i.value))
    snprintf(i.sentence, sizeof i.sentence, "no PSNR of both configurations is known");
  else
    snprintf(i.sentence, sizeof i.sentence,
             "%.2f dB of the baseline, %.2f dB of the optimised, which is %s", a, b,
             b < a   ? "worse"
             : b > a ? "better"
                     : "the same");
  return i;
}

static hl__phase5_item same_image(const sides *standard, const sides *progressive) {
  hl__phase5_item i = item("The same measurements", "largest difference <= 1e-5 (ours)", "");
  i.value = fmax(hl__phase5_largest(&standard->optimised, "measurement_error"),
                 hl__phase5_largest(&progressive->optimised, "measurement_error"));
  if (!isnan(i.value)) i.passed = i.value <= 1e-5;
  snprintf(i.sentence, sizeof i.sentence, "%s",
           isnan(i.value) ? "no row was compared with the baseline's transforms"
                          : "of any measurement of a pass, and of the loss's gradient, from the "
                            "baseline's transforms of the same picture, over the largest value");
  return i;
}

/* What few updates by the gradients themselves lead to. */
static hl__phase5_item same_training(const sides *s) {
  static const char *const keys[] = {"mse", "ssim", "first_sample_loss", "new_loss"};
  hl__phase5_item i = item("The same training", "largest difference <= 1e-5 (ours)", "");
  if (s->baseline.count == 0 || s->optimised.count == 0) {
    snprintf(i.sentence, sizeof i.sentence, "rows of both configurations are needed");
    return i;
  }
  const hl_record *a = s->baseline.rows[0], *b = s->optimised.rows[0];
  i.value = 0;
  for (size_t k = 0; k < HL_COUNT(keys); k++) {
    double x = hl__phase5_value(a, keys[k]), y = hl__phase5_value(b, keys[k]);
    double apart = fabs(y - x) / fabs(x);
    i.value = isnan(i.value) || isnan(apart) ? (double)NAN : fmax(i.value, apart);
  }
  if (!isnan(i.value)) i.passed = i.value <= 1e-5;
  snprintf(i.sentence, sizeof i.sentence,
           "after %lld updates that follow the gradient (SGD): of square error, SSIM and losses, "
           "over the baseline's",
           (long long)hl__phase5_value(a, "updates"));
  return i;
}

static hl__phase5_item memory(const sides *standard, const sides *progressive) {
  hl__phase5_item i = item("Peak memory", "< 2000 MB", "MB");
  const hl__phase5_side *all[] = {&standard->baseline, &standard->optimised, &progressive->baseline,
                                  &progressive->optimised};
  for (size_t k = 0; k < HL_COUNT(all); k++)
    i.value = fmax(i.value, hl__phase5_largest(all[k], "memory_mb"));
  if (!isnan(i.value)) i.passed = i.value < 2000;
  snprintf(i.sentence, sizeof i.sentence, "%s",
           isnan(i.value) ? "no row says it" : "the largest of any row, the whole process");
  return i;
}

/* Intervals of the repetitions agree if each two overlap: there is a value within all of them. */
static hl__phase5_item reproducible(const hl_report_input *input, const sides *s) {
  hl__phase5_item i =
      item("Reproducible", "3 repetitions whose intervals of the speed-up overlap", "");
  hl__phase5_ratio each[HL__PHASE5_ROWS];
  size_t count = 0;
  hl__phase5_compare_sides(input, &s->baseline, &s->optimised, each, &count);
  double low = (double)NAN, high = (double)NAN, least = (double)NAN, most = (double)NAN;
  size_t known = 0;
  for (size_t k = 0; k < count; k++) {
    least = fmin(least, each[k].value);
    most = fmax(most, each[k].value);
    if (isnan(each[k].low) || isnan(each[k].high)) continue;
    low = fmax(low, each[k].low);
    high = fmin(high, each[k].high);
    known++;
  }
  i.value = (double)count;
  if (known >= 3 && known == count) i.passed = low <= high;
  if (i.passed >= 0)
    snprintf(i.sentence, sizeof i.sentence, "speed-ups from %.3gx to %.3gx, %.2g %% apart; %s",
             least, most, 100 * (most / least - 1),
             i.passed ? "each lies within the others' uncertainty" : "their intervals do not meet");
  else
    snprintf(i.sentence, sizeof i.sentence,
             "%zu of %zu repetitions have an interval; 3 are needed, of 3 pairs or more", known,
             count);
  return i;
}

size_t hl__phase5_check(const hl_report_input *input, hl__phase5_item items[HL__PHASE5_ITEMS]) {
  sides standard, progressive, quality, training;
  select_sides(input, "standard", &standard);
  select_sides(input, "progressive", &progressive);
  select_sides(input, "quality", &quality);
  select_sides(input, "same-training", &training);
  bool several = quality.baseline.count + quality.optimised.count > 0;
  size_t n = 0;
  items[n++] = speed_up(input, &standard, "Speed-up, standard");
  items[n++] = speed_up(input, &progressive, "Speed-up, progressive");
  items[n++] = hit_rate(&progressive, true);
  items[n++] = hit_rate(&standard, false);
  items[n++] = psnr(&standard, "No quality regression, standard");
  const char *of_progressive = "No quality regression, progressive";
  items[n++] = several ? psnr_of_several(&quality, &progressive, of_progressive)
                       : psnr(&progressive, of_progressive);
  items[n++] = same_image(&standard, &progressive);
  if (training.baseline.count + training.optimised.count > 0) items[n++] = same_training(&training);
  items[n++] = memory(&standard, &progressive);
  items[n++] = reproducible(input, &standard);
  return n;
}

static const char *word_of(const hl__phase5_item *i) {
  return i->passed < 0 ? "UNKNOWN" : i->passed ? "PASS" : "FAIL";
}

void hl__phase5_checklist_json(const hl_report_input *input, hl_text *out) {
  hl__phase5_item items[HL__PHASE5_ITEMS];
  size_t count = hl__phase5_check(input, items);
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl__phase5_json_head(input, "checklist", &json);
  hl_json_array(&json, "items");
  for (size_t i = 0; i < count; i++) {
    hl_json_object(&json, NULL);
    hl_json_text(&json, "name", items[i].name);
    hl_json_text(&json, "requirement", items[i].requirement);
    if (items[i].passed < 0)
      hl_json_null(&json, "passed");
    else
      hl_json_bool(&json, "passed", items[i].passed == 1);
    hl_json_real(&json, "value", items[i].value);
    hl_json_pair(&json, "interval", (hl_pair){items[i].low, items[i].high});
    hl_json_text(&json, "unit", items[i].unit);
    hl_json_text(&json, "sentence", items[i].sentence);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

void hl__phase5_checklist_text(const hl_report_input *input, hl_text *out) {
  hl__phase5_item items[HL__PHASE5_ITEMS];
  size_t count = hl__phase5_check(input, items), of[3] = {0};
  hl__phase5_text_head(input, "PRISM phase 5: acceptance checklist", out);
  for (size_t i = 0; i < count; i++) {
    const hl__phase5_item *it = &items[i];
    char value[HL_NUMBER_BYTES], low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
    hl_text_format(out, "[%s] %s: %s", word_of(it), it->name,
                   hl_report_number(it->value, "-", value));
    if (!isnan(it->value) && it->unit[0])
      hl_text_format(out, "%s%s", it->unit[0] == 'x' ? "" : " ", it->unit);
    if (!isnan(it->low) && !isnan(it->high))
      hl_text_format(out, " [%s, %s]", hl_report_number(it->low, "-", low),
                     hl_report_number(it->high, "-", high));
    hl_text_format(out, " (%s)\n", it->requirement);
    if (it->sentence[0]) hl_text_line(out, "       %s", it->sentence);
    of[it->passed + 1]++;
  }
  hl_text_format(out, "\n%zu passed, %zu not passed, %zu not known\n", of[2], of[1], of[0]);
}
