#include "data/npz.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/text.h"
#include "data/array.h"
#include "data/bzip2.h"
#include "data/hdf5.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

const hl_npz_limits hl_npz_default_limits = {
    .file_bytes = (uint64_t)64 << 30,
    .unpacked_bytes = (uint64_t)16 << 30,
    .array_bytes = (uint64_t)16 << 30,
    .entries = 4096,
    .ratio = 200,
};

enum {
  arena_cap = 64 << 20,
  ratio_free_bytes = 256 << 20,
  /* No deflate stream expands further than 1032 : 1. */
  deflate_ratio = 1032
};

typedef struct item {
  hl_npz_entry entry; /* first: callers see only this */
  zip_uint64_t index; /* in the zip */
} item;

struct hl_npz {
  hl_arena arena; /* names and messages */
  const char *name;
  const char *path; /* of a file, in the arena; NULL for memory */
  bool bzip2, hdf5;
  hl_npz_limits limits;
  hl_mapping mapping;        /* of the file, unless opened from memory */
  void *unpacked;            /* of a .bz2 */
  const unsigned char *data; /* the zip or .npy itself */
  size_t bytes;
  zip_t *zip; /* NULL for a plain .npy */
  item *items;
  size_t count;
};

void hl_npz_free(hl_npz *npz) {
  if (!npz) return;
  if (npz->zip) zip_discard(npz->zip);
  free(npz->unpacked);
  hl_file_unmap(&npz->mapping);
  hl_arena_release(&npz->arena);
  free(npz->items);
  free(npz);
}

const char *hl_npz_name(const hl_npz *npz) {
  return npz->name;
}

const char *hl_npz_container(const hl_npz *npz) {
  if (npz->hdf5) return "HDF5";
  if (npz->zip) return npz->bzip2 ? "npz, bzip2" : "npz";
  return npz->bzip2 ? "npy, bzip2" : "npy";
}

size_t hl_npz_count(const hl_npz *npz) {
  return npz->count;
}

const hl_npz_entry *hl_npz_at(const hl_npz *npz, size_t index) {
  return index < npz->count ? &npz->items[index].entry : NULL;
}

const hl_npz_entry *hl_npz_find(const hl_npz *npz, const char *name) {
  for (size_t i = 0; i < npz->count; i++)
    if (strcmp(npz->items[i].entry.name, name) == 0) return &npz->items[i].entry;
  return NULL;
}

/* "scan.npz: array 'diff3d'", for messages; hl_free_pointer() it. */
static char *describe_entry(const hl_npz *npz, const char *name) {
  return hl_format("%s: array '%.100s'", npz->name, name);
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read the list of arrays");
}

static hl_status zip_failed(zip_error_t *zip_error, const char *what, hl_error *error) {
  hl_status status =
      zip_error_code_zip(zip_error) == ZIP_ER_MEMORY ? HL_OUT_OF_MEMORY : HL_BAD_DATA;
  return hl_error_set(error, status, "%s cannot be read: %s. Is it whole? Write it again", what,
                      zip_error_strerror(zip_error));
}

/* Reads exactly `bytes`; fewer is an error, and so is a failure that libzip reports. */
static hl_status read_exactly(zip_file_t *file, void *ret, size_t bytes, const char *what,
                              hl_error *error) {
  size_t done = 0;
  while (done < bytes) {
    zip_int64_t n = zip_fread(file, (char *)ret + done, bytes - done);
    if (n < 0) return zip_failed(zip_file_get_error(file), what, error);
    if (n == 0)
      return hl_error_set(error, HL_BAD_DATA, "%s ends after %zu of %zu bytes; is it truncated?",
                          what, done, bytes);
    done += (size_t)n;
  }
  return HL_OK;
}

static hl_status open_member(hl_npz *npz, zip_uint64_t index, const char *what, zip_file_t **ret,
                             hl_error *error) {
  *ret = zip_fopen_index(npz->zip, index, 0);
  return *ret ? HL_OK : zip_failed(zip_get_error(npz->zip), what, error);
}

static hl_status read_header(hl_npz *npz, item *it, const zip_stat_t *stat, const char *what,
                             hl_error *error) {
  zip_file_t *file = NULL;
  hl_status status = open_member(npz, it->index, what, &file, error);
  if (status != HL_OK) return status;
  char start[12], *header = NULL;
  size_t first = stat->size < sizeof start ? (size_t)stat->size : sizeof start, size = 0;
  status = read_exactly(file, start, first, what, error);
  if (status == HL_OK) status = hl_npy_header_size(start, first, what, &size, error);
  if (status == HL_OK && size > first) {
    header = malloc(size);
    if (!header)
      status = no_memory(error);
    else {
      memcpy(header, start, first);
      status = read_exactly(file, header + first, size - first, what, error);
    }
  }
  if (status == HL_OK)
    status = hl_npy_header_parse(header ? header : start, size, what, &it->entry.header, error);
  free(header);
  zip_fclose(file);
  return status;
}

/* Limits that hold for arrays of any container, then agreement of header and member size. */
static hl_status check_sizes(const hl_npz *npz, const hl_npy_header *header, uint64_t member_bytes,
                             const char *what, hl_error *error) {
  hl_status status = hl_npy_check_type(header, what, error);
  if (status != HL_OK) return status;
  if (header->data_bytes > npz->limits.array_bytes)
    return hl_error_set(error, HL_LIMIT,
                        "%s declares %" PRIu64 " bytes; the limit is %" PRIu64
                        ". Save a part of it, or a smaller type",
                        what, header->data_bytes, npz->limits.array_bytes);
  uint64_t held = member_bytes - header->header_bytes;
  if (held != header->data_bytes)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s declares %" PRIu64 " bytes of elements but holds %" PRIu64 ". %s", what,
                        header->data_bytes, held,
                        held < header->data_bytes ? "It is truncated; write it again"
                                                  : "Write it again with numpy.save or savez");
  return HL_OK;
}

static hl_status check_bomb(const hl_npz *npz, double packed, double size, const char *what,
                            const char *remedy, hl_error *error) {
  if (!(size > ratio_free_bytes && size > npz->limits.ratio * packed)) return HL_OK;
  return hl_error_set(error, HL_LIMIT,
                      "%s would unpack %.0f bytes to %.0f (more than %.0f : 1); it looks like a "
                      "decompression bomb. If it is not, %s",
                      what, packed, size, npz->limits.ratio, remedy);
}

/* Whether the declared size is possible and sane for what the file holds. */
static hl_status check_ratio(const hl_npz *npz, const zip_stat_t *stat, const char *what,
                             hl_error *error) {
  double packed = (double)stat->comp_size, size = (double)stat->size;
  if (stat->comp_size > npz->bytes || (stat->comp_method == ZIP_CM_STORE && packed < size) ||
      (stat->comp_method == ZIP_CM_DEFLATE && size > packed * deflate_ratio + 64))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s declares %.0f bytes, more than its %.0f packed bytes can hold", what,
                        size, packed);
  return check_bomb(npz, packed, size, what,
                    "write it with numpy.savez instead of savez_compressed", error);
}

static hl_status check_member(hl_npz *npz, item *it, const zip_stat_t *stat, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *what = describe_entry(npz, it->entry.name);
  if (!what) return no_memory(error);
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat->valid & needed) != needed)
    return hl_error_set(error, HL_BAD_DATA, "%s has no size in the zip's directory", what);
  if ((stat->valid & ZIP_STAT_ENCRYPTION_METHOD) && stat->encryption_method != ZIP_EM_NONE)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s is encrypted. Write it without a password",
                        what);
  it->entry.packed_bytes = stat->comp_size;
  hl_status status = check_ratio(npz, stat, what, error);
  if (status == HL_OK) status = read_header(npz, it, stat, what, error);
  if (status == HL_OK) status = check_sizes(npz, &it->entry.header, stat->size, what, error);
  return status;
}

/* Notes why an entry cannot be read; only lack of memory stops opening. */
static hl_status keep_problem(hl_npz *npz, item *it, hl_status status, const hl_error *problem,
                              hl_error *error) {
  if (status == HL_OK) return HL_OK;
  it->entry.problem_status = status;
  it->entry.problem = hl_arena_text(&npz->arena, problem->msg);
  return it->entry.problem ? HL_OK : no_memory(error);
}

/* The name of an array from the name of a member, in the arena; NULL for other members. */
static const char *array_name(hl_npz *npz, const char *member) {
  if (!hl_text_ends(member, ".npy")) return NULL;
  char *name = hl_arena_text_n(&npz->arena, member, strlen(member) - 4);
  /* Names are printed: control characters must not reach a terminal. */
  for (char *p = name; p && *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f) *p = '?';
  return name;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hl_status check_unique(const hl_npz *npz, hl_error *error) {
  const char **names = calloc(npz->count + 1, sizeof *names);
  if (!names) return no_memory(error);
  for (size_t i = 0; i < npz->count; i++) names[i] = npz->items[i].entry.name;
  qsort(names, npz->count, sizeof *names, compare_names);
  hl_status status = HL_OK;
  for (size_t i = 1; i < npz->count && status == HL_OK; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      status = hl_error_set(error, HL_BAD_DATA,
                            "%s holds two arrays named '%.100s', so which is meant is unknown. "
                            "Write it again with different names",
                            npz->name, names[i]);
  free(names);
  return status;
}

static hl_status list_members(hl_npz *npz, hl_error *error) {
  zip_int64_t members = zip_get_num_entries(npz->zip, 0);
  if (members < 0 || (uint64_t)members > npz->limits.entries)
    return hl_error_set(error, HL_LIMIT, "%s has %lld members; the limit is %" PRIu64, npz->name,
                        (long long)members, npz->limits.entries);
  npz->items = calloc((size_t)members + 1, sizeof *npz->items);
  if (!npz->items) return no_memory(error);
  for (zip_uint64_t i = 0; i < (zip_uint64_t)members; i++) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(npz->zip, i, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME))
      return zip_failed(zip_get_error(npz->zip), npz->name, error);
    item *it = &npz->items[npz->count];
    it->index = i;
    it->entry.name = array_name(npz, stat.name);
    if (!it->entry.name) continue;
    hl_error problem = {0};
    hl_status status = check_member(npz, it, &stat, &problem);
    status = keep_problem(npz, it, status, &problem, error);
    if (status != HL_OK) return status;
    npz->count++;
  }
  return check_unique(npz, error);
}

static hl_status open_zip(hl_npz *npz, hl_error *error) {
  zip_error_t zip_error;
  zip_error_init(&zip_error);
  zip_source_t *source = zip_source_buffer_create(npz->data, npz->bytes, 0, &zip_error);
  hl_status status = HL_OK;
  if (!source) {
    status = no_memory(error);
  } else {
    npz->zip = zip_open_from_source(source, ZIP_RDONLY, &zip_error);
    if (!npz->zip) {
      status = zip_failed(&zip_error, npz->name, error);
      zip_source_free(source);
    }
  }
  zip_error_fini(&zip_error);
  return status == HL_OK ? list_members(npz, error) : status;
}

static hl_status open_npy(hl_npz *npz, hl_error *error) {
  npz->items = calloc(1, sizeof *npz->items);
  if (!npz->items) return no_memory(error);
  item *it = npz->items;
  it->entry.name = "array";
  it->entry.packed_bytes = npz->bytes;
  hl_status status =
      hl_npy_header_parse(npz->data, npz->bytes, npz->name, &it->entry.header, error);
  if (status != HL_OK) return status;
  npz->count = 1;
  hl_error problem = {0};
  status = check_sizes(npz, &it->entry.header, npz->bytes, npz->name, &problem);
  return keep_problem(npz, it, status, &problem, error);
}

static hl_status add_set(hl_npz *npz, char *line, hl_error *error) {
  item *it = &npz->items[npz->count];
  const char *name = NULL, *why = NULL;
  hl_npy_header *header = &it->entry.header;
  hl_status status = hl_hdf5_parse(line, header, &it->entry.packed_bytes, &name, &why, error);
  if (status != HL_OK) return hl_error_prefix(error, "%s", npz->name);
  it->entry.name = hl_arena_text(&npz->arena, name);
  HL_CLEANUP(hl_free_pointer) char *what = it->entry.name ? describe_entry(npz, name) : NULL;
  if (!what) return no_memory(error);
  npz->count++;
  hl_error problem = {0};
  if (why)
    status = hl_error_set(&problem, HL_UNIMPLEMENTED, "%s: %s", what, why);
  else
    status = check_sizes(npz, header, header->data_bytes, what, &problem);
  if (status == HL_OK)
    status = check_bomb(npz, (double)it->entry.packed_bytes, (double)header->data_bytes, what,
                        "write it unpacked: h5repack -f NONE OLD NEW", &problem);
  return keep_problem(npz, it, status, &problem, error);
}

static hl_status open_hdf5(hl_npz *npz, hl_error *error) {
  if (!npz->path || npz->bzip2)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s is HDF5 that is packed. Unpack it, and give the file itself",
                        npz->name);
  npz->hdf5 = true;
  hl_text lines = HL_TEXT_INIT;
  size_t count = 1;
  hl_status status = hl_hdf5_list(npz->path, npz->name, &lines, error);
  for (size_t i = 0; i < lines.length; i++) count += lines.data[i] == '\n';
  if (status == HL_OK && count > npz->limits.entries + 1)
    status = hl_error_set(error, HL_LIMIT, "%s has %zu arrays; the limit is %" PRIu64, npz->name,
                          count - 1, npz->limits.entries);
  if (status == HL_OK && !(npz->items = calloc(count, sizeof *npz->items)))
    status = no_memory(error);
  for (char *at = lines.data, *end; status == HL_OK && at && (end = strchr(at, '\n'));
       at = end + 1) {
    *end = '\0';
    status = add_set(npz, at, error);
  }
  hl_text_release(&lines);
  return status == HL_OK ? check_unique(npz, error) : status;
}

static hl_status open_bytes(hl_npz *npz, hl_error *error) {
  if (npz->bytes == 0)
    return hl_error_set(error, HL_BAD_DATA, "%s is empty. Write it with numpy.savez", npz->name);
  if (hl_bzip2_is(npz->data, npz->bytes)) {
    size_t bytes = 0;
    hl_status status = hl_bzip2_unpack(npz->data, npz->bytes, npz->name, npz->limits.unpacked_bytes,
                                       npz->limits.ratio, &npz->unpacked, &bytes, error);
    if (status != HL_OK) return status;
    npz->bzip2 = true;
    npz->data = npz->unpacked;
    npz->bytes = bytes;
  }
  if (npz->bytes >= 4 && memcmp(npz->data, "PK", 2) == 0) return open_zip(npz, error);
  if (npz->bytes >= 6 && memcmp(npz->data, "\x93NUMPY", 6) == 0) return open_npy(npz, error);
  if (hl_hdf5_is(npz->data, npz->bytes)) return open_hdf5(npz, error);
  return hl_error_set(
      error, HL_BAD_DATA,
      "%s is not an .npz, .npy or HDF5 file (it starts with other bytes). Write it with "
      "numpy.savez",
      npz->name);
}

static hl_npz *new_npz(const char *name, const hl_npz_limits *limits) {
  hl_npz *npz = calloc(1, sizeof *npz);
  if (!npz) return NULL;
  hl_arena_init(&npz->arena, arena_cap);
  npz->limits = limits ? *limits : hl_npz_default_limits;
  npz->name = hl_arena_text(&npz->arena, name);
  if (npz->name) return npz;
  hl_npz_free(npz);
  return NULL;
}

hl_status hl_npz_open(const char *path, const hl_npz_limits *limits, hl_npz **ret_npz,
                      hl_error *error) {
  const char *slash = strrchr(path, '/');
  hl_npz *npz = new_npz(slash && slash[1] ? slash + 1 : path, limits);
  if (!npz) return no_memory(error);
  npz->path = hl_arena_text(&npz->arena, path);
  hl_status status = npz->path ? hl_file_map(path, npz->limits.file_bytes, &npz->mapping, error)
                               : no_memory(error);
  if (status == HL_OK) {
    npz->data = npz->mapping.data;
    npz->bytes = npz->mapping.bytes;
    status = open_bytes(npz, error);
  }
  if (status != HL_OK)
    hl_npz_free(npz);
  else
    *ret_npz = npz;
  return status;
}

hl_status hl_npz_open_memory(const void *data, size_t bytes, const char *name,
                             const hl_npz_limits *limits, hl_npz **ret_npz, hl_error *error) {
  hl_npz *npz = new_npz(name, limits);
  if (!npz) return no_memory(error);
  npz->data = data;
  npz->bytes = bytes;
  hl_status status = open_bytes(npz, error);
  if (status != HL_OK)
    hl_npz_free(npz);
  else
    *ret_npz = npz;
  return status;
}

/* The elements as they lie in the file. */
static hl_status read_elements(hl_npz *npz, const item *it, void *ret, const char *what,
                               hl_error *error) {
  const hl_npy_header *header = &it->entry.header;
  if (npz->hdf5)
    return hl_hdf5_read(npz->path, it->entry.name, what, header->data_bytes, ret, error);
  if (!npz->zip) {
    memcpy(ret, npz->data + header->header_bytes, (size_t)header->data_bytes);
    return HL_OK;
  }
  zip_file_t *file = NULL;
  hl_status status = open_member(npz, it->index, what, &file, error);
  if (status != HL_OK) return status;
  char skipped[4096];
  for (size_t left = header->header_bytes; left && status == HL_OK;) {
    size_t part = left < sizeof skipped ? left : sizeof skipped;
    status = read_exactly(file, skipped, part, what, error);
    left -= part;
  }
  if (status == HL_OK) status = read_exactly(file, ret, (size_t)header->data_bytes, what, error);
  /* Reading to the end makes libzip check the CRC. */
  if (status == HL_OK && zip_fread(file, skipped, 1) != 0)
    status = zip_failed(zip_file_get_error(file), what, error);
  zip_fclose(file);
  return status;
}

static hl_status not_found(const hl_npz *npz, const char *name, hl_error *error) {
  hl_text list = HL_TEXT_INIT;
  for (size_t i = 0; i < npz->count && list.length < 200; i++)
    hl_text_format(&list, "%s%.60s", i ? ", " : "", npz->items[i].entry.name);
  hl_error_set(error, HL_NOT_FOUND, "%s has no array '%.60s'; it has: %s", npz->name, name,
               npz->count ? list.data : "none");
  hl_text_release(&list);
  return HL_NOT_FOUND;
}

hl_status hl_npz_read(hl_npz *npz, const char *name, hl_tensor_view *ret_array, hl_error *error) {
  const hl_npz_entry *entry = hl_npz_find(npz, name);
  if (!entry) return not_found(npz, name, error);
  if (entry->problem) return hl_error_set(error, entry->problem_status, "%s", entry->problem);
  HL_CLEANUP(hl_free_pointer) char *what = describe_entry(npz, name);
  if (!what) return no_memory(error);
  const hl_npy_header *header = &entry->header;
  hl_tensor_view array;
  hl_status status = hl_array_new(name, header->dtype, header->rank, header->dims, &array, error);
  if (status != HL_OK) return status;
  status = read_elements(npz, (const item *)(const void *)entry, array.data, what, error);
  if (status == HL_OK) status = hl_npy_to_native(header, array.data, error);
  if (status != HL_OK)
    hl_array_release(&array);
  else
    *ret_array = array;
  return status;
}
