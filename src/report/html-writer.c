#include "report/html-writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_html_init(hl_html *html, hl_text *out) {
  *html = (hl_html){.out = out};
}

void hl_html_doctype(hl_html *html) {
  hl_text_append(html->out, "<!doctype html>\n");
}

void hl_html_escape(const char *text, hl_text *out) {
  static const char special[] = "&<>\"'";
  static const char *const references[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (const char *at = text; *at;) {
    /* The longest run that stays as it is. */
    size_t plain = 0;
    while (at[plain] >= 0x20 && at[plain] < 0x7F && !strchr(special, at[plain])) plain++;
    hl_text_append_n(out, at, plain);
    at += plain;
    if (!*at) break;
    const char *found = strchr(special, *at);
    if (found) {
      hl_text_append(out, references[found - special]);
      at++;
    } else if (*at == '\n' || *at == '\t') {
      hl_text_char(out, *at++);
    } else {
      size_t control = hl_text_control(at);
      size_t length = control ? 0 : hl_utf8_length((const unsigned char *)at);
      if (length)
        hl_text_append_n(out, at, length);
      else
        hl_text_append(out, "\xEF\xBF\xBD");
      at += length ? length : control ? control : 1;
    }
  }
}

static void attributes(hl_html *html, va_list arguments) {
  for (const char *name; (name = va_arg(arguments, const char *));) {
    const char *value = va_arg(arguments, const char *);
    if (!value) continue;
    hl_text_char(html->out, ' ');
    hl_text_append(html->out, name);
    if (!*value) continue;
    hl_text_append(html->out, "=\"");
    hl_html_escape(value, html->out);
    hl_text_char(html->out, '"');
  }
}

/* Elements before which white space does not show. */
static bool is_block(const char *name) {
  static const char *const blocks[] = {
      "html", "head", "body",    "title",   "meta",    "link",   "script", "style", "header",
      "main", "nav",  "section", "article", "h1",      "h2",     "h3",     "p",     "ul",
      "ol",   "li",   "dl",      "dt",      "dd",      "table",  "thead",  "tbody", "tr",
      "div",  "form", "figure",  "footer",  "details", "caption"};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    if (strcmp(blocks[i], name) == 0) return true;
  return false;
}

static void start(hl_html *html, const char *name, va_list arguments) {
  size_t length = html->out->length;
  if (is_block(name) && length && html->out->data[length - 1] != '\n')
    hl_text_char(html->out, '\n');
  hl_text_char(html->out, '<');
  hl_text_append(html->out, name);
  attributes(html, arguments);
  hl_text_char(html->out, '>');
}

void hl_html_open(hl_html *html, const char *name, ...) {
  va_list arguments;
  va_start(arguments, name);
  start(html, name, arguments);
  va_end(arguments);
  if (html->depth < HL_HTML_MAX_DEPTH)
    html->open[html->depth] = name;
  else
    html->out->failed = true;
  html->depth++;
}

void hl_html_close(hl_html *html) {
  if (html->depth == 0) return;
  html->depth--;
  if (html->depth < HL_HTML_MAX_DEPTH) hl_text_format(html->out, "</%s>", html->open[html->depth]);
}

void hl_html_close_to(hl_html *html, int depth) {
  while (html->depth > depth && html->depth > 0) hl_html_close(html);
}

void hl_html_void(hl_html *html, const char *name, ...) {
  va_list arguments;
  va_start(arguments, name);
  start(html, name, arguments);
  va_end(arguments);
}

void hl_html_element(hl_html *html, const char *name, const char *text, ...) {
  va_list arguments;
  va_start(arguments, text);
  start(html, name, arguments);
  va_end(arguments);
  hl_html_text(html, text);
  hl_text_format(html->out, "</%s>", name);
}

void hl_html_text(hl_html *html, const char *text) {
  if (text) hl_html_escape(text, html->out);
}

void hl_html_format(hl_html *html, const char *format, ...) {
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  if (text)
    hl_html_escape(text, html->out);
  else
    html->out->failed = true;
  free(text);
}

void hl_html_json_escape(const char *json, hl_text *out) {
  for (const char *at = json; *at;) {
    size_t plain = strcspn(at, "<>&\xE2");
    hl_text_append_n(out, at, plain);
    at += plain;
    if (!*at) break;
    /* U+2028 and U+2029, which ended a line of a script before ES2019. */
    if ((unsigned char)*at == 0xE2) {
      bool line_end = at[1] == '\x80' && (at[2] == '\xA8' || at[2] == '\xA9');
      if (line_end)
        hl_text_append(out, at[2] == '\xA8' ? "\\u2028" : "\\u2029");
      else
        hl_text_char(out, *at);
      at += line_end ? 3 : 1;
    } else {
      hl_text_format(out, "\\u%04x", (unsigned)*at++);
    }
  }
}

void hl_html_json(hl_html *html, const char *id, const char *json) {
  hl_html_open(html, "script", "type", "application/json", "id", id, NULL);
  hl_html_json_escape(json, html->out);
  hl_html_close(html);
}

void hl_html_asset(hl_html *html, const hl_asset *asset) {
  hl_html_open(html, strcmp(asset->type, "text/css") == 0 ? "style" : "script", NULL);
  hl_text_append_n(html->out, asset->data, asset->length);
  hl_html_close(html);
}
