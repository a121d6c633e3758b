#include "machine/memory.h"
#include "machine/cgroup.h"
#include "machine/sysfs.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool field_bytes(const char *text, const char *key, uint64_t *ret_bytes) {
  uint64_t kib;
  if (!hl_sysfs_field(text, key, &kib) || kib > UINT64_MAX / 1024) return false;
  *ret_bytes = kib * 1024; /* "kB" in /proc is 1024 bytes */
  return true;
}

hl_status hl_memory_read(const char *root, hl_memory *ret_memory, hl_error *error) {
  char text[4096];
  hl_memory memory = {0};
  if (!hl_sysfs_text(root, text, sizeof text, "/proc/self/status"))
    return hl_error_errno(error, HL_IO, "cannot read /proc/self/status");
  if (!field_bytes(text, "VmRSS", &memory.resident_bytes) ||
      !field_bytes(text, "VmHWM", &memory.peak_bytes))
    return hl_error_set(error, HL_IO, "/proc/self/status has no VmRSS and VmHWM");
  field_bytes(text, "RssAnon", &memory.anonymous_bytes);
  field_bytes(text, "RssFile", &memory.file_bytes);
  field_bytes(text, "RssShmem", &memory.shared_bytes);
  field_bytes(text, "VmSwap", &memory.swap_bytes);
  *ret_memory = memory;
  return HL_OK;
}

hl_status hl_memory_read_exact(const char *root, hl_memory *ret_memory, hl_error *error) {
  hl_status status = hl_memory_read(root, ret_memory, error);
  char text[4096];
  uint64_t resident, anonymous;
  if (status || !hl_sysfs_text(root, text, sizeof text, "/proc/self/smaps_rollup") ||
      !field_bytes(text, "Rss", &resident))
    return status; /* kernels before 4.14 have no rollup: the batched count stands */
  ret_memory->resident_bytes = resident;
  if (field_bytes(text, "Anonymous", &anonymous)) ret_memory->anonymous_bytes = anonymous;
  if (ret_memory->peak_bytes < resident) ret_memory->peak_bytes = resident;
  return HL_OK;
}

hl_status hl_memory_peak_reset(hl_error *error) {
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return hl_error_errno(error, HL_UNAVAILABLE, "cannot open /proc/self/clear_refs");
  ssize_t n;
  do n = write(fd, "5", 1);
  while (n < 0 && errno == EINTR);
  int saved = errno;
  close(fd);
  errno = saved;
  return n == 1 ? HL_OK
                : hl_error_errno(error, HL_UNAVAILABLE, "cannot write /proc/self/clear_refs");
}

uint64_t hl_memory_available(const char *root) {
  char text[4096];
  uint64_t available = UINT64_MAX;
  if (hl_sysfs_text(root, text, sizeof text, "/proc/meminfo"))
    field_bytes(text, "MemAvailable", &available);
  uint64_t headroom = hl_cgroup_memory_read(root).headroom_bytes;
  return headroom < available ? headroom : available;
}
