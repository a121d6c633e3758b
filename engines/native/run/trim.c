#include "run/trim.h"

#include <link.h>
#include <malloc.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && address >= begin &&
        address < begin + info->dlpi_phdr[i].p_memsz)
      return true;
  }
  return false;
}

/* Code that was relocated where it lies has changed and is in no file. */
static bool has_changed(const struct dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const ElfW(Dyn) *entry =
        (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++)
      if (entry->d_tag == DT_TEXTREL ||
          (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)))
        return true;
  }
  return false;
}

static int drop_code(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  if (!holds(info, *(const uintptr_t *)context)) return 0;
  if (has_changed(info)) return 1;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || (part->p_flags & PF_W)) continue;
    uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_filesz;
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (end > begin) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
  }
  return 1;
}

void hl_native_trim(void) {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
  uintptr_t inside = (uintptr_t)&dnnl_version;
  dl_iterate_phdr(drop_code, &inside);
}
