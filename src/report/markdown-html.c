#include "report/markdown-html.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS_MOST = 64, LONG_CELL = 40 }; /* bytes of a text that needs a wide column */

typedef struct reader {
  hl_html *html;
  const char *prefix; /* of ids */
  int base;           /* elements open outside */
  hl_text scratch;
} reader;

/* ---- within a line ---- */

static void put_plain(reader *r) {
  hl_html_text(r->html, r->scratch.data);
  hl_text_clear(&r->scratch);
}

/* A code span at `at`; returns its bytes, 0 where there is none before `end`. */
static size_t put_code(reader *r, const char *at, const char *end) {
  size_t ticks = strspn(at, "`");
  const char *body = at + ticks, *close = body;
  while (close < end) {
    size_t run = strspn(close, "`");
    if (run == ticks) break;
    close += run ? run : 1;
  }
  if (close >= end) return 0;
  size_t length = (size_t)(close - body);
  if (length > 2 && *body == ' ' && body[length - 1] == ' ' &&
      (body[1] == '`' || body[length - 2] == '`')) {
    body++;
    length -= 2;
  }
  put_plain(r);
  hl_text code = HL_TEXT_INIT;
  for (size_t i = 0; i < length; i++) {
    bool bar = body[i] == '\\' && i + 1 < length && body[i + 1] == '|';
    if (!bar) hl_text_char(&code, body[i]);
  }
  hl_html_element(r->html, "code", code.data, NULL);
  hl_text_release(&code);
  return (size_t)(close - at) + ticks;
}

/* A reference to one of < > &; returns its bytes, 0 where there is none. */
static size_t take_reference(reader *r, const char *at) {
  static const struct {
    const char *name, character;
  } references[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}};
  for (size_t i = 0; i < HL_COUNT(references); i++) {
    size_t length = strlen(references[i].name);
    if (strncmp(at, references[i].name, length) != 0) continue;
    hl_text_char(&r->scratch, references[i].character);
    return length;
  }
  return 0;
}

static void put_inline(reader *r, const char *at, const char *end) {
  bool bold = false;
  while (at < end) {
    size_t taken = 0;
    if (*at == '\\' && at + 1 < end && ispunct((unsigned char)at[1])) {
      hl_text_char(&r->scratch, at[1]);
      taken = 2;
    } else if (*at == '`') {
      taken = put_code(r, at, end);
    } else if (*at == '&') {
      taken = take_reference(r, at);
    } else if (*at == '*' && at + 1 < end && at[1] == '*') {
      put_plain(r);
      if (bold)
        hl_html_close(r->html);
      else
        hl_html_open(r->html, "strong", NULL);
      bold = !bold;
      taken = 2;
    }
    if (!taken) {
      hl_text_char(&r->scratch, *at);
      taken = 1;
    }
    at += taken;
  }
  put_plain(r);
  if (bold) hl_html_close(r->html);
}

/* ---- lines ---- */

static const char *end_of_line(const char *at) {
  return at + strcspn(at, "\n");
}

static const char *next_line(const char *at) {
  at = end_of_line(at);
  return *at ? at + 1 : at;
}

static const char *trimmed_end(const char *at, const char *end) {
  while (end > at && end[-1] == ' ') end--;
  return end;
}

/* "Failed Rows" -> "failed-rows" */
static void slug(const char *at, const char *end, hl_text *out) {
  bool gap = false, begun = false;
  for (; at < end; at++) {
    if (isascii((unsigned char)*at) && isalnum((unsigned char)*at)) {
      if (gap && begun) hl_text_char(out, '-');
      hl_text_char(out, (char)tolower((unsigned char)*at));
      gap = false;
      begun = true;
    } else {
      gap = true;
    }
  }
}

static void put_heading(reader *r, const char *at) {
  static const char *const names[] = {"h2", "h3", "h4"};
  size_t level = strspn(at, "#");
  const char *end = end_of_line(at), *words = at + level + strspn(at + level, " ");
  if (level == 1) return;
  if (level == 2) {
    hl_html_close_to(r->html, r->base);
    hl_text id = HL_TEXT_INIT;
    hl_text_append(&id, r->prefix);
    slug(words, end, &id);
    hl_html_open(r->html, "section", "id", id.length ? id.data : NULL, NULL);
    hl_text_release(&id);
  }
  hl_html_open(r->html, names[level > 4 ? 2 : level - 2], NULL);
  put_inline(r, words, trimmed_end(words, end));
  hl_html_close(r->html);
}

/* The bar that ends the cell which begins at `at`; an escaped one does not, also within code. */
static const char *cell_end(const char *at, const char *end) {
  while (at < end && *at != '|') at += *at == '\\' && at + 1 < end ? 2 : 1;
  return at < end ? at : end;
}

static size_t table_width(const char *line, bool *ret_numbers) {
  const char *end = trimmed_end(line, end_of_line(line));
  size_t width = 0;
  for (const char *at = line + 1; at < end && width < COLUMNS_MOST; width++) {
    const char *close = cell_end(at, end);
    ret_numbers[width] = close > at && close[-1] == ':';
    at = close + 1;
  }
  return width;
}

static void put_row(reader *r, const char *line, const char *element, const bool *numbers,
                    size_t width) {
  const char *end = trimmed_end(line, end_of_line(line)), *at = line + 1;
  bool head = strcmp(element, "th") == 0;
  hl_html_open(r->html, "tr", NULL);
  for (size_t i = 0; i < width; i++) {
    const char *close = at < end ? cell_end(at, end) : end;
    while (at < close && *at == ' ') at++;
    const char *kind = numbers[i] ? "number" : close - at > LONG_CELL ? "long" : NULL;
    hl_html_open(r->html, element, "class", kind, "scope", head ? "col" : NULL, NULL);
    if (at < close) put_inline(r, at, trimmed_end(at, close));
    hl_html_close(r->html);
    at = close < end ? close + 1 : end;
  }
  hl_html_close(r->html);
}

static bool is_rule(const char *line) {
  return *line == '|' && strspn(line, "|-: ") == strcspn(line, "\n") && strstr(line, "--");
}

/* A table at `line`, whose second line is the rule; returns what follows. */
static const char *put_table(reader *r, const char *line) {
  bool numbers[COLUMNS_MOST] = {false};
  size_t width = table_width(next_line(line), numbers);
  hl_html_open(r->html, "div", "class", "scroll", NULL);
  hl_html_open(r->html, "table", "class", "sortable", NULL);
  hl_html_open(r->html, "thead", NULL);
  put_row(r, line, "th", numbers, width);
  hl_html_close(r->html);
  hl_html_open(r->html, "tbody", NULL);
  line = next_line(next_line(line));
  for (; *line == '|'; line = next_line(line)) put_row(r, line, "td", numbers, width);
  hl_html_close_to(r->html, r->html->depth - 3);
  return line;
}

static const char *put_list(reader *r, const char *line) {
  bool inner = false;
  hl_html_open(r->html, "ul", NULL);
  for (bool first = true;; first = false) {
    bool nested = strncmp(line, "  - ", 4) == 0;
    if (!nested && strncmp(line, "- ", 2) != 0) break;
    if (nested && !inner && !first)
      hl_html_open(r->html, "ul", NULL);
    else if (!first)
      hl_html_close(r->html);                                            /* the item before */
    if (!nested && inner) hl_html_close_to(r->html, r->html->depth - 2); /* the list and its item */
    inner = nested && !first;
    hl_html_open(r->html, "li", NULL);
    const char *words = line + (nested ? 4 : 2), *end = end_of_line(words);
    put_inline(r, words, trimmed_end(words, end));
    line = next_line(line);
  }
  hl_html_close_to(r->html, r->html->depth - (inner ? 4 : 2));
  return line;
}

static const char *put_fence(reader *r, const char *line) {
  hl_html_open(r->html, "pre", "tabindex", "0", NULL);
  hl_html_open(r->html, "code", NULL);
  for (line = next_line(line); *line && strncmp(line, "```", 3) != 0; line = next_line(line)) {
    hl_text_append_n(&r->scratch, line, strcspn(line, "\n"));
    hl_text_char(&r->scratch, '\n');
  }
  put_plain(r);
  hl_html_close_to(r->html, r->html->depth - 2);
  return next_line(line);
}

static const char *put_paragraph(reader *r, const char *line) {
  hl_html_open(r->html, "p", NULL);
  for (bool first = true; *line && *line != '\n' && (first || !strchr("#|", *line));
       first = false) {
    const char *end = end_of_line(line);
    if (!first) hl_html_text(r->html, "\n");
    put_inline(r, line, trimmed_end(line, end));
    line = next_line(line);
    if (strncmp(line, "- ", 2) == 0 || strncmp(line, "```", 3) == 0) break;
  }
  hl_html_close(r->html);
  return line;
}

void hl_markdown_html(const char *markdown, const char *prefix, hl_html *html) {
  reader r = {.html = html, .prefix = prefix, .base = html->depth, .scratch = HL_TEXT_INIT};
  for (const char *line = markdown; *line;) {
    if (*line == '\n') {
      line++;
    } else if (*line == '#') {
      put_heading(&r, line);
      line = next_line(line);
    } else if (*line == '|' && is_rule(next_line(line))) {
      line = put_table(&r, line);
    } else if (strncmp(line, "- ", 2) == 0 || strncmp(line, "  - ", 4) == 0) {
      line = put_list(&r, line);
    } else if (strncmp(line, "```", 3) == 0) {
      line = put_fence(&r, line);
    } else if (strncmp(line, "![", 2) == 0) {
      line = next_line(line);
    } else {
      line = put_paragraph(&r, line);
    }
  }
  hl_html_close_to(html, r.base);
  html->out->failed = html->out->failed || r.scratch.failed;
  hl_text_release(&r.scratch);
}
