/* Kinds of volume sets: volume-set.c drives them. */
#ifndef HL_WORKLOADS_VOLUME_SET_INTERNAL_H
#define HL_WORKLOADS_VOLUME_SET_INTERNAL_H

#include "workloads/volume-set.h"

/* A volume as it is in its file, in float32. */
typedef struct hl__raw_volume {
  hl_volume_shape shape;
  float *voxels; /* owned */
} hl__raw_volume;

/* Where volumes come from. `read` fills what is not NULL; it is thread-safe. */
typedef struct hl__volume_origin {
  void *context;
  int64_t count;
  char *what; /* "4 made-up volumes ..."; owned by the set */
  hl_status (*read)(void *context, int64_t index, hl__raw_volume *ret_image,
                    hl__raw_volume *ret_target, hl_error *error);
  hl_status (*shape)(void *context, int64_t index, hl_volume_shape *ret_shape, hl_error *error);
  const char *(*name)(void *context, int64_t index);
  bool (*has_target)(void *context, int64_t index); /* NULL: each has one */
  void (*free)(void *context);
} hl__volume_origin;

hl_status hl__volumes_of_nuclei(const char *path, const hl_volume_recipe *recipe, uint64_t seed,
                                int64_t most, hl__volume_origin *ret_origin, hl_error *error);
hl_status hl__volumes_of_npz(const char *path, const hl_volume_recipe *recipe, int64_t most,
                             hl__volume_origin *ret_origin, hl_error *error);
bool hl__volumes_name_npz(const char *path); /* by its ending */
bool hl__volumes_are_in_npz(const char *path);
hl_status hl__volumes_of_files(const char *path, const hl_volume_recipe *recipe, int64_t most,
                               hl__volume_origin *ret_origin, hl_error *error);
bool hl__volumes_are_in_files(const char *path);

/* Where the ending of a volume's file begins in its name ("cells.ome.tif": ".ome.tif"); NULL: it is
 * no such file. */
const char *hl__volume_ending(const char *name);

/* The name at the end of a path. */
const char *hl__last_part(const char *path);

/* Reads a channel, from 0, of a TIFF or .npy. INVALID_ARGUMENT where there is no such channel. */
hl_status hl__volume_file_read(const char *path, int64_t channel, hl__raw_volume *ret_volume,
                               hl_error *error);

/* Of the volume that it would read, from the file's header. */
hl_status hl__volume_file_shape(const char *path, hl_volume_shape *ret_shape, hl_error *error);

/* Room for a volume that has been counted. */
hl_status hl__raw_volume_new(hl_volume_shape shape, hl__raw_volume *ret_volume, hl_error *error);

#endif
