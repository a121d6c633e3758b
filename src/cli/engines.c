#include "base/file.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "engine/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] = "Usage: hotlap engines [--plugin PATH]\n"
                            "\n"
                            "Lists the engines: version and place, or why one cannot be used.\n";

/* What a probe found; fixed sizes, because it crosses a pipe. */
typedef struct finding {
  char name[64];
  bool usable;
  char version[128], place[512], why[512];
} finding;

static void probe(const char *name, const char *plugin, finding *f) {
  hl_error error = {0};
  hl_engine_ops ops;
  char *path = NULL;
  hl_status status = hl_engine_open(name, plugin, &ops, &path, &error);
  if (status == HL_OK) {
    snprintf(f->name, sizeof f->name, "%s", ops.name);
    snprintf(f->version, sizeof f->version, "%s", ops.version());
    snprintf(f->place, sizeof f->place, "%s", path && path[0] ? path : "built in");
    status = ops.probe(NULL, &error);
  }
  f->usable = status == HL_OK;
  if (status != HL_OK) snprintf(f->why, sizeof f->why, "%s", error.msg);
  free(path);
}

/* Fills `ret_answer` with what the child wrote; false if it ended before. */
static bool read_answer(int fd, finding *ret_answer) {
  size_t got = 0;
  while (got < sizeof *ret_answer) {
    ssize_t n = read(fd, (char *)ret_answer + got, sizeof *ret_answer - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += (size_t)n;
  }
  return got == sizeof *ret_answer;
}

/* In a child: opening an engine runs its code, which may crash. */
static finding probe_apart(const char *name, const char *plugin) {
  finding f = {0}, answer;
  snprintf(f.name, sizeof f.name, "%s", name ? name : plugin);
  snprintf(f.why, sizeof f.why, "cannot start a process to look at it");
  int fds[2], wait_status = 0;
  if (pipe2(fds, O_CLOEXEC) != 0) return f;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    f.why[0] = '\0';
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a library prints is no part of the list */
    probe(name, plugin, &f);
    _exit(hl_write_all(fds[1], &f, sizeof f, "", NULL) == HL_OK ? 0 : 1);
  }
  close(fds[1]);
  bool answered = pid > 0 && read_answer(fds[0], &answer);
  close(fds[0]);
  if (pid < 0) return f;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (answered) return answer;
  snprintf(f.why, sizeof f.why, "opening it killed the process (%s)",
           WIFSIGNALED(wait_status) ? strsignal(WTERMSIG(wait_status)) : "it exited");
  return f;
}

static void show(const finding *f, hl_json *json) {
  if (!json) {
    printf("%-12s %-7s %s\n", f->name, f->usable ? "usable" : "no",
           f->usable ? f->version : f->why);
    if (f->usable) printf("%-20s %s\n", "", f->place);
    return;
  }
  hl_json_object(json, NULL);
  hl_json_text(json, "engine", f->name);
  hl_json_bool(json, "usable", f->usable);
  hl_json_text(json, "version", f->version[0] ? f->version : NULL);
  hl_json_text(json, "place", f->place[0] ? f->place : NULL);
  hl_json_text(json, "reason", f->usable ? NULL : f->why);
  hl_json_end(json);
}

int hl_cli_engines(int argc, char **argv) {
  hl_options options;
  int exit_status = hl_cli_options('E', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  if (options.positional_count) {
    fprintf(stderr, "hotlap: engines takes no '%s'; a plug-in is named with --plugin\n",
            options.positionals[0]);
    hl_options_release(&options);
    return HL_EXIT_USAGE;
  }
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  bool as_json = hl_options_on(&options, HL_OPTION_JSON);
  if (as_json) hl_json_array(&json, NULL);
  exit_status = HL_EXIT_OK;
  const char *name;
  for (size_t i = 0; (name = hl_engine_builtin(i)); i++) {
    finding f = probe_apart(name, NULL);
    show(&f, as_json ? &json : NULL);
  }
  for (size_t i = 0; (name = hl_options_at(&options, HL_OPTION_PLUGIN, i)); i++) {
    finding f = probe_apart(NULL, name);
    show(&f, as_json ? &json : NULL);
    if (!f.usable) exit_status = HL_EXIT_USAGE; /* it was asked for */
  }
  if (as_json) {
    hl_json_end(&json);
    printf("%s\n", text.data);
  }
  hl_text_release(&text);
  hl_options_release(&options);
  return exit_status;
}
