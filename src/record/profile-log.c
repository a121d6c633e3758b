#include "record/profile-log.h"

#include "base/clock.h"
#include "base/hash.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "hlprof1";
enum { RECORD_OPERATOR = 1, RECORD_EVENT, RECORD_STEP, RECORD_SCALAR, RECORD_PICTURE };
enum { name_bytes = 4096, slots = 1 << 15 };

typedef struct header {
  char magic[8];
  uint64_t start_ns, wall_start_us;
  _Atomic uint64_t used; /* bytes after the header, whole records */
  _Atomic uint64_t dropped;
} header;

/* In front of each record; its bytes are a multiple of 8. */
typedef struct record {
  uint32_t kind, bytes;
} record;

typedef struct event {
  int32_t operator, step, thread, none;
  uint64_t start_ns, duration_ns;
} event;

/* Its four strings follow, each with its end. */
typedef struct operator_numbers {
  double flops, bytes, memory_bytes;
} operator_numbers;

typedef struct picture_numbers {
  int64_t step, height, width, name_length;
} picture_numbers;

struct hl_profile_log {
  header *header;
  char *data;
  size_t mapped, capacity;
  /* Operators that are known: their records, by hash, and in the order they were noted. */
  int32_t *slot; /* 1 + index; 0: free */
  size_t *place; /* of each operator's record */
  uint64_t *hash;
  int32_t count, capacity_count, next;
};

hl_status hl_profile_log_create(size_t bytes, int *ret_fd, hl_error *error) {
  int fd = memfd_create("hotlap-profile", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
    if (fd >= 0) close(fd);
    return hl_error_errno(error, HL_IO, "cannot make a file in memory for a profile");
  }
  *ret_fd = fd;
  return HL_OK;
}

static hl_status map_log(hl_profile_log *log, const char *path, hl_error *error) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || (size_t)status.st_size < sizeof(header)) {
    if (fd >= 0) close(fd);
    return hl_error_errno(error, HL_IO, "cannot open the log of a profile, %.200s", path);
  }
  log->mapped = (size_t)status.st_size;
  void *at = mmap(NULL, log->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return hl_error_errno(error, HL_IO, "cannot map the log of a profile");
  log->header = at;
  log->data = (char *)at + sizeof(header);
  log->capacity = log->mapped - sizeof(header);
  if (log->header->magic[0])
    return hl_error_set(error, HL_BAD_DATA, "%.200s is not a fresh log of a profile", path);
  return HL_OK;
}

hl_status hl_profile_log_open(const char *path, hl_profile_log **ret_log, hl_error *error) {
  hl_profile_log *log = calloc(1, sizeof *log);
  if (log) log->slot = calloc(slots, sizeof *log->slot);
  if (!log || !log->slot) {
    hl_profile_log_free(log);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a profile");
  }
  hl_status status = map_log(log, path, error);
  if (status != HL_OK) {
    hl_profile_log_free(log);
    return status;
  }
  log->header->start_ns = hl_clock_ns();
  log->header->wall_start_us = hl_clock_wall_ns() / 1000;
  memcpy(log->header->magic, magic, sizeof magic);
  *ret_log = log;
  return HL_OK;
}

const void *hl_profile_log_whole(const hl_profile_log *log, size_t *ret_bytes) {
  uint64_t used = atomic_load_explicit(&log->header->used, memory_order_acquire);
  *ret_bytes = sizeof(header) + (size_t)used;
  return log->header;
}

void hl_profile_log_free(hl_profile_log *log) {
  if (!log) return;
  if (log->header) munmap(log->header, log->mapped);
  free(log->slot);
  free(log->place);
  free(log->hash);
  free(log);
}

/* -- writing ---------------------------------------------------------------------------------- */

/* Room for a record, or NULL, which is counted. It is there once it is published. */
static char *reserve(hl_profile_log *log, uint32_t kind, size_t bytes) {
  size_t used = atomic_load_explicit(&log->header->used, memory_order_relaxed);
  size_t rounded = (bytes + 7) / 8 * 8;
  if (rounded > UINT32_MAX || sizeof(record) + rounded > log->capacity - used) {
    atomic_fetch_add_explicit(&log->header->dropped, 1, memory_order_relaxed);
    return NULL;
  }
  const record head = {kind, (uint32_t)rounded};
  memcpy(log->data + used, &head, sizeof head);
  return log->data + used + sizeof head;
}

static void publish(hl_profile_log *log, size_t bytes) {
  size_t rounded = (bytes + 7) / 8 * 8;
  atomic_fetch_add_explicit(&log->header->used, sizeof(record) + rounded, memory_order_release);
}

static const char *text_of(const char *text) {
  return text ? text : "";
}

static size_t length_of(const char *text) {
  return text ? strnlen(text, name_bytes - 1) : 0;
}

static char *put_text(char *at, const char *text) {
  size_t length = length_of(text);
  memcpy(at, text_of(text), length);
  at[length] = '\0';
  return at + length + 1;
}

static bool is_text(const char **at, const char *text) {
  size_t length = length_of(text);
  bool same = strncmp(*at, text_of(text), length) == 0 && (*at)[length] == '\0';
  *at += length + 1;
  return same;
}

static operator_numbers numbers_of(const hl_profile_operator *o) {
  return (operator_numbers){o->flops, o->bytes, o->memory_bytes};
}

static bool is_operator(const hl_profile_log *log, int32_t index, const hl_profile_operator *o) {
  const char *at = log->data + log->place[index];
  const operator_numbers numbers = numbers_of(o);
  /* Bit for bit, so that NaN, which is not known, is equal to itself. */
  /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
  if (memcmp(at, &numbers, sizeof numbers) != 0) return false;
  at += sizeof numbers;
  return is_text(&at, o->name) && is_text(&at, o->kind) && is_text(&at, o->layer) &&
         is_text(&at, o->phase);
}

static bool grow_operators(hl_profile_log *log) {
  if (log->count < log->capacity_count) return true;
  int32_t wanted = log->capacity_count ? 2 * log->capacity_count : 256;
  size_t *place = realloc(log->place, (size_t)wanted * sizeof *place);
  if (place) log->place = place;
  uint64_t *hash = realloc(log->hash, (size_t)wanted * sizeof *hash);
  if (hash) log->hash = hash;
  if (!place || !hash) return false;
  log->capacity_count = wanted;
  return true;
}

static int32_t add_operator(hl_profile_log *log, const hl_profile_operator *o, uint64_t hash) {
  size_t bytes = sizeof(operator_numbers) + length_of(o->name) + length_of(o->kind) +
                 length_of(o->layer) + length_of(o->phase) + 4;
  if (log->count >= slots / 2 || !grow_operators(log)) return -1;
  char *at = reserve(log, RECORD_OPERATOR, bytes);
  if (!at) return -1;
  log->place[log->count] = (size_t)(at - log->data);
  log->hash[log->count] = hash;
  const operator_numbers numbers = numbers_of(o);
  memcpy(at, &numbers, sizeof numbers);
  at = put_text(at + sizeof numbers, o->name);
  at = put_text(at, o->kind);
  at = put_text(at, o->layer);
  put_text(at, o->phase);
  publish(log, bytes);
  return log->count++;
}

static uint64_t hash_of(const hl_profile_operator *o) {
  const operator_numbers numbers = numbers_of(o);
  uint64_t hash = hl_hash_bytes(0, &numbers, sizeof numbers);
  const char *texts[] = {o->name, o->kind, o->layer, o->phase};
  for (size_t i = 0; i < HL_COUNT(texts); i++)
    hash = hl_hash_bytes(hash, text_of(texts[i]), length_of(texts[i]));
  return hash;
}

/* Steps repeat: most often it is the one after the last. */
static int32_t find_operator(hl_profile_log *log, const hl_profile_operator *o) {
  if (log->next < log->count && is_operator(log, log->next, o)) return log->next;
  uint64_t hash = hash_of(o);
  size_t slot = hash % slots;
  for (; log->slot[slot]; slot = (slot + 1) % slots) {
    int32_t index = log->slot[slot] - 1;
    if (log->hash[index] == hash && is_operator(log, index, o)) return index;
  }
  int32_t index = add_operator(log, o, hash);
  if (index >= 0) log->slot[slot] = index + 1;
  return index;
}

void hl_profile_log_event(hl_profile_log *log, const hl_profile_operator *operator, int32_t step,
                          int32_t thread, uint64_t start_ns, uint64_t duration_ns) {
  int32_t index = find_operator(log, operator);
  char *at = index < 0 ? NULL : reserve(log, RECORD_EVENT, sizeof(event));
  if (index < 0) atomic_fetch_add_explicit(&log->header->dropped, 1, memory_order_relaxed);
  if (!at) return;
  log->next = index + 1;
  const event one = {.operator= index,
                     .step = step,
                     .thread = thread,
                     .start_ns = start_ns,
                     .duration_ns = duration_ns};
  memcpy(at, &one, sizeof one);
  publish(log, sizeof one);
}

void hl_profile_log_step(hl_profile_log *log, uint64_t start_ns, uint64_t duration_ns) {
  const uint64_t both[2] = {start_ns, duration_ns};
  char *at = reserve(log, RECORD_STEP, sizeof both);
  if (!at) return;
  memcpy(at, both, sizeof both);
  publish(log, sizeof both);
}

void hl_profile_log_scalar(hl_profile_log *log, const char *name, int64_t step, double value) {
  size_t bytes = sizeof step + sizeof value + length_of(name) + 1;
  char *at = reserve(log, RECORD_SCALAR, bytes);
  if (!at) return;
  memcpy(at, &step, sizeof step);
  memcpy(at + sizeof step, &value, sizeof value);
  put_text(at + sizeof step + sizeof value, name);
  publish(log, bytes);
}

void hl_profile_log_picture(hl_profile_log *log, const hl_profile_picture *picture) {
  const hl_profile_picture *p = picture;
  if (p->height < 1 || p->width < 1 || p->height > 1 << 14 || p->width > 1 << 14) return;
  size_t pixels = (size_t)p->height * (size_t)p->width * sizeof *p->pixels;
  const picture_numbers numbers = {p->step, p->height, p->width, (int64_t)length_of(p->name)};
  size_t bytes = sizeof numbers + pixels + (size_t)numbers.name_length + 1;
  char *at = reserve(log, RECORD_PICTURE, bytes);
  if (!at) return;
  memcpy(at, &numbers, sizeof numbers);
  memcpy(at + sizeof numbers, p->pixels, pixels);
  put_text(at + sizeof numbers + pixels, p->name);
  publish(log, bytes);
}

/* -- reading: the writer may have died, or written anything ------------------------------------ */

typedef struct reader {
  hl_profile *profile;
  uint64_t start_ns;
  hl_error *error;
} reader;

static hl_status spoilt(const reader *r, const char *what) {
  return hl_error_set(r->error, HL_BAD_DATA, "the log of the profile is spoilt: %s", what);
}

static hl_status no_memory(const reader *r) {
  return hl_error_set(r->error, HL_OUT_OF_MEMORY, "no memory for a profile");
}

/* A string that ends within the record, or NULL. */
static const char *take_text(const char **at, const char *end) {
  const char *text = *at;
  const char *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
  if (stop) *at = stop + 1;
  return stop ? text : NULL;
}

static hl_status read_operator(const reader *r, const char *at, size_t bytes) {
  const char *end = at + bytes;
  operator_numbers numbers;
  if (bytes < sizeof numbers) return spoilt(r, "an operator is cut short");
  memcpy(&numbers, at, sizeof numbers);
  at += sizeof numbers;
  hl_profile_operator o = {
      .flops = numbers.flops, .bytes = numbers.bytes, .memory_bytes = numbers.memory_bytes};
  o.name = take_text(&at, end);
  o.kind = o.name ? take_text(&at, end) : NULL;
  o.layer = o.kind ? take_text(&at, end) : NULL;
  o.phase = o.layer ? take_text(&at, end) : NULL;
  if (!o.phase) return spoilt(r, "the name of an operator does not end");
  return hl_profile_operator_add(r->profile, &o) < 0 ? no_memory(r) : HL_OK;
}

/* Since the log's beginning; false for times that no log can have. */
static bool since(const reader *r, uint64_t *start_ns, uint64_t duration_ns) {
  if (*start_ns < r->start_ns || *start_ns - r->start_ns > (uint64_t)1 << 60 ||
      duration_ns > (uint64_t)1 << 60)
    return false;
  *start_ns -= r->start_ns;
  return true;
}

static hl_status read_event(const reader *r, const char *at, size_t bytes, size_t first) {
  event one;
  if (bytes != sizeof one) return spoilt(r, "an event is cut short");
  memcpy(&one, at, sizeof one);
  if (one.operator<0 ||(size_t) one.operator>= r->profile->operator_count - first ||
      one.step<0 || one.thread<0 || !since(r, &one.start_ns, one.duration_ns))
    return spoilt(r, "an event is out of range");
  const hl_profile_event e = {.operator=(int32_t) first + one.operator,
                              .step = one.step,
                              .thread = one.thread,
                              .start_ns = one.start_ns,
                              .duration_ns = one.duration_ns};
  return hl_profile_event_add(r->profile, &e) == HL_OK ? HL_OK : no_memory(r);
}

static hl_status read_step(const reader *r, const char *at, size_t bytes) {
  uint64_t both[2];
  if (bytes != sizeof both) return spoilt(r, "a step is cut short");
  memcpy(both, at, sizeof both);
  if (!since(r, &both[0], both[1])) return spoilt(r, "a step is out of range");
  return hl_profile_step_add(r->profile, both[0], both[1]) == HL_OK ? HL_OK : no_memory(r);
}

static hl_status read_scalar(const reader *r, const char *at, size_t bytes) {
  const char *end = at + bytes;
  int64_t step;
  double value;
  if (bytes < sizeof step + sizeof value) return spoilt(r, "a number is cut short");
  memcpy(&step, at, sizeof step);
  memcpy(&value, at + sizeof step, sizeof value);
  at += sizeof step + sizeof value;
  const char *name = take_text(&at, end);
  if (!name) return spoilt(r, "the name of a number does not end");
  return hl_profile_scalar_add(r->profile, name, step, value) == HL_OK ? HL_OK : no_memory(r);
}

static hl_status read_picture(const reader *r, const char *at, size_t bytes) {
  const char *end = at + bytes;
  picture_numbers n;
  if (bytes < sizeof n) return spoilt(r, "a picture is cut short");
  memcpy(&n, at, sizeof n);
  at += sizeof n;
  if (n.height < 1 || n.width < 1 || n.height > 1 << 14 || n.width > 1 << 14 ||
      (size_t)n.height * (size_t)n.width * sizeof(float) >= (size_t)(end - at))
    return spoilt(r, "a picture is out of range");
  hl_profile_picture p = {.step = n.step,
                          .height = n.height,
                          .width = n.width,
                          .pixels = (const float *)(const void *)at}; /* aligned as records are */
  at += (size_t)n.height * (size_t)n.width * sizeof(float);
  p.name = take_text(&at, end);
  if (!p.name) return spoilt(r, "the name of a picture does not end");
  return hl_profile_picture_add(r->profile, &p) == HL_OK ? HL_OK : no_memory(r);
}

static hl_status read_records(const reader *r, const char *data, size_t used) {
  size_t first = r->profile->operator_count, at = 0;
  hl_status status = HL_OK;
  while (status == HL_OK && at + sizeof(record) <= used) {
    record head;
    memcpy(&head, data + at, sizeof head);
    at += sizeof head;
    if (head.bytes > used - at || head.bytes % 8 != 0) return spoilt(r, "a record is cut short");
    const char *body = data + at;
    switch (head.kind) {
    case RECORD_OPERATOR:
      status = read_operator(r, body, head.bytes);
      break;
    case RECORD_EVENT:
      status = read_event(r, body, head.bytes, first);
      break;
    case RECORD_STEP:
      status = read_step(r, body, head.bytes);
      break;
    case RECORD_SCALAR:
      status = read_scalar(r, body, head.bytes);
      break;
    case RECORD_PICTURE:
      status = read_picture(r, body, head.bytes);
      break;
    default:
      status = spoilt(r, "a record is of no known kind");
    }
    at += head.bytes;
  }
  return status;
}

hl_status hl_profile_log_read(int fd, hl_profile *profile, hl_error *error) {
  struct stat stat;
  if (fstat(fd, &stat) != 0 || (size_t)stat.st_size < sizeof(header))
    return hl_error_errno(error, HL_IO, "cannot read the log of the profile");
  size_t bytes = (size_t)stat.st_size;
  void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return hl_error_errno(error, HL_IO, "cannot map the log of the profile");
  header *h = at;
  uint64_t used = atomic_load_explicit(&h->used, memory_order_acquire);
  const reader r = {profile, h->start_ns, error};
  hl_status status = HL_OK;
  if (h->magic[0]) {
    profile->wall_start_us = h->wall_start_us;
    profile->dropped_events += atomic_load_explicit(&h->dropped, memory_order_relaxed);
    if (memcmp(h->magic, magic, sizeof magic) != 0 || used > bytes - sizeof(header))
      status = spoilt(&r, "its header");
    else
      status = read_records(&r, (const char *)at + sizeof(header), (size_t)used);
  }
  munmap(at, bytes);
  return status;
}
