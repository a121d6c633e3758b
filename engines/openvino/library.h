/*
 * engines/openvino/library.h - opens OpenVINO's C library and learns its numbers of element types.
 *
 *     const hl_ov_library *library;
 *     hl_status status = hl_ov_library_open(host, &library, error);
 *     library->api.core_create(&core);
 *
 * Releases 2024.6 to 2026.x. Within them the element types were renumbered once (2025.4, whose own
 * header still has the old numbers), so the numbers are not taken from a header: a tensor of
 * 64 elements is made of each type, and its size tells where the list begins. A library in which
 * the whole list does not fit is refused.
 */
#ifndef HOTLAP_OPENVINO_LIBRARY_H
#define HOTLAP_OPENVINO_LIBRARY_H

#include "api.h"
#include "common/library.h"

typedef struct hl_ov_library {
  hl_ov_api api;
  int first_type;   /* the number of `boolean`, where the list begins */
  char version[64]; /* "openvino 2026.4.1" */
  hl_library file;
} hl_ov_library;

/* Opens the library that `host` (may be NULL) names, or that lies where it usually does. Once: what
 * is open stays so until the process ends, and serves every later call. UNAVAILABLE, with the
 * remedy, if it is not found or of a release that is not supported. */
hl_status hl_ov_library_open(const hl_host *host, const hl_ov_library **ret_library,
                             hl_error *error);

/* The library that is open, or NULL. */
const hl_ov_library *hl_ov_library_current(void);

/* Between the library's numbers and ours. The first is HL_DTYPE_NONE, the second -1, for a type
 * that the other side lacks. */
hl_dtype hl_ov_dtype(const hl_ov_library *library, int type);
int hl_ov_type(const hl_ov_library *library, hl_dtype dtype);

#endif
