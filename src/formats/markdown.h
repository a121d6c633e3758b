/*
 * formats/markdown.h - text that Markdown shows as it is.
 *
 * Names come from files and people; a pipe must not end a table's cell and an asterisk must not
 * start bold text.
 */
#ifndef HL_FORMATS_MARKDOWN_H
#define HL_FORMATS_MARKDOWN_H

#include "base/text.h"

/* Appends text for a paragraph or a table's cell: special characters escaped, line breaks become
 * spaces. NULL appends an em dash, the report's sign for 'unknown'. */
void hl_markdown_text(hl_text *out, const char *text);

/* Appends a code span that may hold backquotes; for a table's cell too. */
void hl_markdown_code(hl_text *out, const char *text);

#endif
