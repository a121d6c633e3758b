/*
 * data/npz.h - the arrays of a file: .npz (a zip of .npy), .npy, either packed with bzip2, and
 * HDF5.
 *
 *     hl_npz *npz;
 *     hl_npz_open("scan.npz.bz2", NULL, &npz, error);
 *     hl_tensor_view diffraction;
 *     hl_npz_read(npz, "diff3d", &diffraction, error);    (native byte order, row-major)
 *     hl_array_release(&diffraction);
 *     hl_npz_free(npz);
 *
 * Files are hostile: every size is bounded before memory is asked for. One bad array does not hide
 * the others: its entry has a `problem`, which reading it returns. An object is not thread-safe.
 */
#ifndef HL_DATA_NPZ_H
#define HL_DATA_NPZ_H

#include "data/npy.h"

typedef struct hl_npz_limits {
  uint64_t file_bytes;     /* of the file itself */
  uint64_t unpacked_bytes; /* of the file a .bz2 holds */
  uint64_t array_bytes;    /* of one array */
  uint64_t entries;        /* members of the zip */
  double ratio; /* unpacked to packed size beyond which an array of over 256 MiB is refused */
} hl_npz_limits;

/* 64 GiB, 16 GiB, 16 GiB, 4096 and 200; used where `limits` is NULL. */
extern const hl_npz_limits hl_npz_default_limits;

typedef struct hl_npz_entry {
  const char *name;      /* without ".npy"; the array of a plain .npy file is called "array"; of
                            HDF5 the path, "entry_1/data_1/data" */
  hl_npy_header header;  /* zero if the header itself is bad */
  uint64_t packed_bytes; /* in the file */
  const char *problem;   /* why it cannot be read, NULL if it can; a whole message */
  hl_status problem_status;
} hl_npz_entry;

typedef struct hl_npz hl_npz;

/* Opens a file. NOT_FOUND, IO, BAD_DATA (not such a file, truncated, repeated names), LIMIT,
 * OUT_OF_MEMORY; messages name the file by the last part of its path. */
hl_status hl_npz_open(const char *path, const hl_npz_limits *limits, hl_npz **ret_npz,
                      hl_error *error);

/* The same for bytes in memory, which must outlive the object and cannot be HDF5. `name` stands in
 * messages. */
hl_status hl_npz_open_memory(const void *data, size_t bytes, const char *name,
                             const hl_npz_limits *limits, hl_npz **ret_npz, hl_error *error);
void hl_npz_free(hl_npz *npz);

const char *hl_npz_name(const hl_npz *npz);      /* as messages call it */
const char *hl_npz_container(const hl_npz *npz); /* "npz", "npy, bzip2", "HDF5", ... */

/* Arrays in the order of the file; members that are no .npy are left out. */
size_t hl_npz_count(const hl_npz *npz);
const hl_npz_entry *hl_npz_at(const hl_npz *npz, size_t index);       /* NULL past the end */
const hl_npz_entry *hl_npz_find(const hl_npz *npz, const char *name); /* NULL if there is none */

/* Reads an array whole; hl_array_release() it. NOT_FOUND (lists what there is), and as open. */
hl_status hl_npz_read(hl_npz *npz, const char *name, hl_tensor_view *ret_array, hl_error *error);

/* Writes arrays (native, row-major, with names) as an .npz that numpy.load reads, deflated if
 * `packed`. Atomic: a reader sees the old file or the new one. The same arrays give the same
 * bytes. IO, INVALID_ARGUMENT (a bad or repeated name, a type numpy has not). */
hl_status hl_npz_write(const char *path, const hl_tensor_view *arrays, size_t count, bool packed,
                       hl_error *error);

#endif
