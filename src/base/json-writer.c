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

static void quote(hl_text *out, const char *value) {
  hl_text_char(out, '"');
  for (const unsigned char *s = (const unsigned char *)value; *s;) {
    const char *short_form = strchr("\"\\\n\t\r", *s);
    if (short_form) {
      hl_text_char(out, '\\');
      hl_text_char(out, "\"\\ntr"[short_form - strchr("\"\\\n\t\r", '"')]);
      s++;
      continue;
    }
    if (*s < 0x20 || *s == 0x7F) {
      hl_text_format(out, "\\u%04x", *s++);
    } else if (*s < 0x80) {
      hl_text_char(out, (char)*s++);
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
