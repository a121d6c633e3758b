#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
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

void hl_engine_join_lines(char *text) {
  size_t length = strlen(text);
  while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
  for (char *at = text; (at = strchr(at, '\n'));) *at = ' ';
}
