/*
 * run/buffer.h - memory for weights and activations, straight from the system.
 *
 * Each buffer is one mapping: aligned to pages, huge pages advised, every page touched before the
 * call returns, so that running never faults. Allocation failure is HL_OUT_OF_MEMORY.
 */
#ifndef HL_NATIVE_RUN_BUFFER_H
#define HL_NATIVE_RUN_BUFFER_H

#include "base/error.h"

/* What lies in a buffer begins at multiples of this. */
#define HL_NATIVE_ALIGN ((uint64_t)64)

static inline uint64_t hl_native_rounded(uint64_t bytes) {
  return (bytes + HL_NATIVE_ALIGN - 1) / HL_NATIVE_ALIGN * HL_NATIVE_ALIGN;
}

/* What an engine holds, for its `memory` hook. */
typedef struct hl_native_account {
  uint64_t allocated_bytes, peak_bytes;
} hl_native_account;

typedef struct hl_native_buffer {
  void *data; /* NULL for an empty buffer */
  uint64_t bytes;
} hl_native_buffer;

/* Maps and touches `bytes` (0 gives an empty buffer); `what` appears in the message. */
hl_status hl_native_buffer_init(hl_native_buffer *buffer, uint64_t bytes, const char *what,
                                hl_native_account *account, hl_error *error);
void hl_native_buffer_release(hl_native_buffer *buffer, hl_native_account *account);

#endif
