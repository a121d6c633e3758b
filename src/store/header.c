#include "store/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file says in its first bytes: https://sqlite.org/fileformat2.html, 1.3 */
enum { HEADER_BYTES = 100, USER_VERSION_AT = 60, APPLICATION_ID_AT = 68 };

static uint32_t big_endian(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

hl_status hl__store_refuse_identity(const char *path, bool foreign, int64_t version,
                                    hl_error *error) {
  if (foreign)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: an SQLite database of another program. Name another file with --store",
                        path);
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: schema %lld was written by a newer hotlap; this one knows schemas up to "
                      "%d. Use that hotlap, or name another store with --store",
                      path, (long long)version, hl_store_schema_count);
}

static hl_status check_header(const char *path, const unsigned char *header, ssize_t bytes,
                              hl_error *error) {
  static const char magic[16] = "SQLite format 3";
  if (bytes < HEADER_BYTES || memcmp(header, magic, sizeof magic) != 0)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: the store is damaged, or is no SQLite file. Move it away, or name "
                        "another with --store; `sqlite3 FILE .recover` may save its rows",
                        path);
  uint32_t id = big_endian(header + APPLICATION_ID_AT);
  uint32_t version = big_endian(header + USER_VERSION_AT);
  if (id != 0 && id != HL_STORE_APPLICATION_ID)
    return hl__store_refuse_identity(path, true, version, error);
  if (id != 0 && version > (uint32_t)hl_store_schema_count)
    return hl__store_refuse_identity(path, false, version, error);
  return HL_OK;
}

hl_status hl__store_check_file(const char *path, hl_store_mode mode, hl_error *error) {
  /* O_NONBLOCK: a pipe without a writer is refused and not waited for. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT && mode == HL_STORE_WRITE) return HL_OK;
  if (fd < 0 && errno == ENOENT)
    return hl_error_set(error, HL_NOT_FOUND,
                        "%s: there is no store here yet. `hotlap sweep` makes one; --store names "
                        "another",
                        path);
  if (fd < 0)
    return hl_error_errno(error, HL_IO,
                          "%s: cannot open the store. Check its permissions, or name another with "
                          "--store",
                          path);
  struct stat st;
  unsigned char header[HEADER_BYTES];
  hl_status status = HL_OK;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%s: not a regular file. Name another store with --store", path);
  } else if (st.st_size > 0) {
    ssize_t bytes = read(fd, header, sizeof header);
    status = bytes < 0 ? hl_error_errno(error, HL_IO, "%s: cannot read the store", path)
                       : check_header(path, header, bytes, error);
  } else if (mode != HL_STORE_WRITE) {
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s: the store is empty (0 bytes), so it holds no runs. Name another "
                          "with --store; `hotlap sweep` begins one in this file",
                          path);
  }
  close(fd);
  return status;
}
