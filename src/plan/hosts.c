#include "plan/hosts.h"

#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for hosts");
}

/* Characters of the host's name that `text` begins with, which may be a directory's and a word of
 * ssh; 0: with none. */
static size_t name_length(const char *text) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@";
  size_t length = strspn(text, good);
  return length > HL_HOST_NAME || text[0] == '-' || text[0] == '.' ? 0 : length;
}

static hl_status check_name(const char *name, hl_error *error) {
  size_t length = name_length(name);
  if (length && name[length] == '\0') return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--hosts: '%.80s' is no name of a host: 1 to %d letters, digits and .-_@; a "
                      "launcher stands behind NAME=",
                      name, HL_HOST_NAME);
}

static hl_status add(hl_plan_host *hosts, size_t *count, hl_plan_host host, hl_error *error) {
  hl_status status = check_name(host.name, error);
  for (size_t i = 0; i < *count && status == HL_OK; i++)
    if (strcmp(hosts[i].name, host.name) == 0)
      status = hl_error_set(error, HL_INVALID_ARGUMENT,
                            "--hosts: '%s' is there twice; rows of one machine run one after "
                            "another",
                            hosts[i].name);
  if (status == HL_OK && *count == HL_HOSTS)
    status = hl_error_set(error, HL_LIMIT, "--hosts: more than %d", HL_HOSTS);
  if (status == HL_OK) hosts[(*count)++] = host;
  return status;
}

/* What begins as another NAME= behind a comma of the command, outside quotes; NULL: nothing. Nobody
 * can tell two machines from a word such as --export=ALL,A=1. */
static const char *another_name(const char *command) {
  char quote = '\0';
  for (const char *c = command; *c; c++) {
    if (quote ? *c == quote : *c == '\'' || *c == '"') {
      quote = quote ? '\0' : *c;
    } else if (!quote && *c == ',') {
      const char *name = c + 1 + strspn(c + 1, " \t");
      size_t length = name_length(name);
      if (length && name[length] == '=') return name;
    }
  }
  return NULL;
}

/* "NAME=COMMAND". */
static hl_status add_launcher(const char *text, size_t length, hl_arena *arena, hl_plan_host *hosts,
                              size_t *count, hl_error *error) {
  const char *command = text + length + 1;
  if (command[strspn(command, " \t")] == '\0')
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--hosts: '%.80s' names no command, such as gpu=ssh box; without '=' the "
                        "name is one of ssh",
                        text);
  const char *another = another_name(command);
  if (another)
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "--hosts: '%.80s': is '%.*s=' another host, or of the command? Give --hosts "
        "once for each host with a launcher, and put a word with such a comma in "
        "single quotes",
        text, (int)name_length(another), another);
  bool here = strcmp(command, "none") == 0 || strcmp(command, "local") == 0;
  hl_plan_host host = {.name = hl_arena_text_n(arena, text, length),
                       .launcher = here ? NULL : command};
  return host.name ? add(hosts, count, host, error) : no_memory(error);
}

/* "a,b". */
static hl_status add_names(const char *text, hl_arena *arena, hl_plan_host *hosts, size_t *count,
                           hl_error *error) {
  char *copy = hl_arena_text(arena, text);
  if (!copy) return no_memory(error);
  hl_status status = HL_OK;
  for (char *name; status == HL_OK && (name = strsep(&copy, ", "));) {
    if (!name[0]) continue;
    hl_plan_host host = {.name = name};
    HL_CLEANUP(hl_free_pointer) char *launcher = hl_format("ssh %s", name);
    if (strcmp(name, "local") != 0)
      host.launcher = launcher ? hl_arena_text(arena, launcher) : NULL;
    bool whole = host.launcher || strcmp(name, "local") == 0;
    status = whole ? add(hosts, count, host, error) : no_memory(error);
  }
  return status;
}

hl_status hl_hosts_read(const hl_options *options, hl_arena *arena,
                        hl_plan_host ret_hosts[HL_HOSTS], size_t *ret_count, hl_error *error) {
  hl_status status = HL_OK;
  const char *text;
  *ret_count = 0;
  for (size_t i = 0; status == HL_OK && (text = hl_options_at(options, HL_OPTION_HOSTS, i)); i++) {
    const char *equals = strchr(text, '=');
    size_t before = *ret_count;
    status = equals
                 ? add_launcher(text, (size_t)(equals - text), arena, ret_hosts, ret_count, error)
                 : add_names(text, arena, ret_hosts, ret_count, error);
    if (status == HL_OK && *ret_count == before)
      status = hl_error_set(error, HL_INVALID_ARGUMENT, "--hosts: nothing in '%.80s'", text);
  }
  return status;
}
