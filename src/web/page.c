#include "web/page.h"

#include "base/json-writer.h"
#include "report/html-page.h"
#include "report/number.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
  const char *address, *title;
} entries[] = {
    {"/", "Runs"}, {"/history", "History"}, {"/compare", "Comparison"}, {"/monitor", "Monitor"}};

static void put_navigation(hl_html *html, const hl__web_frame *frame) {
  hl_html_open(html, "header", "class", "bar", NULL);
  hl_html_element(html, "a", "Skip to the content", "class", "skip", "href", "#content", NULL);
  hl_html_open(html, "nav", "aria-label", "Dashboard", NULL);
  hl_html_element(html, "strong", "hotlap", NULL);
  for (size_t i = 0; i < HL_COUNT(entries); i++) {
    bool here = frame->here && strcmp(frame->here, entries[i].address) == 0;
    if (strcmp(entries[i].address, "/monitor") == 0 && !frame->web->config->monitor) continue;
    hl_html_element(html, "a", entries[i].title, "href", entries[i].address, "aria-current",
                    here ? "page" : NULL, NULL);
  }
  hl_html_element(html, "span", NULL, "id", "live", "role", "status", NULL);
  hl_html_close(html);
  hl_html_close(html);
}

void hl__web_page_begin(hl_html *html, hl__web_answer *answer, const hl__web_frame *frame) {
  answer->type = "text/html; charset=utf-8";
  hl_html_init(html, &answer->body);
  hl_page_head(html, frame->title);
  hl_html_void(html, "link", "rel", "icon", "href", "data:,", NULL);
  hl_html_void(html, "link", "rel", "stylesheet", "href", "/assets/hotlap.css", NULL);
  hl_html_void(html, "link", "rel", "stylesheet", "href", "/assets/dashboard.css", NULL);
  hl_html_close(html);
  hl_html_open(html, "body", NULL);
  put_navigation(html, frame);
  hl_html_open(html, "main", "id", "content", "data-events", frame->events, "data-follow",
               frame->follow, NULL);
}

void hl__web_page_end(hl_html *html, const hl__web_frame *frame) {
  hl_html_close_to(html, 2); /* html and body stay */
  if (frame->has_charts) hl_html_element(html, "script", NULL, "src", "/assets/chart.js", NULL);
  hl_html_element(html, "script", NULL, "src", "/assets/page.js", NULL);
  hl_html_element(html, "script", NULL, "src", "/assets/dashboard.js", NULL);
  hl_html_close_to(html, 0);
  hl_text_char(html->out, '\n');
}

void hl__web_page_refuse(const hl__web *web, hl__web_answer *ret_answer, unsigned status,
                         const char *sentence, bool asks_token) {
  const hl__web_frame frame = {.web = web, .title = asks_token ? "Token" : "No page"};
  hl_html html;
  hl__web_answer_release(ret_answer);
  ret_answer->status = status;
  hl__web_page_begin(&html, ret_answer, &frame);
  hl_html_element(&html, "h1", asks_token ? "Who is asking?" : "This cannot be shown", NULL);
  hl_html_element(&html, "p", sentence, "role", "alert", NULL);
  if (asks_token) {
    hl_html_open(&html, "form", "class", "filter", "action", "/login", NULL);
    hl_html_open(&html, "label", NULL);
    hl_html_text(&html, "Token ");
    hl_html_void(&html, "input", "type", "password", "name", "token", "autocomplete",
                 "current-password", "required", "", NULL);
    hl_html_close(&html);
    hl_html_element(&html, "button", "Go on", NULL);
  }
  hl__web_page_end(&html, &frame);
}

void hl__web_escape(hl_text *address, const char *value) {
  for (const unsigned char *c = (const unsigned char *)value; *c; c++)
    if (isalnum(*c) || strchr("-._~", *c))
      hl_text_char(address, (char)*c);
    else
      hl_text_format(address, "%%%02X", (unsigned)*c);
}

void hl__web_query(hl_text *address, const char *name, const char *value) {
  if (!value) return;
  hl_text_append(address, name);
  hl_text_char(address, '=');
  hl__web_escape(address, value);
  hl_text_char(address, '&');
}

void hl__web_table_begin(hl_html *html, const char *id, const char *caption,
                         const hl__web_column *columns, size_t count) {
  hl_html_open(html, "div", "class", "scroll", NULL);
  hl_html_open(html, "table", "class", "sortable", "id", id, NULL);
  if (caption) hl_html_element(html, "caption", caption, NULL);
  hl_html_open(html, "thead", NULL);
  hl_html_open(html, "tr", NULL);
  for (size_t i = 0; i < count; i++)
    hl_html_element(html, "th", columns[i].title, "scope", "col", "class",
                    columns[i].is_number ? "number" : NULL, NULL);
  hl_html_close(html);
  hl_html_close(html);
  hl_html_open(html, "tbody", NULL);
}

void hl__web_table_end(hl_html *html) {
  for (int i = 0; i < 3; i++) hl_html_close(html);
}

void hl__web_field(hl_html *html, const char *label, const char *name, const char *value,
                   const char *list) {
  hl_html_open(html, "label", NULL);
  hl_html_text(html, label);
  hl_html_text(html, " ");
  hl_html_void(html, "input", "name", name, "value", value, "list", list, NULL);
  hl_html_close(html);
}

void hl__web_number_cell(hl_html *html, double value) {
  char shown[HL_NUMBER_BYTES], exact[32];
  hl_json_format_real(value, exact);
  hl_html_element(html, "td", hl_report_number(value, "-", shown), "class", "number", "data-value",
                  isfinite(value) ? exact : NULL, NULL);
}

void hl__web_int_cell(hl_html *html, int64_t value) {
  char shown[HL_NUMBER_BYTES];
  hl_html_element(html, "td", hl_report_int(value, "-", shown), "class", "number", NULL);
}

void hl__web_run_cell(hl_html *html, const char *id) {
  hl_text address = HL_TEXT_INIT;
  hl_text_append(&address, "/runs/");
  hl__web_escape(&address, id ? id : "-");
  hl_html_open(html, "td", NULL);
  hl_html_element(html, "a", id, "href", address.data, NULL);
  hl_html_close(html);
  hl_text_release(&address);
}

hl_status hl__web_int(const hl_web_target *target, const char *name, int64_t least, int64_t most,
                      int64_t initial, int64_t *ret_value, hl_error *error) {
  const char *text = hl_web_parameter(target, name);
  *ret_value = initial;
  return text ? hl_parse_int(text, least, most, name, ret_value, error) : HL_OK;
}
