#include "data/array.h"
#include "data/scan-layout.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char first_chunk[] = "chunks/0/";

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the parts of a scan");
}

/* "chunks/3/data" of "chunks/0/data". */
static char *name_of_part(const char *name, int part) {
  return hl_format("chunks/%d/%s", part, name + sizeof first_chunk - 1);
}

static bool fits(const hl_tensor_view *all, const hl_npy_header *part) {
  return all->rank > 0 && part->rank == all->rank && part->dtype == all->dtype &&
         memcmp(all->dims + 1, part->dims + 1, (size_t)(all->rank - 1) * sizeof *part->dims) == 0;
}

/* Appends along the first axis. */
static hl_status append(hl_npz *npz, const hl_npz_entry *entry, hl_tensor_view *all,
                        hl_error *error) {
  if (!entry->problem && !fits(all, &entry->header))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: array '%s' has another shape or type than that of the first chunk",
                        hl_npz_name(npz), entry->name);
  hl_tensor_view part;
  hl_status status = hl_npz_read(npz, entry->name, &part, error);
  if (status != HL_OK) return status;
  uint64_t bytes = 0;
  void *data = NULL;
  if (!__builtin_add_overflow(all->bytes, part.bytes, &bytes) && bytes <= SIZE_MAX)
    data = realloc((void *)(uintptr_t)all->data, bytes ? (size_t)bytes : 1);
  if (data) {
    memcpy((char *)data + all->bytes, part.data, (size_t)part.bytes);
    all->data = data;
    all->bytes = bytes;
    all->dims[0] += part.dims[0];
  }
  hl_array_release(&part);
  return data ? HL_OK : no_memory(error);
}

hl_status hl_scan_parts_read(hl_npz *npz, const char *name, hl_tensor_view *ret, int *ret_parts,
                             hl_error *error) {
  hl_tensor_view all;
  hl_status status = hl_npz_read(npz, name, &all, error);
  if (status != HL_OK) return status;
  int parts = 1;
  bool in_parts = strncmp(name, first_chunk, sizeof first_chunk - 1) == 0;
  while (in_parts && status == HL_OK) {
    HL_CLEANUP(hl_free_pointer) char *next = name_of_part(name, parts);
    if (!next) status = no_memory(error);
    const hl_npz_entry *entry = next ? hl_npz_find(npz, next) : NULL;
    if (!entry) break;
    status = append(npz, entry, &all, error);
    parts++;
  }
  if (status != HL_OK) {
    hl_array_release(&all);
    return status;
  }
  *ret = all;
  *ret_parts = parts;
  return HL_OK;
}

/* --- pixels that are no good ------------------------------------------------------------- */

/* Whether the mask is of the patterns' last two axes, or of all of them. */
static bool covers(const hl_tensor_view *mask, const hl_tensor_view *patterns) {
  if (mask->rank != 2 && mask->rank != patterns->rank) return false;
  int32_t from = patterns->rank - mask->rank;
  return from >= 0 &&
         memcmp(mask->dims, patterns->dims + from, (size_t)mask->rank * sizeof *mask->dims) == 0;
}

hl_status hl_scan_layout_mask(const hl_scan_layout *layout, hl_npz *npz, hl_tensor_view *patterns,
                              hl_text *notes, hl_error *error) {
  if (!layout->mask || !hl_npz_find(npz, layout->mask)) return HL_OK;
  hl_tensor_view mask;
  hl_status status = hl_npz_read(npz, layout->mask, &mask, error);
  if (status != HL_OK) return status;
  int64_t count = 0, good = 0, all = 0;
  hl_array_count(mask.rank, mask.dims, &count);
  hl_array_count(patterns->rank, patterns->dims, &all);
  if (!covers(&mask, patterns)) {
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s: array '%s' is not of the shape of the patterns, or of one of them",
                          hl_npz_name(npz), layout->mask);
  } else {
    size_t element = all > 0 ? (size_t)patterns->bytes / (size_t)all : 0;
    char *to = (char *)(uintptr_t)patterns->data;
    for (int64_t i = 0; i < count; i++) {
      if (hl_array_at(&mask, i) == 0) {
        good++;
        continue;
      }
      for (int64_t p = i; p < all; p += count) memset(to + (size_t)p * element, 0, element);
    }
    if (good < count)
      hl_text_format(notes, "; %" PRId64 " of %" PRId64 " pixels are masked: taken as dark",
                     count - good, count);
  }
  hl_array_release(&mask);
  return status;
}
