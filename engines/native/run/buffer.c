#include "run/buffer.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((uint64_t)2 << 20)

/* Touches every page. MADV_POPULATE_WRITE reports a lack of memory instead of killing the process
 * with SIGBUS; older kernels have only the write. */
static int populate(void *data, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(data, bytes, MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  long page = sysconf(_SC_PAGESIZE);
  volatile unsigned char *byte = data;
  for (uint64_t i = 0; i < bytes; i += (uint64_t)page) byte[i] = 0;
  return 0;
}

hl_status hl_native_buffer_init(hl_native_buffer *buffer, uint64_t bytes, const char *what,
                                hl_native_account *account, hl_error *error) {
  *buffer = (hl_native_buffer){0};
  if (bytes == 0) return HL_OK;
  if (bytes > SIZE_MAX / 2)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: %llu bytes are beyond the address space",
                        what, (unsigned long long)bytes);
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return hl_error_errno(error, HL_OUT_OF_MEMORY,
                          "%s: no memory for %llu bytes; use a smaller batch", what,
                          (unsigned long long)bytes);
  if (bytes >= HUGE_BYTES) (void)madvise(data, bytes, MADV_HUGEPAGE);
  if (populate(data, bytes) != 0) {
    int saved = errno;
    munmap(data, bytes);
    errno = saved;
    return hl_error_errno(error, HL_OUT_OF_MEMORY,
                          "%s: no memory behind %llu bytes; use a smaller batch", what,
                          (unsigned long long)bytes);
  }
  buffer->data = data;
  buffer->bytes = bytes;
  account->allocated_bytes += bytes;
  if (account->allocated_bytes > account->peak_bytes)
    account->peak_bytes = account->allocated_bytes;
  return HL_OK;
}

void hl_native_buffer_release(hl_native_buffer *buffer, hl_native_account *account) {
  if (!buffer->data) return;
  munmap(buffer->data, buffer->bytes);
  account->allocated_bytes -= buffer->bytes;
  *buffer = (hl_native_buffer){0};
}
