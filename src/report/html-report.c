#include "report/html-internal.h"

#include "formats/csv.h"
#include "report/html-pack.h"
#include "report/markdown-html.h"
#include "report/memory-markdown.h"
#include "report/memory-report.h"
#include <string.h>

static bool is_all_memory(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (!hl_workload_is_memory(records->items[i].workload)) return false;
  return records->count > 0;
}

char *hl_report_html_title(const hl_report_input *input) {
  const hl_records *records = input->records;
  if (input->title) return hl_strdup(input->title);
  if (records->count == 0 || !records->items[0].model)
    return hl_format("Run %s", input->info->id ? input->info->id : "without an id");
  for (size_t i = 1; i < records->count; i++)
    if (!hl_text_same(records->items[i].model, records->items[0].model))
      return hl_format("%s and others", records->items[0].model);
  return hl_strdup(records->items[0].model);
}

/* ---- head ---- */

static void put_fact(hl_html *html, const char *title, const char *text) {
  if (!text || !text[0]) return;
  hl_html_open(html, "div", NULL);
  hl_html_element(html, "dt", title, NULL);
  hl_html_element(html, "dd", text, NULL);
  hl_html_close(html);
}

static void put_header(hl_html *html, const hl_report_input *input) {
  const hl_run_info *info = input->info;
  HL_CLEANUP(hl_free_pointer) char *title = hl_report_html_title(input);
  hl_text outcome = HL_TEXT_INIT;
  hl_report_summary(input->records, &outcome);
  hl_html_open(html, "header", NULL);
  hl_html_element(html, "h1", title, NULL);
  if (input->description) hl_html_element(html, "p", input->description, NULL);
  hl_html_open(html, "dl", "class", "facts", NULL);
  put_fact(html, "Result", outcome.data);
  put_fact(html, "Run", info->id);
  put_fact(html, "Measured", info->created);
  put_fact(html, "Machine", info->cpu);
  put_fact(html, "hotlap", info->hotlap_version);
  hl_html_close(html);
  if (info->command) {
    hl_html_open(html, "p", NULL);
    hl_html_text(html, "Command: ");
    hl_html_element(html, "code", info->command, NULL);
    hl_html_close(html);
  }
  hl_html_open(html, "p", "class", "downloads", "hidden", "", NULL);
  hl_html_element(html, "button", "Download JSON", "type", "button", "data-download", "hotlap-data",
                  "data-run", info->id, NULL);
  hl_html_element(html, "button", "Download CSV", "type", "button", "data-download", "hotlap-csv",
                  "data-run", info->id, NULL);
  hl_html_close(html);
  hl_html_close(html);
  hl_text_release(&outcome);
}

/* ---- parts ---- */

/* Whatever of `parts` is written stands in one section, which is none where nothing is. */
static void put_charts(hl_html *html, const hl_report_input *input) {
  size_t before = html->out->length;
  hl_html_open(html, "section", "id", "charts", NULL);
  hl_html_element(html, "h2", "Charts", NULL);
  size_t empty = html->out->length;
  hl_html_open(html, "div", "class", "charts", NULL);
  hl__html_charts_load(html, input->records);
  hl__html_charts_training(html, input->records);
  hl__html_charts_memory(html, input->records);
  hl__html_charts_comparisons(html, input->comparisons);
  hl_html_close(html);
  hl__html_arenas(html, input->records);
  hl__html_charts(html, input);
  bool any = strstr(html->out->data + empty, "<figure") != NULL;
  hl_html_close(html);
  if (any) return;
  html->out->length = before;
  html->out->data[before] = '\0';
}

/* What the reports say, in their words. The part up to the second section is the summary, which
 * stands before charts and rows. */
static void put_reports(hl_html *html, const hl_report_input *given) {
  hl_report_input without = *given; /* pictures that lie elsewhere */
  const hl_report_input *input = &without;
  without.picture_count = 0;
  without.description = NULL; /* the head has it */
  hl_text text = HL_TEXT_INIT, summary = HL_TEXT_INIT, memory = HL_TEXT_INIT;
  if (!is_all_memory(input->records)) hl_report_markdown(input, NULL, &text);
  if (hl__memory_is_told(input->records))
    hl__markdown_memory(input, input->memory_layers, "", &memory);
  static const char head[] = "## Executive Summary\n";
  const char *at = strstr(text.data, head), *end = at ? strstr(at + 1, "\n## ") : NULL;
  if (at && end) {
    hl_text_append_n(&summary, at, (size_t)(end + 1 - at));
    hl_markdown_html(summary.data, "", html);
  } else {
    hl__html_words(html, input);
  }
  put_charts(html, input);
  hl__html_pictures(html, input->records);
  hl__html_heat(html, input);
  hl__html_rows(html, input->records);
  hl_markdown_html(at && end ? end + 1 : text.data, "", html);
  hl_markdown_html(memory.data, "memory-", html);
  html->out->failed = html->out->failed || text.failed || summary.failed || memory.failed;
  hl_text_release(&memory);
  hl_text_release(&text);
  hl_text_release(&summary);
}

enum { PACKED_FROM = 256 << 10 }; /* bytes: what is smaller stands as it is, for everybody's eyes */

/* As JSON, since nothing else can stand in a script whatever is in it: the document, and the CSV
 * file as one string; of many rows, which are alike, packed. */
static void put_file(hl_html *html, const char *id, const hl_text *file, char separator) {
  hl_text json = HL_TEXT_INIT;
  hl_json writer;
  bool packed = file->length >= PACKED_FROM;
  if (packed) {
    hl_html_pack(file->data, separator, &json);
  } else if (separator == ',') {
    hl_json_init(&writer, &json, HL_JSON_COMPACT);
    hl_json_text(&writer, NULL, file->data);
  } else {
    hl_text_append_n(&json, file->data, file->length);
  }
  hl_html_open(html, "script", "type", "application/json", "id", id, "data-packed",
               packed ? "" : NULL, NULL);
  hl_html_json_escape(json.data, html->out);
  hl_html_close(html);
  html->out->failed = html->out->failed || json.failed || file->failed;
  hl_text_release(&json);
}

static void put_data(hl_html *html, const hl_report_input *input) {
  hl_text json = HL_TEXT_INIT, csv = HL_TEXT_INIT;
  hl_report_json(input, &json);
  put_file(html, "hotlap-data", &json, '\n');
  hl_csv_write(input->records, HL_CSV_ALL, &csv);
  put_file(html, "hotlap-csv", &csv, ',');
  hl_text_release(&json);
  hl_text_release(&csv);
}

void hl_report_html_body(hl_html *html, const hl_report_input *input) {
  put_header(html, input);
  put_reports(html, input);
  put_data(html, input);
}

void hl_report_html(const hl_report_input *input, hl_text *out) {
  hl_html html;
  HL_CLEANUP(hl_free_pointer) char *title = hl_report_html_title(input);
  const hl_page page = {.title = title, .has_charts = true};
  hl_html_init(&html, out);
  hl_page_begin(&html, &page);
  hl_report_html_body(&html, input);
  hl_page_end(&html, &page);
}
