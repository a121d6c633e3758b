/*
 * data/hdf5.h - HDF5 files, read by a process of their own (src/worker/hdf5-reader.c).
 *
 *     hl_text list = HL_TEXT_INIT;
 *     hl_hdf5_list("scan.cxi", "scan.cxi", &list, error);         // lines, as described there
 *     hl_hdf5_read("scan.cxi", "entry_1/data_1/data", what, bytes, array.data, error);
 *
 * A file that makes libhdf5 fail, hang or crash gives an error. data/npz.h opens such files as it
 * opens others; use that. Thread-safe.
 */
#ifndef HL_DATA_HDF5_H
#define HL_DATA_HDF5_H

#include "base/error.h"
#include "base/text.h"
#include "data/npy.h"

/* True if the bytes begin an HDF5 file. */
bool hl_hdf5_is(const void *data, size_t bytes);

/* Appends a line for each data set of the file. `name` stands in messages. BAD_DATA, LIMIT;
 * UNAVAILABLE if hotlap was built without libhdf5, OUT_OF_MEMORY. */
hl_status hl_hdf5_list(const char *path, const char *name, hl_text *ret_lines, hl_error *error);

/* A line of the list taken apart, without its end; it is changed. `header` as of a native,
 * row-major .npy without a header; *ret_problem is why it is not read, or NULL. Names point into
 * the line. BAD_DATA for one that is not as described. */
hl_status hl_hdf5_parse(char *line, hl_npy_header *ret_header, uint64_t *ret_stored,
                        const char **ret_name, const char **ret_problem, hl_error *error);

/* Reads a data set's `bytes` bytes, all there are, into `ret`. `what` names it in messages. */
hl_status hl_hdf5_read(const char *path, const char *name, const char *what, uint64_t bytes,
                       void *ret, hl_error *error);

#endif
