/*
 * report/history.h - what `hotlap history MODEL` found: tables, JSON, a picture, the text of an
 * issue.
 *
 *     hl_report_history report = {.history = &history, .limit = 20};
 *     hl_report_history_text(&report, &text);
 */
#ifndef HL_REPORT_HISTORY_H
#define HL_REPORT_HISTORY_H

#include "analyse/history.h"
#include "report/plot.h"

typedef struct hl_report_history {
  const hl_history *history;
  const char *machine_id; /* of this machine: only here a change of its series can be confirmed */
  const char *arguments; /* further ones of a confirming command, quoted: "--build make"; or NULL */
  bool by_command;       /* among them is what runs in both commits: sides have no configuration */
  int64_t limit;         /* of the table: so many of the newest points; 0: all */
} hl_report_history;

/* Tables of at most 100 columns, and the changes. Appended. */
void hl_report_history_text(const hl_report_history *r, hl_text *out);

/* Members "metric", "unit", "better", "rows" and "series" of the object that is open in `json`. */
void hl_report_history_json(const hl_report_history *r, hl_json *json);

/* Markdown for an issue: a section for each change to the worse that no rerun refuted. */
void hl_report_history_issue(const hl_report_history *r, hl_text *out);

/* Writes history_KEY.json, .md (the issue), .png and .svg, as `formats` says (HL_REPORT_JSON,
 * _MARKDOWN, _PLOT), into a directory that is made where it is missing; their paths are appended to
 * `ret_written` (may be NULL), one a line. UNAVAILABLE when all went well but for the plots. */
hl_status hl_report_history_write(const hl_report_history *r, const char *directory,
                                  unsigned formats, hl_text *ret_written, hl_error *error);

/* Appends at most `most` bytes of a text of the store; control characters become spaces, as they
 * would disturb a terminal or a page. NULL: "-". */
void hl__history_append_clean(hl_text *out, const char *text, size_t most);
/* "git:COMMIT CONFIGURATION", an operand of hotlap compare. */
void hl_report_history_side(const hl_report_history *r, const hl_history_series *s,
                            const hl_history_point *p, hl_text *out);
/* The command that measures both commits of a change in turns. */
void hl_report_history_command(const hl_report_history *r, const hl_history_series *s,
                               const hl_history_change *change, hl_text *out);

#endif
