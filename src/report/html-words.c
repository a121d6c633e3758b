/* The summary in words of what has none in the report: load tests, training, memory, plans. */
#include "report/html-internal.h"
#include "report/load-rows.h"
#include "report/memory-report.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>

enum { SENTENCES_MOST = 12 };

static void put_number(hl_text *out, const char *before, double value, const char *after) {
  char text[HL_NUMBER_BYTES];
  if (isfinite(value))
    hl_text_format(out, "%s%s%s", before, hl_report_number(value, "", text), after);
}

static void load_sentence(const hl_record *r, hl_text *out) {
  hl_load_append_server(r, out);
  hl_text_format(out, ", %s: ", r->scenario);
  if (isfinite(r->max_qps))
    put_number(out, "holds its target up to ", r->max_qps, " queries/s; ");
  else
    put_number(out, "at ", r->target_qps, " queries/s; ");
  put_number(out, "p50 ", r->latency_p50_ms, " ms");
  put_number(out, ", p99 ", r->latency_p99_ms, " ms");
  if (r->validity) hl_text_format(out, "; %s", r->validity);
  if (r->validity_reason) hl_text_format(out, ": %s", r->validity_reason);
}

static void training_sentence(const hl_record *r, hl_text *out) {
  hl_text_format(out, "%s, %s, batch %" PRId64 ": ", r->model ? r->model : "?",
                 r->engine ? r->engine : "?", r->batch_size);
  put_number(out, "", r->throughput_ips, " samples/s");
  put_number(out, ", a step takes ", r->latency_p50_ms, " ms");
  put_number(out, "; loss from ", r->first_loss, "");
  put_number(out, " to ", r->final_loss, "");
  put_number(out, "; ", r->memory_mb, " MB of memory");
  if (r->data_verdict) hl_text_format(out, "; the loader is %s", r->data_verdict);
}

static void memory_sentence(const hl_record *r, hl_text *out) {
  hl__memory_name(r, out);
  put_number(out, ": planned ", r->planned_memory_mb, " MB");
  put_number(out, ", measured ", r->memory_mb, " MB");
  if (r->max_batch_size != HL_INT_NULL)
    hl_text_format(out, "; the largest batch that runs is %" PRId64, r->max_batch_size);
}

static bool sentence_of(const hl_record *r, hl_text *out) {
  if (!hl_record_passed(r)) return false;
  if (r->scenario)
    load_sentence(r, out);
  else if (hl_workload_is_training(r->workload))
    training_sentence(r, out);
  else if (hl_workload_is_memory(r->workload))
    memory_sentence(r, out);
  return out->length > 0;
}

static void group_sentence(const hl_analysis_group *g, hl_text *out) {
  hl_text_format(out, "%s: ", g->name);
  if (g->optimal_point >= g->point_count) {
    hl_text_format(out, "none of %zu row%s passed", g->row_count, g->row_count == 1 ? "" : "s");
    return;
  }
  const hl_analysis_point *p = &g->points[g->optimal_point];
  hl_text_format(out, "batch %" PRId64 "%s: ", p->batch_size, g->point_count > 1 ? " is best" : "");
  put_number(out, "", p->throughput_ips, " images/s");
  put_number(out, ", ", p->latency_ms, " ms a step");
  put_number(out, ", ", p->memory_mb, " MB");
}

typedef struct list {
  hl_html *html;
  size_t count;
} list;

static void put_sentence(list *l, const char *text) {
  if (l->count == 0) {
    hl_html_open(l->html, "section", "id", "summary", NULL);
    hl_html_element(l->html, "h2", "Summary", NULL);
    hl_html_open(l->html, "ul", NULL);
  }
  if (l->count++ < SENTENCES_MOST) hl_html_element(l->html, "li", text, NULL);
}

void hl__html_words(hl_html *html, const hl_report_input *input) {
  list l = {html, 0};
  int before = html->depth;
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < input->records->count; i++) {
    hl_text_clear(&text);
    if (sentence_of(&input->records->items[i], &text)) put_sentence(&l, text.data);
  }
  for (size_t i = 0; input->engines && i < input->engines->count; i++)
    put_sentence(&l, input->engines->models[i].verdict);
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    hl_text_clear(&text);
    if (hl_workload_is_memory(input->analysis->groups[i].workload) ||
        hl_workload_is_training(input->analysis->groups[i].workload))
      continue;
    group_sentence(&input->analysis->groups[i], &text);
    put_sentence(&l, text.data);
  }
  hl_html_close_to(html, l.count ? before + 1 : before);
  if (l.count > SENTENCES_MOST) {
    hl_html_open(html, "p", NULL);
    hl_html_format(html, "And %zu more, below.", l.count - SENTENCES_MOST);
    hl_html_close(html);
  }
  hl_html_close_to(html, before);
  html->out->failed = html->out->failed || text.failed;
  hl_text_release(&text);
}
