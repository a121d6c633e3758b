/*
 * base/text.h - a growing string with a cap.
 *
 *     hl_text text = HL_TEXT_INIT;
 *     hl_text_format(&text, "%d rows", n);
 *     puts(text.data);
 *     hl_text_release(&text);
 *
 * `data` is always a terminated string. Appending never fails half-way: beyond the cap or without
 * memory the whole append is dropped and `failed` is set, to be checked once at the end.
 */
#ifndef HL_BASE_TEXT_H
#define HL_BASE_TEXT_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct hl_text {
  char *data;
  size_t length, capacity;
  size_t cap_bytes; /* 0: HL_TEXT_CAP */
  bool failed;
} hl_text;

#define HL_TEXT_CAP ((size_t)256 << 20)
extern char hl_text_empty[1];
#define HL_TEXT_INIT                                                                               \
  { .data = hl_text_empty }

void hl_text_release(hl_text *text); /* back to HL_TEXT_INIT */
void hl_text_clear(hl_text *text);   /* length 0, memory kept */
void hl_text_append(hl_text *text, const char *string);
void hl_text_append_n(hl_text *text, const char *bytes, size_t length);
void hl_text_char(hl_text *text, char c);
void hl_text_format(hl_text *text, const char *format, ...) HL_PRINTF(2, 3);
/* Appends a line and its end, with a space for each control character in it: for names of files and
 * what stands in them, which may hold line ends. */
void hl_text_line(hl_text *text, const char *format, ...) HL_PRINTF(2, 3);
/* Appends `words` with its lines broken at spaces: none longer than `width` unless a single word
 * is; the first begins in column `column`, the others are indented by `indent` spaces. No line end
 * after the last. */
void hl_text_wrap(hl_text *text, const char *words, size_t column, size_t indent, size_t width);
/* Moves the string out (free() it); the text is empty afterwards. NULL if `failed`. */
char *hl_text_take(hl_text *text);

/* snprintf into a fresh string; free() it. NULL without memory. */
char *hl_format(const char *format, ...) HL_PRINTF(1, 2);
/* strdup that maps NULL to NULL. */
char *hl_strdup(const char *string);
/* Whether the strings are equal; NULL, which is not known, is as "". */
bool hl_text_same(const char *a, const char *b);
/* for HL_CLEANUP on a char* or other pointer from malloc */
void hl_free_pointer(void *pointer_to_pointer);

/* Edits (Levenshtein) that turn `length` bytes of `given` into `name`, to find the name that was
 * meant. Of each only the first HL_EDIT_LONGEST bytes count. */
#define HL_EDIT_LONGEST 63
size_t hl_edit_distance(const char *given, size_t length, const char *name);

/* Length of the valid UTF-8 sequence at `s`, whose first byte is above 0x7F; 0 if it is none. */
size_t hl_utf8_length(const unsigned char *s);
bool hl_utf8_valid(const char *string);

bool hl_text_ends(const char *string, const char *end); /* with `end`, which may be all of it */

/* Length of the control character at `at`, 0 if it is none: C0, DEL, C1 in UTF-8, and a stray byte
 * that is C1 in sets of 8 bits. A terminal may obey them. */
size_t hl_text_control(const char *at);
/* In place, a space for each control character that is none of `keep`; returns the new length.
 * Nothing of NULL. What strangers named is not shown without it. */
size_t hl_text_blank(char *string, const char *keep);

/* Strict numbers: the whole string must be one; INVALID_ARGUMENT names `what`. */
hl_status hl_parse_int(const char *string, int64_t min, int64_t max, const char *what,
                       int64_t *ret_value, hl_error *error);
hl_status hl_parse_real(const char *string, double min, double max, const char *what,
                        double *ret_value, hl_error *error);

#endif
