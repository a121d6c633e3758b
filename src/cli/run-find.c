/* Plans that come with hotlap, by their names. */
#include "base/file.h"
#include "base/text.h"
#include "cli/run-plan.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "plans/neurallayers.yaml", "neurallayers.yaml" and "neurallayers" are neurallayers, with that
 * ending or its short form; false for what names no plan of ours. */
static bool plan_name(const char *name, const char *ending, char ret_name[64]) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (strncmp(name, "plans/", 6) == 0) name += 6;
  size_t length = strspn(name, good);
  bool known = strcmp(name + length, ending) == 0 || strcmp(name + length, ".yml") == 0;
  if (length == 0 || length > 63 || (name[length] && !known)) return false;
  memcpy(ret_name, name, length);
  ret_name[length] = '\0';
  return true;
}

static void list_plans(const char *directory, hl_text *out) {
  DIR *open = opendir(directory);
  if (!open) return;
  for (const struct dirent *entry; (entry = readdir(open));) {
    size_t length = strlen(entry->d_name);
    if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0)
      hl_text_format(out, "%s%.*s", out->length ? ", " : "", (int)length - 5, entry->d_name);
  }
  closedir(open);
}

static hl_status not_found(const char *name, char *const *directories, size_t count,
                           hl_error *error) {
  hl_text plans = HL_TEXT_INIT;
  for (size_t i = 0; i < count && !plans.length; i++)
    if (directories[i]) list_plans(directories[i], &plans);
  hl_status status =
      hl_error_set(error, HL_NOT_FOUND,
                   "no plan '%.200s': neither a file nor one that comes with hotlap (%.200s)", name,
                   plans.length ? plans.data : "there is none");
  hl_text_release(&plans);
  return status;
}

/* A file, or one with that ending that comes with hotlap. */
static hl_status find(const char *name, const char *ending, char **ret_path, hl_error *error) {
  if (access(name, F_OK) == 0) {
    *ret_path = hl_strdup(name);
    return *ret_path ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  }
  HL_CLEANUP(hl_free_pointer) char *program = hl_program_directory();
  /* Where the program was built, or where it is installed. */
  char *directories[] = {program ? hl_format("%s/../plans", program) : NULL,
                         program ? hl_format("%s/%s", program, HL_PLAN_DIRECTORY) : NULL};
  char wanted[64];
  char *found = NULL;
  bool ours = plan_name(name, ending, wanted);
  for (size_t i = 0; ours && !found && i < HL_COUNT(directories); i++) {
    char *path = directories[i] ? hl_format("%s/%s%s", directories[i], wanted, ending) : NULL;
    if (path && access(path, F_OK) == 0)
      found = path;
    else
      free(path);
  }
  hl_status status = found ? HL_OK : not_found(name, directories, HL_COUNT(directories), error);
  for (size_t i = 0; i < HL_COUNT(directories); i++) free(directories[i]);
  if (found) *ret_path = found;
  return status;
}

hl_status hl_cli_plan_find(const char *name, char **ret_path, hl_error *error) {
  return find(name, ".yaml", ret_path, error);
}

hl_status hl_cli_tasks_find(const char *name, char **ret_path, hl_error *error) {
  hl_error no_plan = {0};
  hl_status status = find(name, ".csv", ret_path, &no_plan);
  if (status == HL_NOT_FOUND)
    return hl_error_set(
        error, status,
        "there is no table of tasks '%.200s': neither a file nor one that comes with "
        "hotlap (train_tasks.csv, inference_tasks.csv)",
        name);
  return status == HL_OK ? HL_OK : hl_error_set(error, status, "%s", no_plan.msg);
}
