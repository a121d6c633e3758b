#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  const char *text;
} statuses[] = {
#define X(name, text) {#name, text},
    HL_STATUS_MAP(X)
#undef X
};

hl_status hl_error_set(hl_error *error, hl_status status, const char *format, ...) {
  if (!error) return status;
  va_list args;
  va_start(args, format);
  error->status = status;
  error->sys_errno = 0;
  vsnprintf(error->msg, sizeof error->msg, format, args);
  va_end(args);
  return status;
}

hl_status hl_error_errno(hl_error *error, hl_status status, const char *format, ...) {
  int saved = errno;
  if (!error) return status;
  va_list args;
  va_start(args, format);
  error->status = status;
  error->sys_errno = saved;
  vsnprintf(error->msg, sizeof error->msg, format, args);
  va_end(args);
  size_t used = strlen(error->msg);
  snprintf(error->msg + used, sizeof error->msg - used, ": %s", strerror(saved));
  return status;
}

hl_status hl_error_prefix(hl_error *error, const char *format, ...) {
  if (!error) return HL_INTERNAL;
  char old[sizeof error->msg];
  memcpy(old, error->msg, sizeof old);
  va_list args;
  va_start(args, format);
  vsnprintf(error->msg, sizeof error->msg, format, args);
  va_end(args);
  size_t used = strlen(error->msg);
  snprintf(error->msg + used, sizeof error->msg - used, ": %s", old);
  return error->status;
}

const char *hl_status_name(hl_status status) {
  return (size_t)status < HL_COUNT(statuses) ? statuses[status].name : "INTERNAL";
}

const char *hl_status_text(hl_status status) {
  return (size_t)status < HL_COUNT(statuses) ? statuses[status].text : "internal error";
}

hl_status hl_status_from_name(const char *name) {
  for (size_t i = 0; name && i < HL_COUNT(statuses); i++)
    if (strcmp(statuses[i].name, name) == 0) return (hl_status)i;
  return HL_INTERNAL;
}
