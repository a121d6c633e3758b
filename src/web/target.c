#include "web/target.h"

#include "base/text.h"
#include <ctype.h>
#include <string.h>

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Decodes in place; false for a bad escape, or text that is not to be had. */
static bool decode(char *text, bool plus) {
  char *to = text;
  for (const char *from = text; *from; from++) {
    char c = *from;
    if (c == '+' && plus) c = ' ';
    if (c == '%') {
      int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
      if (low < 0) return false;
      c = (char)(high * 16 + low);
      from += 2;
    }
    if (c == '\0') return false;
    *to++ = c;
  }
  *to = '\0';
  if (!hl_utf8_valid(text)) return false;
  for (const char *c = text; *c; c++)
    if (hl_text_control(c)) return false;
  return true;
}

static bool add_segment(hl_web_target *t, char *segment, const char **ret_reason) {
  if (t->segment_count == HL_WEB_SEGMENTS) {
    *ret_reason = "the path has too many parts";
    return false;
  }
  if (!decode(segment, false)) {
    *ret_reason = "the path has a bad escape, or is not UTF-8";
    return false;
  }
  if (!segment[0] || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0) {
    *ret_reason = "the path has an empty part, '.' or '..'";
    return false;
  }
  t->segments[t->segment_count++] = segment;
  return true;
}

static bool split_path(hl_web_target *t, char *path, const char **ret_reason) {
  while (*path) {
    char *end = strchr(path, '/');
    if (end) *end = '\0';
    if (!add_segment(t, path, ret_reason)) return false;
    if (!end) return true;
    path = end + 1; /* a '/' at the end is none of a part's */
  }
  return true;
}

static bool add_parameter(hl_web_target *t, char *name, const char **ret_reason) {
  char *value = strchr(name, '=');
  if (value)
    *value++ = '\0';
  else
    value = name + strlen(name);
  if (!decode(name, true) || !decode(value, true)) {
    *ret_reason = "a parameter has a bad escape, or is not UTF-8";
    return false;
  }
  for (size_t i = 0; i < t->parameter_count; i++)
    if (strcmp(t->parameters[i].name, name) == 0) {
      *ret_reason = "a parameter is given twice";
      return false;
    }
  if (t->parameter_count == HL_WEB_PARAMETERS) {
    *ret_reason = "there are too many parameters";
    return false;
  }
  t->parameters[t->parameter_count++] = (hl_web_parameter_pair){name, value};
  return true;
}

static bool split_parameters(hl_web_target *t, char *query, const char **ret_reason) {
  while (*query) {
    char *end = strchr(query, '&');
    if (end) *end = '\0';
    if (*query && !add_parameter(t, query, ret_reason)) return false;
    if (!end) return true;
    query = end + 1;
  }
  return true;
}

bool hl_web_target_parse(const char *uri, hl_web_target *ret_target, const char **ret_reason) {
  size_t length = strnlen(uri, HL_WEB_URI + 1);
  ret_target->segment_count = ret_target->parameter_count = 0;
  *ret_reason = length > HL_WEB_URI ? "the target is too long" : "the target is no path";
  if (length > HL_WEB_URI || uri[0] != '/' || strchr(uri, '#')) return false;
  memcpy(ret_target->text, uri, length + 1);
  char *query = strchr(ret_target->text, '?');
  if (query) *query++ = '\0';
  return split_path(ret_target, ret_target->text + 1, ret_reason) &&
         (!query || split_parameters(ret_target, query, ret_reason));
}

const char *hl_web_parameter(const hl_web_target *target, const char *name) {
  for (size_t i = 0; i < target->parameter_count; i++)
    if (strcmp(target->parameters[i].name, name) == 0)
      return target->parameters[i].value[0] ? target->parameters[i].value : NULL;
  return NULL;
}

/* The end of an address in brackets, or of a name. */
static const char *name_end(const char *header) {
  if (header[0] == '[') {
    const char *end = header + 1 + strspn(header + 1, "0123456789abcdefABCDEF:.");
    return end > header + 1 && *end == ']' ? end + 1 : header;
  }
  const char *end = header;
  while (isalnum((unsigned char)*end) || (*end && strchr("-._", *end))) end++;
  return end;
}

bool hl_web_host_parse(const char *header, char *ret_name, size_t size) {
  const char *end = name_end(header);
  size_t length = (size_t)(end - header);
  if (length == 0 || length >= size) return false;
  if (*end == ':') {
    size_t digits = strspn(end + 1, "0123456789");
    if (digits > 5 || end[1 + digits]) return false;
  } else if (*end) {
    return false;
  }
  for (size_t i = 0; i < length; i++) ret_name[i] = (char)tolower((unsigned char)header[i]);
  ret_name[length] = '\0';
  return true;
}

bool hl_web_cookie_find(const char *header, const char *name, const char **ret_value,
                        size_t *ret_length) {
  size_t wanted = strlen(name);
  for (const char *at = header; *at;) {
    at += strspn(at, " \t;");
    size_t length = strcspn(at, ";");
    if (length > wanted && at[wanted] == '=' && memcmp(at, name, wanted) == 0) {
      *ret_value = at + wanted + 1;
      *ret_length = length - wanted - 1;
      return true;
    }
    at += length;
  }
  return false;
}

bool hl_web_secret_same(const char *given, size_t length, const char *secret) {
  size_t wanted = strlen(secret);
  unsigned char difference = length != wanted;
  for (size_t i = 0; i < length; i++)
    difference |= (unsigned char)(given[i] ^ secret[wanted ? i % wanted : 0]);
  return difference == 0;
}
