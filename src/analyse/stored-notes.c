/* What a reader of a comparison of stored runs has to know. */
#include "analyse/number.h"
#include "analyse/stored-internal.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl__stored_note(hl_comparison *c, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  hl_text_blank(text, "");
  hl_comparison_note(c, "%s", text);
}

void hl__stored_note_all(hl__stored_comparing *c, const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  hl_text_blank(text, "");
  HL_CLEANUP(hl_free_pointer) char *line = hl_format("%s\n", text);
  if (line && !strstr(c->notes.data, line)) hl_text_append(&c->notes, line);
}

/* The values of "--engine-option" in the command that repeats a row, as they are quoted there. */
static char *engine_options(const hl_record *r) {
  static const char option[] = " --engine-option ";
  hl_text text = HL_TEXT_INIT;
  for (const char *at = r->reproduce; at && (at = strstr(at, option));) {
    at += strlen(option);
    hl_text_append(&text, text.length ? " " : "");
    hl_text_append_n(&text, at, *at == '\'' ? strcspn(at + 1, "'") + 2 : strcspn(at, " "));
    if (text.length > 300) break;
  }
  if (!text.length) hl_text_append(&text, "none");
  return hl_text_take(&text);
}

static void note_versions(hl__stored_comparing *c, const hl_record *a, const hl_record *b) {
  bool same_engine = a->engine && b->engine && strcmp(a->engine, b->engine) == 0;
  hl_text text = HL_TEXT_INIT;
  if (same_engine && a->engine_version && b->engine_version &&
      strcmp(a->engine_version, b->engine_version) != 0)
    hl__stored_differ(&text, "engine version", a->engine_version, b->engine_version);
  if (a->git_commit && b->git_commit && strcmp(a->git_commit, b->git_commit) != 0)
    hl_text_format(&text, "%scommit (%.12s, %.12s)", text.length ? ", " : "", a->git_commit,
                   b->git_commit);
  HL_CLEANUP(hl_free_pointer) char *left = engine_options(a);
  HL_CLEANUP(hl_free_pointer) char *right = engine_options(b);
  if (left && right && strcmp(left, right) != 0)
    hl__stored_differ(&text, "engine options", left, right);
  if (text.length) hl__stored_note_all(c, "different %.500s", text.data);
  hl_text_release(&text);
}

void hl__stored_note_runs(hl__stored_comparing *c) {
  const hl_run_info *a = c->run[0]->info, *b = c->run[1]->info;
  if (a->hotlap_version && b->hotlap_version && strcmp(a->hotlap_version, b->hotlap_version) != 0)
    hl__stored_note_all(c, "different versions of hotlap (%s, %s)", a->hotlap_version,
                        b->hotlap_version);
  for (size_t i = 0; i < c->found.comparisons.count; i++) {
    const hl_record *left = hl__stored_record(c, 0, i), *right = hl__stored_record(c, 1, i);
    note_versions(c, left, right);
    if (hl__stored_is_simulated(left))
      hl__stored_note_all(c, "simulated clock: these times are not measured");
  }
  if (a->id && b->id && strcmp(a->id, b->id) == 0)
    hl__stored_note_all(
        c,
        "rows of one run: where they took turns, `hotlap report %s` has the verdict of "
        "their pairs, which is stronger",
        a->id);
}
