/*
 * web/target.h - the target of a request: "/runs?model=mlp&page=2" -> segments and parameters.
 *
 *     hl_web_target target;
 *     const char *reason;
 *     if (!hl_web_target_parse(uri, &target, &reason)) ... 400, reason ...
 *     const char *model = hl_web_parameter(&target, "model");    NULL: not given, or empty
 *
 * Texts are decoded (%41, and + in parameters), valid UTF-8 without control characters, and live in
 * the target. Also what a request says of host and identity.
 */
#ifndef HL_WEB_TARGET_H
#define HL_WEB_TARGET_H

#include <stdbool.h>
#include <stddef.h>

enum { HL_WEB_URI = 2048, HL_WEB_SEGMENTS = 6, HL_WEB_PARAMETERS = 24 };

typedef struct hl_web_parameter_pair {
  const char *name, *value;
} hl_web_parameter_pair;

typedef struct hl_web_target {
  const char *segments[HL_WEB_SEGMENTS]; /* none of "/" */
  size_t segment_count;
  hl_web_parameter_pair parameters[HL_WEB_PARAMETERS];
  size_t parameter_count;
  char text[HL_WEB_URI + 1];
} hl_web_target;

/* False with a reason (a fixed text) for what is no path with parameters: longer than HL_WEB_URI,
 * another form, empty segments, "." and "..", bad escapes, a name given twice. */
bool hl_web_target_parse(const char *uri, hl_web_target *ret_target, const char **ret_reason);

/* The value of a parameter; NULL where it is not given or empty. */
const char *hl_web_parameter(const hl_web_target *target, const char *name);

/* The name of a Host header, without its port and in small letters: "localhost", "[::1]". False
 * where it is none. */
bool hl_web_host_parse(const char *header, char *ret_name, size_t size);

/* The value of a cookie in a Cookie header; false where there is none. */
bool hl_web_cookie_find(const char *header, const char *name, const char **ret_value,
                        size_t *ret_length);

/* Whether both are the same bytes, in a time that does not tell where they differ. */
bool hl_web_secret_same(const char *given, size_t length, const char *secret);

#endif
