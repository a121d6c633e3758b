/*
 * base/json-writer.h - streaming JSON into an hl_text.
 *
 *     hl_json json;
 *     hl_json_init(&json, &text, HL_JSON_PRETTY);
 *     hl_json_object(&json, NULL);
 *     hl_json_text(&json, "engine", "native");
 *     hl_json_real(&json, "latency_p50_ms", 1.25);
 *     hl_json_end(&json);
 *
 * `key` is NULL inside an array and for the outermost value. Commas, escapes and indentation are
 * the writer's. Always valid JSON: NaN and infinities become null, invalid UTF-8 becomes U+FFFD.
 * Reals are written with the fewest digits that read back as the same double.
 */
#ifndef HL_BASE_JSON_WRITER_H
#define HL_BASE_JSON_WRITER_H

#include "base/text.h"

enum { HL_JSON_MAX_DEPTH = 32 };
typedef enum hl_json_style { HL_JSON_COMPACT, HL_JSON_PRETTY } hl_json_style;

typedef struct hl_json {
  hl_text *out;
  hl_json_style style;
  int depth;
  bool is_array[HL_JSON_MAX_DEPTH], has_item[HL_JSON_MAX_DEPTH];
} hl_json;

void hl_json_init(hl_json *json, hl_text *out, hl_json_style style);
void hl_json_object(hl_json *json, const char *key);
void hl_json_array(hl_json *json, const char *key);
void hl_json_end(hl_json *json); /* closes the innermost object or array */
void hl_json_text(hl_json *json, const char *key, const char *value); /* NULL writes null */
void hl_json_int(hl_json *json, const char *key, int64_t value);
void hl_json_real(hl_json *json, const char *key, double value);
void hl_json_bool(hl_json *json, const char *key, bool value);
void hl_json_null(hl_json *json, const char *key);

/* An array of the lines of `text`, which may be NULL. */
void hl_json_lines(hl_json *json, const char *key, const char *text);

/* The text of a real as the writer writes it: shortest that reads back equal; "null" for NaN. */
void hl_json_format_real(double value, char ret_text[32]);

#endif
