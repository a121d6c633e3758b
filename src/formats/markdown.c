#include "formats/markdown.h"

#include <string.h>

void hl_markdown_text(hl_text *out, const char *text) {
  if (!text) {
    hl_text_append(out, "—");
    return;
  }
  for (const char *c = text; *c; c++) {
    if (strchr("\r\n\t", *c)) {
      hl_text_char(out, ' ');
      continue;
    }
    if (*c == '<' || *c == '>' || *c == '&') {
      hl_text_append(out, *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : "&amp;");
      continue;
    }
    /* An underscore inside a word is no emphasis in GitHub's Markdown; escaping it hurts names. */
    if (strchr("\\`*[]|~#", *c)) hl_text_char(out, '\\');
    hl_text_char(out, *c);
  }
}

void hl_markdown_code(hl_text *out, const char *text) {
  if (!text || !text[0]) {
    hl_text_append(out, "—");
    return;
  }
  size_t longest = 0, run = 0;
  for (const char *c = text; *c; c++) {
    run = *c == '`' ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  bool pad = text[0] == '`' || text[strlen(text) - 1] == '`';
  for (size_t i = 0; i <= longest; i++) hl_text_char(out, '`');
  if (pad) hl_text_char(out, ' ');
  for (const char *c = text; *c; c++) {
    if (*c == '|') hl_text_char(out, '\\'); /* a table takes this escape out again */
    hl_text_char(out, strchr("\r\n\t", *c) ? ' ' : *c);
  }
  if (pad) hl_text_char(out, ' ');
  for (size_t i = 0; i <= longest; i++) hl_text_char(out, '`');
}
