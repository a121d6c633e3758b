#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char hl_text_empty[1] = "";

void hl_text_release(hl_text *text) {
  if (text->data != hl_text_empty) free(text->data);
  *text = (hl_text){.data = hl_text_empty, .cap_bytes = text->cap_bytes};
}

void hl_text_clear(hl_text *text) {
  text->length = 0;
  text->failed = false;
  if (text->data != hl_text_empty) text->data[0] = '\0';
}

static bool reserve(hl_text *text, size_t extra) {
  size_t cap = text->cap_bytes ? text->cap_bytes : HL_TEXT_CAP;
  if (text->failed || extra >= cap - text->length) {
    text->failed = true;
    return false;
  }
  size_t need = text->length + extra + 1;
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 128;
  while (capacity < need) capacity *= 2;
  char *data = realloc(text->data == hl_text_empty ? NULL : text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  data[text->length] = '\0';
  text->data = data;
  text->capacity = capacity;
  return true;
}

void hl_text_append_n(hl_text *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  if (length) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void hl_text_append(hl_text *text, const char *string) {
  hl_text_append_n(text, string, strlen(string));
}

void hl_text_char(hl_text *text, char c) {
  hl_text_append_n(text, &c, 1);
}

static void format_va(hl_text *text, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  if (length < 0) {
    text->failed = true;
  } else if (reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

void hl_text_format(hl_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  format_va(text, format, args);
  va_end(args);
}

void hl_text_line(hl_text *text, const char *format, ...) {
  size_t begin = text->length;
  va_list args;
  va_start(args, format);
  format_va(text, format, args);
  va_end(args);
  if (text->length > begin) text->length = begin + hl_text_blank(text->data + begin, "");
  hl_text_char(text, '\n');
}

void hl_text_wrap(hl_text *text, const char *words, size_t column, size_t indent, size_t width) {
  bool first = true;
  for (const char *word = words + strspn(words, " "); *word; word += strspn(word, " ")) {
    size_t n = strcspn(word, " ");
    if (!first && column + 1 + n > width) {
      hl_text_format(text, "\n%*s", (int)indent, "");
      column = indent;
    } else if (!first) {
      hl_text_char(text, ' ');
      column++;
    }
    hl_text_append_n(text, word, n);
    column += n;
    word += n;
    first = false;
  }
}

char *hl_text_take(hl_text *text) {
  if (text->failed || !reserve(text, 0)) {
    hl_text_release(text);
    return NULL;
  }
  char *data = text->data;
  *text = (hl_text){.data = hl_text_empty, .cap_bytes = text->cap_bytes};
  return data;
}

char *hl_format(const char *format, ...) {
  hl_text text = HL_TEXT_INIT;
  va_list args;
  va_start(args, format);
  format_va(&text, format, args);
  va_end(args);
  return hl_text_take(&text);
}

char *hl_strdup(const char *string) {
  return string ? strdup(string) : NULL;
}

bool hl_text_same(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

void hl_free_pointer(void *pointer_to_pointer) {
  free(*(void **)pointer_to_pointer);
}

size_t hl_edit_distance(const char *given, size_t length, const char *name) {
  size_t row[HL_EDIT_LONGEST + 1], columns = strnlen(name, HL_EDIT_LONGEST);
  if (length > HL_EDIT_LONGEST) length = HL_EDIT_LONGEST;
  for (size_t j = 0; j <= columns; j++) row[j] = j;
  for (size_t i = 1; i <= length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= columns; j++) {
      size_t best = diagonal + (given[i - 1] != name[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[columns];
}

size_t hl_utf8_length(const unsigned char *s) {
  size_t n = s[0] >= 0xC2 && s[0] < 0xE0   ? 2
             : (s[0] & 0xF0) == 0xE0       ? 3
             : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                           : 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if (n == 3 && ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0))) return 0;
  if (n == 4 && ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90))) return 0;
  return n;
}

bool hl_utf8_valid(const char *string) {
  for (const unsigned char *s = (const unsigned char *)string; *s;) {
    size_t n = *s < 0x80 ? 1 : hl_utf8_length(s);
    if (n == 0) return false;
    s += n;
  }
  return true;
}

bool hl_text_ends(const char *string, const char *end) {
  size_t length = strlen(string), tail = strlen(end);
  return length >= tail && strcmp(string + length - tail, end) == 0;
}

size_t hl_text_control(const char *at) {
  const unsigned char *s = (const unsigned char *)at;
  if (*s < 0x80) return (*s && *s < 0x20) || *s == 0x7f ? 1 : 0;
  size_t length = hl_utf8_length(s);
  if (length == 0) return *s < 0xa0 ? 1 : 0;
  return *s == 0xc2 && s[1] < 0xa0 ? 2 : 0;
}

size_t hl_text_blank(char *string, const char *keep) {
  if (!string) return 0;
  char *to = string;
  for (const char *from = string; *from;) {
    size_t control = strchr(keep, *from) ? 0 : hl_text_control(from);
    /* The bytes of a whole character together, or its last ones would be taken for strays. */
    size_t whole = (unsigned char)*from < 0x80 ? 1 : hl_utf8_length((const unsigned char *)from);
    if (whole == 0) whole = 1;
    if (control)
      *to++ = ' ';
    else
      to = (char *)memmove(to, from, whole) + whole;
    from += whole;
  }
  *to = '\0';
  return (size_t)(to - string);
}

hl_status hl_parse_int(const char *string, int64_t min, int64_t max, const char *what,
                       int64_t *ret_value, hl_error *error) {
  char *end = NULL;
  errno = 0;
  long long value = string ? strtoll(string, &end, 10) : 0;
  bool plain = string && (string[0] == '-' || (string[0] >= '0' && string[0] <= '9'));
  if (!plain || end == string || *end != '\0')
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%s: '%s' is not a whole number", what,
                        string ? string : "");
  if (errno == ERANGE || value < min || value > max)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: %s is out of range (%" PRId64 " to %" PRId64 ")", what, string, min,
                        max);
  *ret_value = value;
  return HL_OK;
}

hl_status hl_parse_real(const char *string, double min, double max, const char *what,
                        double *ret_value, hl_error *error) {
  char *end = NULL;
  double value = string ? strtod(string, &end) : 0;
  /* No white space, sign of plus, hexadecimal digits or words, which strtod takes. */
  bool plain = string && string[0] != '+' && string[strspn(string, "0123456789.eE+-")] == '\0';
  if (!plain || end == string || *end != '\0' || !isfinite(value))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%s: '%s' is not a number", what,
                        string ? string : "");
  if (value < min || value > max)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%s: %s is out of range (%g to %g)", what,
                        string, min, max);
  *ret_value = value;
  return HL_OK;
}
