/* The document's two benchmarks of caches alone. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include <math.h>
#include <string.h>

typedef struct pair {
  const hl_record *off, *on;
} pair;

/* Rows of one entry, without and with the cache. */
static size_t find_pairs(const hl_report_input *input, const char *entry, const char *cache,
                         pair pairs[HL__PHASE5_ROWS]) {
  hl__phase5_side off, on;
  hl__phase5_select(input->records, entry, "none", &off);
  hl__phase5_select(input->records, entry, cache, &on);
  size_t count = 0;
  for (size_t i = 0; i < off.count; i++)
    for (size_t k = 0; k < on.count; k++)
      if (strcmp(off.rows[i]->entry, on.rows[k]->entry) == 0 &&
          strcmp(off.rows[i]->model, on.rows[k]->model) == 0 && count < HL__PHASE5_ROWS)
        pairs[count++] = (pair){off.rows[i], on.rows[k]};
  return count;
}

/* Of the measurement alone, which is what the cache is of. */
static double measure_ms(const hl_record *r) {
  return r->stage_measure_ms / hl__phase5_samples(r);
}

static void pair_json(const hl_report_input *input, const pair *p, hl_json *json) {
  hl__phase5_ratio whole = hl__phase5_compare(input, p->off, p->on);
  hl_json_object(json, NULL);
  hl_record_json_int(json, "image_size", p->on->image_size);
  hl_json_real(json, "samples", hl__phase5_samples(p->on));
  hl_json_real(json, "measure_off_ms", measure_ms(p->off));
  hl_json_real(json, "measure_on_ms", measure_ms(p->on));
  hl_json_real(json, "measure_ratio", measure_ms(p->off) / measure_ms(p->on));
  hl__phase5_json_ratio(json, "whole_sample", &whole);
  hl_record_json_int(json, "cache_hits", p->on->cache_hits);
  hl_record_json_int(json, "cache_misses", p->on->cache_misses);
  hl_record_json_int(json, "cache_evictions", p->on->cache_evictions);
  hl_json_real(json, "cache_mb", p->on->cache_mb);
  hl_record_json_int(json, "plan_cache_hits", p->on->plan_cache_hits);
  hl_record_json_int(json, "plan_cache_misses", p->on->plan_cache_misses);
  hl_json_real(json, "plan_cache_mb", p->on->plan_cache_mb);
  hl_json_end(json);
}

static void pairs_json(const hl_report_input *input, const char *report, const char *entry,
                       const char *cache, hl_text *out) {
  pair pairs[HL__PHASE5_ROWS];
  size_t count = find_pairs(input, entry, cache, pairs);
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl__phase5_json_head(input, report, &json);
  hl_json_array(&json, "rows");
  for (size_t i = 0; i < count; i++) pair_json(input, &pairs[i], &json);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

void hl__phase5_fft_cache_json(const hl_report_input *input, hl_text *out) {
  pairs_json(input, "fft-cache", "fft-cache", "fft-plan-cache", out);
}

void hl__phase5_measurement_cache_json(const hl_report_input *input, hl_text *out) {
  pairs_json(input, "measurement-cache", "measurement-cache", "measurement-cache", out);
}

void hl__phase5_fft_cache_text(const hl_report_input *input, hl_text *out) {
  pair pairs[HL__PHASE5_ROWS];
  size_t count = find_pairs(input, "fft-cache", "fft-plan-cache", pairs);
  hl__phase5_text_head(input, "FFT plan cache alone", out);
  if (count) hl__phase5_passes_text(pairs[0].on, out);
  static const char *const heads[] = {"image", "off, ms", "on, ms", "ratio",
                                      "hits",  "tables",  "MB",     "whole sample"};
  for (size_t i = 0; i < HL_COUNT(heads); i++) hl_report_pad(out, heads[i], i < 7 ? -10 : -24);
  hl_text_char(out, '\n');
  for (size_t i = 0; i < count; i++) {
    const hl_record *on = pairs[i].on;
    const double off_ms = measure_ms(pairs[i].off), on_ms = measure_ms(on);
    char number[HL_NUMBER_BYTES];
    hl_report_pad(out, hl_report_int(on->image_size, "-", number), -10);
    hl_report_pad(out, hl_report_number(off_ms, "-", number), -10);
    hl_report_pad(out, hl_report_number(on_ms, "-", number), -10);
    hl_report_pad(out, hl_report_number(off_ms / on_ms, "-", number), -10);
    hl_report_pad(out, hl_report_int(on->plan_cache_hits, "-", number), -10);
    hl_report_pad(out, hl_report_int(on->plan_cache_misses, "-", number), -10);
    hl_report_pad(out, hl_report_number(on->plan_cache_mb, "-", number), -10);
    hl_text text = HL_TEXT_INIT;
    hl__phase5_ratio ratio = hl__phase5_compare(input, pairs[i].off, on);
    hl__phase5_ratio_text(&ratio, &text);
    hl_report_pad(out, text.data, -24);
    hl_text_release(&text);
    hl_text_char(out, '\n');
  }
  hl_text_append(out, "\nOff and on: measurement of a sample, four transforms of the whole plane, "
                      "whose tables are\nmade anew or kept. The document expects 1.0-1.2x.\n");
}

void hl__phase5_measurement_cache_text(const hl_report_input *input, hl_text *out) {
  pair p[HL__PHASE5_ROWS];
  size_t count = find_pairs(input, "measurement-cache", "measurement-cache", p);
  hl__phase5_text_head(input, "Measurement cache alone", out);
  for (size_t i = 0; i < count; i++) {
    const hl_record *on = p[i].on;
    double off_ms = measure_ms(p[i].off), on_ms = measure_ms(on);
    char number[HL_NUMBER_BYTES];
    hl__phase5_passes_text(on, out);
    hl_text_format(out, "  Measurement, cache off  %10s samples/s\n",
                   hl_report_number(1e3 / off_ms, "-", number));
    hl_text_format(out, "  Measurement, cache on   %10s samples/s\n",
                   hl_report_number(1e3 / on_ms, "-", number));
    hl_text_format(out, "  Ratio                   %10s\n",
                   hl_report_number(off_ms / on_ms, "-", number));
    hl_text_format(out, "  Hit rate                %10s %%\n",
                   hl_report_number(on->cache_hit_percent, "-", number));
    hl_text_format(out, "  Hits                    %10s\n",
                   hl_report_int(on->cache_hits, "-", number));
    hl_text_format(out, "  Misses                  %10s\n",
                   hl_report_int(on->cache_misses, "-", number));
    hl_text_format(out, "  Evictions               %10s\n",
                   hl_report_int(on->cache_evictions, "-", number));
    hl_text_format(out, "  Size                    %10s MB\n",
                   hl_report_number(on->cache_mb, "-", number));
    hl_text_format(out, "  Image                   %10s pixels a side\n",
                   hl_report_int(on->image_size, "-", number));
    hl_text_append(out, "  Whole sample, generator included: ");
    hl__phase5_ratio ratio = hl__phase5_compare(input, p[i].off, on);
    hl__phase5_ratio_text(&ratio, out);
    hl_text_append(out, "\n\n");
  }
  hl_text_append(out,
                 "The document expects 16x. A measurement has two halves: the truth through the "
                 "new aperture,\nwhich repeats and is kept, and the present reconstruction through "
                 "the cumulative mask, which\nis another picture each time and cannot be. So the "
                 "ratio is 2 at most where both cost the same.\n");
}
