/*
 * base/error.h - filling hl_error (hotlap/engine.h).
 *
 * Every fallible function returns hl_status and takes `hl_error *error` last. The error is owned by
 * the caller, may be NULL, and is untouched on success. Library code never prints and never exits.
 *
 *     if (fd < 0) return hl_error_errno(error, HL_IO, "cannot open '%s'", path);
 */
#ifndef HL_BASE_ERROR_H
#define HL_BASE_ERROR_H

#include <hotlap/engine.h>

#define HL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HL_CLEANUP(fn) __attribute__((cleanup(fn)))
#define HL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fills `error` (if not NULL) and returns `status`. */
hl_status hl_error_set(hl_error *error, hl_status status, const char *format, ...) HL_PRINTF(3, 4);

/* The same, with errno kept and ": strerror" appended. */
hl_status hl_error_errno(hl_error *error, hl_status status, const char *format, ...)
    HL_PRINTF(3, 4);

/* Puts "context: " before the message already in `error`; returns its status. Where `error` may be
 * NULL, keep the status yourself: without an error there is none to return. */
hl_status hl_error_prefix(hl_error *error, const char *format, ...) HL_PRINTF(2, 3);

/* "OUT_OF_MEMORY" and "out of memory"; never NULL. */
const char *hl_status_name(hl_status status);
const char *hl_status_text(hl_status status);

/* The inverse of hl_status_name; HL_INTERNAL for an unknown name. */
hl_status hl_status_from_name(const char *name);

#endif
