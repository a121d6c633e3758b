#include "base/json-writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_json_init(hl_json *json, hl_text *out, hl_json_style style) {
  *json = (hl_json){.out = out, .style = style};
}

static void new_line(hl_json *json) {
  if (json->style != HL_JSON_PRETTY) return;
  hl_text_char(json->out, '\n');
  for (int i = 0; i < json->depth; i++) hl_text_append(json->out, "  ");
}

static bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static void quote(hl_text *out, const char *value) {
  hl_text_char(out, '"');
  for (const unsigned char *s = (const unsigned char *)value; *s;) {
    size_t plain = 0;
    while (is_plain(s[plain])) plain++;
    hl_text_append_n(out, (const char *)s, plain);
    s += plain;
    if (!*s) break;
    const char *short_form = strchr("\"\\\n\t\r", *s);
    if (short_form) {
      hl_text_char(out, '\\');
      hl_text_char(out, "\"\\ntr"[short_form - strchr("\"\\\n\t\r", '"')]);
      s++;
      continue;
    }
    if (*s < 0x20 || *s == 0x7F) {
      hl_text_format(out, "\\u%04x", *s++);
    } else {
      size_t n = hl_utf8_length(s);
      if (n && hl_text_control((const char *)s)) /* C1, which a terminal may obey */
        hl_text_format(out, "\\u%04x", s[1]);
      else if (n)
        hl_text_append_n(out, (const char *)s, n);
      else
        hl_text_append(out, "\xEF\xBF\xBD");
      s += n ? n : 1;
    }
  }
  hl_text_char(out, '"');
}

static void begin_value(hl_json *json, const char *key) {
  if (json->depth > 0) {
    bool *has_item = &json->has_item[json->depth - 1];
    if (*has_item) hl_text_char(json->out, ',');
    *has_item = true;
    new_line(json);
  }
  if (!key) return;
  quote(json->out, key);
  hl_text_append(json->out, json->style == HL_JSON_PRETTY ? ": " : ":");
}

static void open_scope(hl_json *json, const char *key, bool is_array) {
  begin_value(json, key);
  hl_text_char(json->out, is_array ? '[' : '{');
  if (json->depth == HL_JSON_MAX_DEPTH) {
    json->out->failed = true;
    return;
  }
  json->is_array[json->depth] = is_array;
  json->has_item[json->depth] = false;
  json->depth++;
}

void hl_json_object(hl_json *json, const char *key) {
  open_scope(json, key, false);
}

void hl_json_array(hl_json *json, const char *key) {
  open_scope(json, key, true);
}

void hl_json_end(hl_json *json) {
  if (json->depth == 0) return;
  json->depth--;
  if (json->has_item[json->depth]) new_line(json);
  hl_text_char(json->out, json->is_array[json->depth] ? ']' : '}');
}

void hl_json_text(hl_json *json, const char *key, const char *value) {
  begin_value(json, key);
  if (value)
    quote(json->out, value);
  else
    hl_text_append(json->out, "null");
}

void hl_json_int(hl_json *json, const char *key, int64_t value) {
  begin_value(json, key);
  hl_text_format(json->out, "%" PRId64, value);
}

/* Digits of a number but for zeros at either end. */
static int significant_digits(const char *text) {
  int count = 0, kept = 0;
  for (const char *c = text; *c && *c != 'e'; c++) {
    if (*c < '0' || *c > '9' || (*c == '0' && count == 0)) continue;
    count++;
    if (*c != '0') kept = count;
  }
  return kept;
}

/* `count` digits as %g shows them where none is a zero that it would leave out. */
static void format_digits(bool negative, uint64_t digits, int count, int exponent, char *text) {
  char all[20];
  bool scientific = exponent < -4 || exponent >= count;
  int before = scientific ? 1 : exponent + 1; /* digits before the point */
  for (int i = count; i-- > 0; digits /= 10) all[i] = (char)('0' + digits % 10);
  if (negative) *text++ = '-';
  if (before <= 0) {
    *text++ = '0';
    *text++ = '.';
    for (; before < 0; before++) *text++ = '0';
  }
  for (int i = 0; i < count; i++) {
    if (i > 0 && i == before) *text++ = '.';
    *text++ = all[i];
  }
  *text = '\0';
  if (scientific) snprintf(text, 8, "e%+03d", exponent % 1000);
}

/*
 * Of a number that fewer than 16 digits cannot tell, as most that were measured: its 17 digits are
 * asked for once, and of them come the 16. False for other numbers, and where the 17th is a 5 and
 * does not say how to round. Half of the step to the next double is at most 11.2 units of the 17th
 * digit (10^17 / 2^53), which is half a unit off itself: beyond that 15 digits read back otherwise.
 */
static bool format_long(double value, char *text) {
  enum { NEAR = 12 };
  char shown[32];
  snprintf(shown, sizeof shown, "%.16e", value);
  const char *at = shown + (shown[0] == '-');
  bool negative = at != shown;
  uint64_t digits = (uint64_t)(at[0] - '0');
  for (int i = 2; i < 18; i++) digits = 10 * digits + (uint64_t)(at[i] - '0');
  int exponent = (int)strtol(at + 19, NULL, 10);
  uint64_t last_two = digits % 100, last = digits % 10;
  if (last == 5 || last_two == 50) return false;
  if (last_two <= NEAR || last_two >= 100 - NEAR) {
    format_digits(negative, (digits + 50) / 100, 15, exponent, text);
    if (digits >= 99999999999999950 || strtod(text, NULL) == value) return false;
  }
  format_digits(negative, (digits + 5) / 10, 16, exponent, text);
  if (strtod(text, NULL) != value) format_digits(negative, digits, 17, exponent, text);
  return true;
}

/*
 * As the first of %.6g to %.17g that reads back equal. Fifteen digits survive the way through a
 * normal double, so if they read back equal no shorter number is another one, and if they do not no
 * shorter one does.
 */
void hl_json_format_real(double value, char ret_text[32]) {
  if (!isfinite(value)) {
    memcpy(ret_text, "null", 5);
    return;
  }
  char text[32];
  int digits = 6;
  if (isnormal(value)) {
    if (format_long(value, ret_text)) return;
    snprintf(text, sizeof text, "%.15g", value);
    digits = strtod(text, NULL) == value ? significant_digits(text) : 16;
    if (digits < 6) digits = 6;
  }
  for (; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (digits == 17 || strtod(text, NULL) == value) break;
  }
  memcpy(ret_text, text, sizeof text);
}

void hl_json_real(hl_json *json, const char *key, double value) {
  char text[32];
  hl_json_format_real(value, text);
  begin_value(json, key);
  hl_text_append(json->out, text);
}

void hl_json_bool(hl_json *json, const char *key, bool value) {
  begin_value(json, key);
  hl_text_append(json->out, value ? "true" : "false");
}

void hl_json_null(hl_json *json, const char *key) {
  begin_value(json, key);
  hl_text_append(json->out, "null");
}

void hl_json_lines(hl_json *json, const char *key, const char *text) {
  hl_text line = HL_TEXT_INIT;
  hl_json_array(json, key);
  for (const char *at = text ? text : ""; *at;) {
    size_t length = strcspn(at, "\n");
    hl_text_clear(&line);
    hl_text_append_n(&line, at, length);
    hl_json_text(json, NULL, line.data);
    at += length + (at[length] == '\n');
  }
  hl_json_end(json);
  json->out->failed = json->out->failed || line.failed;
  hl_text_release(&line);
}
