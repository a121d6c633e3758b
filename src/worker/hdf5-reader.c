/*
 * hotlap-hdf5: reads HDF5 files for src/data/hdf5.c, in a process of its own.
 *
 *     hotlap-hdf5 list FILE           a line for each data set
 *     hotlap-hdf5 read FILE NAME      its elements, native and row-major
 *
 * libhdf5 trusts what it parses, and files are untrusted: what a bad one does to it stays in here,
 * within limits of memory and time. It also is not in the way of the program, which starts without
 * it. Nothing outside of the file is opened: no external links, no external or virtual storage, no
 * filters from plug-ins.
 *
 * A line is "D TYPE RANK DIMS... STORED NAME" (TYPE as numpy has it, STORED the bytes in the file)
 * or "P NAME<tab>PROBLEM" for one that is not read. Exit status 0, or 1 and why on standard error.
 */
#include <hdf5.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature) /* clang's word for it */
#if __has_feature(address_sanitizer)
#define HL_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HL_ASAN 1
#endif

enum {
  max_depth = 16,     /* groups in groups: soft and hard links may lead in circles */
  max_objects = 4096, /* looked at */
  max_rank = 8,
  max_name = 300,
  slab_bytes = 16 << 20,
  seconds_to_list = 30,
  bytes_a_second = 4 << 20 /* at the slowest */
};
static const uint64_t chunk_limit = (uint64_t)1 << 30;

static int looked_at;
static hid_t links; /* how links are followed: never into other files */

static int fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

static herr_t refuse_link(const char *parent, const char *group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *data) {
  (void)parent, (void)group, (void)file, (void)object, (void)flags, (void)access, (void)data;
  return -1;
}

static void limit_to(uint64_t seconds) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
#if !defined(HL_ASAN) /* which reserves addresses by the terabyte */
  const rlim_t memory_limit = (rlim_t)6 << 30;
  setrlimit(RLIMIT_AS, &(struct rlimit){memory_limit, memory_limit});
#endif
}

/* --- types ------------------------------------------------------------------------------- */

static const char order =
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    '<';
#else
    '>';
#endif

static bool integer_type(hid_t type, char text[8], hid_t *ret_memory) {
  size_t size = H5Tget_size(type);
  bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  snprintf(text, 8, "%c%c%zu", size == 1 ? '|' : order, is_signed ? 'i' : 'u', size);
  *ret_memory = H5Tcopy(size == 1   ? is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8
                        : size == 2 ? is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16
                        : size == 4 ? is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32
                        : is_signed ? H5T_NATIVE_INT64
                                    : H5T_NATIVE_UINT64);
  return *ret_memory >= 0;
}

static bool float_type(hid_t type, char text[8], hid_t *ret_memory) {
  bool single = H5Tget_size(type) <= 4; /* halves, too */
  snprintf(text, 8, "%cf%d", order, single ? 4 : 8);
  *ret_memory = H5Tcopy(single ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
  return *ret_memory >= 0;
}

static bool is_one_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

/* Two floats called as h5py, MATLAB and others call the parts of a complex number. */
static bool complex_type(hid_t type, char text[8], hid_t *ret_memory) {
  static const char *const real[] = {"r", "re", "real", NULL};
  static const char *const imaginary[] = {"i", "im", "imag", "imaginary", NULL};
  if (H5Tget_nmembers(type) != 2) return false;
  char *names[2] = {H5Tget_member_name(type, 0), H5Tget_member_name(type, 1)};
  hid_t parts[2] = {H5Tget_member_type(type, 0), H5Tget_member_type(type, 1)};
  bool right = names[0] && names[1] && is_one_of(names[0], real) && is_one_of(names[1], imaginary);
  for (int i = 0; i < 2 && right; i++) right = parts[i] >= 0 && H5Tget_class(parts[i]) == H5T_FLOAT;
  if (right) {
    bool single = H5Tget_size(parts[0]) <= 4 && H5Tget_size(parts[1]) <= 4;
    size_t size = single ? 4 : 8;
    hid_t memory = H5Tcreate(H5T_COMPOUND, 2 * size);
    for (size_t i = 0; i < 2 && right; i++)
      right = memory >= 0 && H5Tinsert(memory, names[i], i * size,
                                       single ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE) >= 0;
    snprintf(text, 8, "%cc%zu", order, 2 * size);
    *ret_memory = memory;
  }
  for (int i = 0; i < 2; i++) {
    if (names[i]) H5free_memory(names[i]);
    if (parts[i] >= 0) H5Tclose(parts[i]);
  }
  return right;
}

/* numpy's name of the type, and the one that elements have in memory. */
static bool name_type(hid_t type, char text[8], hid_t *ret_memory) {
  switch (H5Tget_class(type)) {
  case H5T_INTEGER:
    return integer_type(type, text, ret_memory);
  case H5T_FLOAT:
    return float_type(type, text, ret_memory);
  case H5T_COMPOUND:
    return complex_type(type, text, ret_memory);
  case H5T_ENUM: { /* h5py's bool */
    hid_t base = H5Tget_super(type);
    bool right = base >= 0 && integer_type(base, text, ret_memory);
    if (base >= 0) H5Tclose(base);
    return right;
  }
  default:
    return false;
  }
}

/* --- a data set -------------------------------------------------------------------------- */

typedef struct data_set {
  hid_t id, space, memory;
  char type[8];
  int rank;
  hsize_t dims[max_rank], chunk[max_rank];
  uint64_t stored, element;
} data_set;

static void close_set(data_set *s) {
  if (s->memory > 0) H5Tclose(s->memory);
  if (s->space > 0) H5Sclose(s->space);
  if (s->id > 0) H5Dclose(s->id);
}

/* Why its filters cannot be undone, or NULL. */
static const char *check_filters(hid_t plan) {
  static char text[200];
  int count = H5Pget_nfilters(plan);
  for (int i = 0; i < count; i++) {
    unsigned flags, config;
    size_t values = 0;
    char name[60] = "";
    H5Z_filter_t filter =
        H5Pget_filter2(plan, (unsigned)i, &flags, &values, NULL, sizeof name, name, &config);
    if (filter >= 0 && filter < 256 && H5Zfilter_avail(filter) > 0) continue;
    for (char *p = name; *p; p++)
      if ((unsigned char)*p < ' ' || (unsigned char)*p > '~') *p = '?';
    snprintf(text, sizeof text,
             "it is packed by filter %d (%.40s), which needs a plug-in. Pack it anew: h5repack -f "
             "GZIP=4 OLD NEW",
             (int)filter, name);
    return text;
  }
  return NULL;
}

static const char *check_storage(data_set *s, hid_t plan) {
  H5D_layout_t layout = H5Pget_layout(plan);
  if (layout == H5D_VIRTUAL)
    return "it is a virtual data set, made of other files. Copy it: h5repack OLD NEW";
  if (H5Pget_external_count(plan) != 0)
    return "its elements lie in another file. Copy it: h5repack OLD NEW";
  if (layout == H5D_CHUNKED) {
    if (H5Pget_chunk(plan, max_rank, s->chunk) != s->rank) return "its chunks are not of its rank";
    uint64_t bytes = s->element;
    for (int i = 0; i < s->rank; i++)
      if (s->chunk[i] == 0 || __builtin_mul_overflow(bytes, s->chunk[i], &bytes) ||
          bytes > chunk_limit)
        return "its chunks have more than 1 GiB. Store it in smaller ones";
  }
  return check_filters(plan);
}

/* Fills *s, or says why it cannot be read. The id is open already. */
static const char *look_at(data_set *s) {
  hid_t type = H5Dget_type(s->id);
  bool known = type >= 0 && name_type(type, s->type, &s->memory);
  if (type >= 0) H5Tclose(type);
  if (!known) return "it is of a type that is neither a number nor complex";
  s->element = H5Tget_size(s->memory);
  s->space = H5Dget_space(s->id);
  if (s->space < 0 || H5Sget_simple_extent_type(s->space) == H5S_NULL) return "it has no elements";
  s->rank = H5Sget_simple_extent_ndims(s->space);
  if (s->rank < 0 || s->rank > max_rank) return "it has more than 8 dimensions";
  if (s->rank > 0 && H5Sget_simple_extent_dims(s->space, s->dims, NULL) < 0)
    return "its shape cannot be read";
  uint64_t bytes = s->element;
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] > INT64_MAX ||
        __builtin_mul_overflow(bytes, s->dims[i] ? s->dims[i] : 1, &bytes))
      return "its shape is beyond all memory";
  hid_t plan = H5Dget_create_plist(s->id);
  const char *problem = plan < 0 ? "how it is stored cannot be read" : check_storage(s, plan);
  if (plan >= 0) H5Pclose(plan);
  s->stored = problem ? 0 : H5Dget_storage_size(s->id);
  return problem;
}

/* --- list -------------------------------------------------------------------------------- */

typedef struct walk {
  const struct walk *above;
  haddr_t address; /* of the group */
  char name[max_name + 1];
  size_t length;
  int depth;
} walk;

/* Names are printed: control characters must reach neither a terminal nor the next line. */
static void print_name(const char *name) {
  for (; *name; name++) putchar((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
}

static void print_problem(const walk *w, const char *problem) {
  printf("P ");
  print_name(w->name);
  printf("\t%s\n", problem);
}

static void list_set(const walk *w, hid_t id) {
  data_set s = {.id = id};
  const char *problem = look_at(&s);
  if (problem) {
    print_problem(w, problem);
  } else {
    printf("D %s %d", s.type, s.rank);
    for (int i = 0; i < s.rank; i++) printf(" %" PRIu64, (uint64_t)s.dims[i]);
    printf(" %" PRIu64 " ", s.stored);
    print_name(w->name);
    printf("\n");
  }
  close_set(&s);
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *data);

/* Whether a link leads back to a group it is in, or too deep. */
static bool is_circle(hid_t id, walk *w) {
  H5O_info_t info;
  if (w->depth >= max_depth || H5Oget_info2(id, &info, H5O_INFO_BASIC) < 0) return true;
  w->address = info.addr;
  for (const walk *a = w->above; a; a = a->above)
    if (a->address == w->address) return true;
  return false;
}

static herr_t list_group(hid_t id, walk *w) {
  hsize_t from = 0;
  herr_t status =
      is_circle(id, w) ? 0 : H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, &from, visit, w);
  H5Gclose(id);
  return status;
}

/* One link of a group; below 0 ends it all. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *data) {
  const walk *above = data;
  walk w = *above;
  w.above = above;
  if (++looked_at > max_objects) return -1;
  int length =
      snprintf(w.name + w.length, sizeof w.name - w.length, "%s%s", w.length ? "/" : "", name);
  if (length < 0 || w.length + (size_t)length >= sizeof w.name) return 0; /* no name to ask by */
  w.length += (size_t)length;
  w.depth++;
  if (info->type == H5L_TYPE_EXTERNAL) {
    print_problem(&w, "it is a link to another file. Copy it: h5copy, or h5repack --merge");
    return 0;
  }
  hid_t id = H5Oopen(group, name, links);
  if (id < 0) return 0; /* a link that leads nowhere */
  switch (H5Iget_type(id)) {
  case H5I_GROUP:
    return list_group(id, &w);
  case H5I_DATASET:
    list_set(&w, id);
    return 0;
  default:
    H5Oclose(id);
    return 0;
  }
}

static int list(hid_t file) {
  walk w = {0};
  hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  if (root < 0) return fail("it has no groups");
  if (list_group(root, &w) >= 0 && fflush(stdout) == 0) return 0;
  return fail(looked_at > max_objects ? "it has more than 4096 objects"
                                      : "its groups cannot be read: is it whole?");
}

/* --- read -------------------------------------------------------------------------------- */

static int put(const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t n = write(STDOUT_FILENO, bytes, count);
    if (n <= 0) return fail("nobody reads it");
    bytes += n;
    count -= (size_t)n;
  }
  return 0;
}

/* Slab by slab along the first axis that is longer than 1, in whole chunks. */
static int read_slabs(const data_set *s) {
  int axis = 0;
  while (axis + 1 < s->rank && s->dims[axis] == 1) axis++;
  uint64_t row = s->element;
  for (int i = axis + 1; i < s->rank; i++) row *= s->dims[i];
  hsize_t rows = s->rank ? s->dims[axis] : 1, step = slab_bytes / row, chunk = s->chunk[axis];
  if (chunk > 1) step = (step + chunk - 1) / chunk * chunk;
  if (step < 1) step = 1;
  if (step > rows) step = rows;
  char *buffer = malloc(step * row);
  if (!buffer) return fail("there is no memory for it");
  int status = 0;
  for (hsize_t at = 0; at < rows && status == 0; at += step) {
    hsize_t start[max_rank] = {0}, count[max_rank];
    hsize_t here = rows - at < step ? rows - at : step;
    memcpy(count, s->dims, sizeof count);
    start[axis] = at;
    count[axis] = here;
    hid_t memory = s->rank ? H5Screate_simple(s->rank, count, NULL) : H5Screate(H5S_SCALAR);
    bool read = memory >= 0 &&
                (s->rank == 0 ||
                 H5Sselect_hyperslab(s->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) &&
                H5Dread(s->id, s->memory, memory, s->space, H5P_DEFAULT, buffer) >= 0;
    if (memory >= 0) H5Sclose(memory);
    status = read ? put(buffer, here * row) : fail("its elements cannot be read: is it whole?");
  }
  free(buffer);
  return status;
}

static int read_set(hid_t file, const char *name) {
  data_set s = {.id = H5Oopen(file, name, links)};
  if (s.id < 0 || H5Iget_type(s.id) != H5I_DATASET) return fail("it is not there");
  const char *problem = look_at(&s);
  int status = 0;
  if (problem) {
    status = fail(problem);
  } else {
    uint64_t elements = 1;
    for (int i = 0; i < s.rank; i++) elements *= s.dims[i];
    limit_to(seconds_to_list + elements * s.element / bytes_a_second);
    if (elements > 0) status = read_slabs(&s);
  }
  close_set(&s);
  return status;
}

int main(int argc, char **argv) {
  bool reads = argc == 4 && strcmp(argv[1], "read") == 0;
  if (!reads && !(argc == 3 && strcmp(argv[1], "list") == 0)) {
    fprintf(stderr, "hotlap-hdf5 list FILE | read FILE NAME\n");
    return 2;
  }
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1); /* which some shared disks have not */
  if (!reads) limit_to(seconds_to_list);
  if (H5open() < 0) return fail("the HDF5 library cannot be used");
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5PLset_loading_state(0);
  links = H5Pcreate(H5P_LINK_ACCESS);
  if (links < 0 || H5Pset_elink_cb(links, refuse_link, NULL) < 0)
    return fail("the HDF5 library cannot be used");
  hid_t file = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return fail("it is no HDF5 file that can be read: is it whole?");
  int status = reads ? read_set(file, argv[3]) : list(file);
  fflush(NULL);
  _exit(status); /* what a bad file left in the library is not taken apart */
}
