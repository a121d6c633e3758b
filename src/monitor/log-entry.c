#include "monitor/log-entry.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DECIMALS = 9, FIRST_YEAR = 1970, LAST_YEAR = 2500 };

/* `count` digits and the character behind them. */
static bool field(const char **at, int count, const char *ends, int64_t *ret_value) {
  int64_t value = 0;
  for (int i = 0; i < count; i++, (*at)++) {
    if (!isdigit((unsigned char)**at)) return false;
    value = value * 10 + (**at - '0');
  }
  *ret_value = value;
  if (!**at || !strchr(ends, **at)) return false;
  (*at)++;
  return true;
}

uint64_t hl_log_time_parse(const char *text) {
  int64_t year, month, day, hour, minute, second;
  const char *at = text;
  if (!field(&at, 4, "-", &year) || !field(&at, 2, "-", &month) || !field(&at, 2, "T ", &day) ||
      !field(&at, 2, ":", &hour) || !field(&at, 2, ":", &minute) || !field(&at, 2, ".Z", &second))
    return 0;
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31 ||
      hour > 23 || minute > 59 || second > 60)
    return 0;
  uint64_t ns = 0;
  if (at[-1] == '.') {
    int read = 0;
    for (; isdigit((unsigned char)*at); at++)
      if (read < DECIMALS) {
        ns = ns * 10 + (uint64_t)(*at - '0');
        read++;
      }
    for (; read < DECIMALS; read++) ns *= 10;
    if (*at++ != 'Z') return 0;
  }
  if (*at) return 0;
  struct tm parts = {.tm_year = (int)year - 1900,
                     .tm_mon = (int)month - 1,
                     .tm_mday = (int)day,
                     .tm_hour = (int)hour,
                     .tm_min = (int)minute,
                     .tm_sec = (int)second};
  return (uint64_t)timegm(&parts) * 1000000000u + ns;
}

void hl_log_time_format(uint64_t time_ns, char ret_text[32]) {
  time_t seconds = (time_t)(time_ns / 1000000000u);
  struct tm parts;
  if (!time_ns || !gmtime_r(&seconds, &parts)) {
    snprintf(ret_text, 32, "unknown");
    return;
  }
  strftime(ret_text, 32, "%Y-%m-%d %H:%M:%S", &parts);
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void words(const json_t *object, const char *key, char *ret, size_t size) {
  const char *value = json_string_value(json_object_get(object, key));
  size_t length = value ? strlen(value) : 0;
  if (length >= size) length = size - 1;
  while (length && ((unsigned char)value[length] & 0xC0) == 0x80) length--; /* no half a letter */
  snprintf(ret, size, "%.*s", (int)length, value ? value : "");
}

static bool read_batch_size(const json_t *object, hl_log_entry *entry, char *ret_reason) {
  const json_t *value = json_object_get(object, "batch_size");
  if (!value && entry->event[0]) return true;
  json_int_t size = json_is_integer(value) ? json_integer_value(value) : 0;
  if (size < 1 || size > UINT32_MAX) {
    snprintf(ret_reason, HL_LOG_REASON, "batch_size is %s", value ? "no count" : "missing");
    return false;
  }
  entry->batch_size = (uint32_t)size;
  return true;
}

static bool read_object(const json_t *object, hl_log_entry *entry, char *ret_reason) {
  char time[64];
  *entry = (hl_log_entry){.throughput = number(object, "throughput"),
                          .baseline = number(object, "baseline"),
                          .memory_mb = number(object, "memory_usage"),
                          .elapsed_s = number(object, "elapsed_time"),
                          .slow = number(object, "slow")};
  words(object, "timestamp", time, sizeof time);
  entry->time_ns = hl_log_time_parse(time);
  words(object, "event", entry->event, sizeof entry->event);
  words(object, "message", entry->message, sizeof entry->message);
  if (!read_batch_size(object, entry, ret_reason)) return false;
  json_int_t count = json_integer_value(json_object_get(object, "count"));
  entry->count = count > 0 ? (uint64_t)count : 0;
  if (entry->event[0] || (entry->elapsed_s > 0 && isfinite(entry->elapsed_s))) return true;
  snprintf(ret_reason, HL_LOG_REASON, "elapsed_time is %s",
           json_object_get(object, "elapsed_time") ? "no time above 0" : "missing");
  return false;
}

bool hl_log_entry_parse(const char *line, size_t length, hl_log_entry *ret_entry,
                        char ret_reason[HL_LOG_REASON]) {
  json_error_t problem;
  json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &problem);
  if (!json_is_object(object)) {
    if (object)
      snprintf(ret_reason, HL_LOG_REASON, "no JSON object");
    else
      snprintf(ret_reason, HL_LOG_REASON, "column %d: %.90s", problem.column, problem.text);
    json_decref(object);
    return false;
  }
  hl_log_entry entry;
  bool good = read_object(object, &entry, ret_reason);
  json_decref(object);
  if (good) *ret_entry = entry;
  return good;
}
