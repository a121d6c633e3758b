#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hl_status hl_engine_fail(hl_error *error, hl_status status, const char *format, ...) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  va_list list;
  va_start(list, format);
  vsnprintf(error->msg, sizeof error->msg, format, list);
  va_end(list);
  return status;
}

hl_status hl_engine_fail_whole(const hl_host *host, hl_error *error, hl_status status,
                               const char *format, ...) {
  if (!error) return status;
  va_list list;
  va_start(list, format);
  int length = vsnprintf(error->msg, sizeof error->msg, format, list);
  va_end(list);
  error->status = status;
  error->sys_errno = 0;
  char *whole = length >= (int)sizeof error->msg && HL_HOST_HAS(host, explain)
                    ? malloc((size_t)length + 1)
                    : NULL;
  if (whole) {
    va_start(list, format);
    vsnprintf(whole, (size_t)length + 1, format, list);
    va_end(list);
    hl_engine_join_lines(whole);
    host->explain(whole);
    free(whole);
  }
  hl_engine_join_lines(error->msg);
  return status;
}

void hl_engine_note(const hl_host *host, const char *engine, const char *format, ...) {
  char sentence[512];
  if (!HL_HOST_HAS(host, note)) return;
  va_list list;
  va_start(list, format);
  vsnprintf(sentence, sizeof sentence, format, list);
  va_end(list);
  host->note(engine, sentence);
}

void hl_engine_join_lines(char *text) {
  size_t length = strlen(text);
  while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
  for (char *at = text; (at = strchr(at, '\n'));) *at = ' ';
}
