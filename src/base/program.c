#include "base/program.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hl_program_is(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *hl_program_in(const char *folder, const char *name) {
  char *path = folder && folder[0] ? hl_format("%s/%s", folder, name) : NULL;
  if (path && hl_program_is(path)) return path;
  free(path);
  return NULL;
}

char *hl_program_find(const char *path, const char *name) {
  char *found = NULL, *list = hl_strdup(path ? path : ""), *rest = list;
  for (const char *folder; !found && (folder = strsep(&rest, ":"));)
    found = hl_program_in(folder, name);
  free(list);
  return found;
}
