/*
 * data/data.h - what a network is fed: a data set of inputs, real or synthetic.
 *
 * Files are hostile: sizes are bounded and overflow-checked, errors name file, array and remedy.
 * Not thread-safe per object.
 */
#ifndef HL_DATA_DATA_H
#define HL_DATA_DATA_H

#include "base/error.h"
#include "base/text.h"
#include "data/image.h"

/* Arrays a file holds, decoded to native-endian row-major order on demand: see data/npz.h. */

/* What is known of a model's input besides its port. */
typedef struct hl_data_rule {
  int32_t batch_axis;  /* -1: none, the input is the same in each step */
  int64_t index_limit; /* integers are indices below this; 0: not known to be any */
} hl_data_rule;

/* How pictures of a folder were read: by one thread, from file to input. */
typedef struct hl_picture_reading {
  int64_t count; /* 0: the data are no pictures */
  uint64_t ns;
  double psnr_db; /* of HL_IMAGE_SCALED: of the inputs' 8-bit pixels against exact ones, over all
                     pixels of some of the pictures; NaN if there is no difference */
} hl_picture_reading;

/* What is taken of a file and how. */
typedef struct hl_data_choice {
  int64_t max_images; /* 0: all; of a folder as many are spread evenly over it */
  uint64_t seed;      /* of groups of neighbours */
  hl_image_decoding decoding;
} hl_data_choice;

/* A set of inputs of one model: for each model input a dense array whose first dimension is
 * `count`, the others being the port's in their order; or, without a batch, the port's shape. */
typedef struct hl_dataset {
  int64_t count;          /* inputs (first dimension) */
  size_t input_count;     /* arrays, in the model's order */
  hl_tensor_view *inputs; /* owned */
  char *description;      /* one line: file or generator, what was done to it, of a file a hash */
  hl_picture_reading pictures;
  struct hl_image_folder *folder; /* that they are of, owned; or NULL */
} hl_dataset;

void hl_dataset_free(hl_dataset *dataset);

/* Seeded synthetic inputs for `ports` (batch dimension -1), `count` of them. `rules` says more of
 * each port; NULL: the batch comes first and nothing else is known. Integers and bools with "mask"
 * in their name, and numbers called "attention_mask", are ones; indices are uniform over their
 * table; bytes (uint8) are 0 to 255; other integers and bools are 0 or 1; other numbers are
 * standard normal. `description` says so. LIMIT for more than 8 GiB, which would take minutes. */
hl_status hl_dataset_synthetic(const hl_port *ports, const hl_data_rule *rules, size_t port_count,
                               int64_t count, uint64_t seed, hl_dataset **ret_dataset,
                               hl_error *error);

/* Reads a file for a model with these ports. A port of shape (-1, C, N, N) named "diffraction" is
 * filled from a ptychography file (npz, npz.bz2): amplitude, fftshift where DC is at a corner,
 * cropped or binned to N (and said so in `description`), grouped by nearest neighbours for C = 4,
 * normalised as PtychoPINN does (intensity scale); a "positions" port from the coordinates. Other
 * ports are taken from arrays of the port's name (or the only array) with matching shape and kind:
 * fractions are no integers, and indices must be of their table. A folder of
 * pictures is for the only input of a model that takes such (data/image-source.h). `rules` as for
 * hl_dataset_synthetic. */
hl_status hl_dataset_read(const char *path, const hl_port *ports, const hl_data_rule *rules,
                          size_t port_count, const hl_data_choice *choice, hl_dataset **ret_dataset,
                          hl_error *error);

struct hl_scan; /* data/ptychography.h */

/* The same of a scan that was read, whose patterns have the size that the port "diffraction" takes.
 * A port called "intensity" gets the squares of the patterns, with a mean of (N/2)^2 of their sums:
 * what a network that computes diffraction is compared with. */
#define HL_SCAN_INTENSITY "intensity"
hl_status hl_dataset_of_scan(const struct hl_scan *scan, const hl_port *ports, size_t port_count,
                             int64_t max_images, uint64_t seed, hl_dataset **ret_dataset,
                             hl_error *error);

/* Says in the description which contents they are (another file of the same name is other data);
 * hl_dataset_read does so. OUT_OF_MEMORY. */
hl_status hl_dataset_add_fingerprint(hl_dataset *dataset, hl_error *error);

/* `hotlap data show`: what a file or folder holds, as text for a person. */
hl_status hl_data_describe(const char *path, hl_text *ret_text, hl_error *error);

/* The same facts as a JSON object of schema hotlap.data/1. */
hl_status hl_data_describe_json(const char *path, hl_text *ret_text, hl_error *error);

#endif
