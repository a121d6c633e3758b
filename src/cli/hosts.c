#include "cli/hosts.h"

#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "plan/hosts.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { arena_bytes = 1 << 20, line_most = 64 << 10 };

typedef struct child {
  const char *name;
  pid_t pid;
  int fds[2];       /* its standard output and error; -1: ended */
  hl_text texts[2]; /* what is not shown yet; with --json, all of the first */
  int exit_status;
} child;

typedef struct fleet {
  const hl_options *options;
  child children[HL_HOSTS];
  size_t count;
  int width; /* of the longest name */
  bool json, asked_to_end;
} fleet;

hl_status hl_cli_host_choose(hl_options *options, hl_arena *arena, bool *ret_fans_out,
                             hl_error *error) {
  hl_plan_host hosts[HL_HOSTS];
  size_t count;
  const char *wanted = hl_options_get(options, HL_OPTION_HOST);
  hl_status status = hl_hosts_read(options, arena, hosts, &count, error);
  *ret_fans_out = false;
  if (status != HL_OK || (count == 0 && !wanted)) return status;
  if (hl_options_given(options, HL_OPTION_LAUNCHER))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--launcher names one machine and --hosts several: give one of them");
  *ret_fans_out = !wanted;
  if (!wanted) return HL_OK;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(hosts[i].name, wanted) != 0) continue;
    options->value[HL_OPTION_LAUNCHER] = hosts[i].launcher;
    /* Which is for those that have a launcher. */
    if (!hosts[i].launcher) options->value[HL_OPTION_REMOTE_PROGRAM] = NULL;
    return HL_OK;
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--host: '%.80s' is none of the hosts", wanted);
}

/* -- starting ---------------------------------------------------------------------------------- */

/* The words of this command and, before a "--", the host and its folder. The list is freed. */
static char **make_words(const fleet *f, const char *name, int argc, char **argv, char *owned[2]) {
  char **words = calloc((size_t)argc + 4, sizeof *words);
  const char *folder = hl_options_get(f->options, HL_OPTION_OUTPUT_DIR);
  int at = 0, count = 0;
  owned[0] = hl_format("--host=%s", name);
  owned[1] = hl_format("--output-dir=%s/%s", folder ? folder : "", name);
  if (!words || !owned[0] || !owned[1]) {
    free(words);
    return NULL;
  }
  bool writes = hl_options_given(f->options, HL_OPTION_OUTPUT_DIR) ||
                hl_options_given(f->options, HL_OPTION_EXPORT_FORMAT) ||
                hl_options_given(f->options, HL_OPTION_PLOT_RESULTS);
  words[count++] = (char *)(uintptr_t) "hotlap";
  for (; at < argc && strcmp(argv[at], "--") != 0; at++) words[count++] = argv[at];
  words[count++] = owned[0];
  if (writes) words[count++] = owned[1];
  for (; at < argc; at++) words[count++] = argv[at];
  return words;
}

static hl_status start(fleet *f, child *c, int argc, char **argv, hl_error *error) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  char *owned[2];
  HL_CLEANUP(hl_free_pointer) char **words = make_words(f, c->name, argc, argv, owned);
  hl_status status =
      words ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
  if (status == HL_OK && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0))
    status = hl_error_errno(error, HL_INTERNAL, "cannot create a pipe");
  pid_t parent = getpid();
  fflush(stdout);
  if (status == HL_OK && (c->pid = fork()) == 0) {
    setpgid(0, 0); /* it is asked to end once, by this process */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execv("/proc/self/exe", words);
    _exit(127);
  }
  if (status == HL_OK && c->pid < 0)
    status = hl_error_errno(error, HL_INTERNAL, "cannot start a command");
  if (out[1] >= 0) close(out[1]);
  if (err[1] >= 0) close(err[1]);
  c->fds[0] = out[0];
  c->fds[1] = err[0];
  free(owned[0]);
  free(owned[1]);
  return status;
}

/* -- showing ----------------------------------------------------------------------------------- */

static void show_line(const fleet *f, const child *c, const char *line, size_t length, int stream) {
  HL_CLEANUP(hl_free_pointer) char *copy = strndup(line, length);
  if (!copy) return;
  hl_text_blank(copy, "\t");
  fprintf(stream == 0 ? stdout : stderr, "%-*s |%s%s\n", f->width, c->name, copy[0] ? " " : "",
          copy);
}

/* Whole lines; all of it at the end, or where a line has none. */
static void show(const fleet *f, child *c, int stream, bool all) {
  hl_text *text = &c->texts[stream];
  if (f->json && stream == 0) return;
  size_t at = 0;
  for (char *end; (end = memchr(text->data + at, '\n', text->length - at));) {
    size_t length = (size_t)(end - text->data) - at;
    show_line(f, c, text->data + at, length, stream);
    at += length + 1;
  }
  if ((all || text->length - at > line_most) && text->length > at) {
    show_line(f, c, text->data + at, text->length - at, stream);
    at = text->length;
  }
  HL_CLEANUP(hl_free_pointer) char *rest = strndup(text->data + at, text->length - at);
  hl_text_clear(text);
  if (rest) hl_text_append(text, rest);
  fflush(stream == 0 ? stdout : stderr);
}

static void take(const fleet *f, child *c, int stream) {
  char part[4096];
  ssize_t n = read(c->fds[stream], part, sizeof part);
  if (n < 0 && errno == EINTR) return;
  if (n > 0) hl_text_append_n(&c->texts[stream], part, (size_t)n);
  show(f, c, stream, n <= 0);
  if (n > 0) return;
  close(c->fds[stream]);
  c->fds[stream] = -1;
}

static void ask_to_end(fleet *f) {
  for (size_t i = 0; i < f->count; i++)
    if (f->children[i].pid > 0) kill(f->children[i].pid, SIGINT);
  f->asked_to_end = true;
}

/* Until all have closed their outputs. */
static void follow(fleet *f, int wake_fd) {
  for (;;) {
    struct pollfd fds[2 * HL_HOSTS + 1];
    nfds_t open = 0;
    for (size_t i = 0; i < f->count; i++)
      for (int s = 0; s < 2; s++) {
        fds[2 * i + (size_t)s] = (struct pollfd){.fd = f->children[i].fds[s], .events = POLLIN};
        open += f->children[i].fds[s] >= 0;
      }
    if (open == 0) return;
    fds[2 * f->count] = (struct pollfd){.fd = f->asked_to_end ? -1 : wake_fd, .events = POLLIN};
    if (poll(fds, 2 * f->count + 1, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (fds[2 * f->count].revents) ask_to_end(f);
    for (size_t i = 0; i < f->count; i++)
      for (int s = 0; s < 2; s++)
        if (fds[2 * i + (size_t)s].revents) take(f, &f->children[i], s);
  }
}

static void reap(child *c) {
  int status = 0;
  c->exit_status = HL_EXIT_USAGE;
  if (c->pid <= 0) return;
  while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) c->exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    c->exit_status = HL_EXIT_ROW_FAILED;
    fprintf(stderr, "hotlap: what measures on %s was killed by signal %d (%s)\n", c->name,
            WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
}

static bool is_document(const char *text) {
  json_t *document = json_loads(text, 0, NULL);
  json_decref(document);
  return document != NULL;
}

/* What each printed stands as it is in the place of "document". */
static void print_json(const fleet *f) {
  printf("{\n  \"schema\": \"hotlap.hosts/1\",\n  \"hosts\": [");
  for (size_t i = 0; i < f->count; i++) {
    const child *c = &f->children[i];
    const char *document = c->texts[0].data;
    printf("%s\n{\"host\": \"%s\", \"exit_status\": %d, \"document\": %s}", i ? "," : "", c->name,
           c->exit_status, is_document(document) ? document : "null");
  }
  puts("\n  ]\n}");
}

static int exit_status_of(const fleet *f) {
  static const int strongest[] = {HL_EXIT_INTERRUPTED, HL_EXIT_USAGE, HL_EXIT_GATE};
  bool skips = hl_options_on(f->options, HL_OPTION_SKIP_FAILED);
  size_t nothing = 0, failed = 0;
  for (size_t k = 0; k < HL_COUNT(strongest); k++)
    for (size_t i = 0; i < f->count; i++)
      if (f->children[i].exit_status == strongest[k]) return strongest[k];
  for (size_t i = 0; i < f->count; i++) {
    nothing += f->children[i].exit_status == HL_EXIT_NOTHING;
    failed += f->children[i].exit_status != HL_EXIT_OK;
  }
  if (nothing == f->count) return HL_EXIT_NOTHING;
  if (skips) failed -= nothing;
  return failed ? HL_EXIT_ROW_FAILED : HL_EXIT_OK;
}

static void release(fleet *f) {
  for (size_t i = 0; i < f->count; i++)
    for (int s = 0; s < 2; s++) {
      if (f->children[i].fds[s] >= 0) close(f->children[i].fds[s]);
      hl_text_release(&f->children[i].texts[s]);
    }
}

static hl_status prepare(fleet *f, hl_arena *arena, hl_error *error) {
  hl_plan_host hosts[HL_HOSTS];
  hl_status status = hl_hosts_read(f->options, arena, hosts, &f->count, error);
  for (size_t i = 0; i < f->count; i++) {
    int length = (int)strlen(hosts[i].name);
    f->children[i] =
        (child){.name = hosts[i].name, .fds = {-1, -1}, .texts = {HL_TEXT_INIT, HL_TEXT_INIT}};
    if (length > f->width) f->width = length;
  }
  return status;
}

int hl_cli_hosts_run(const hl_options *options, int argc, char **argv) {
  fleet f = {.options = options, .json = hl_options_on(options, HL_OPTION_JSON)};
  hl_arena arena;
  hl_error error = {0};
  hl_arena_init(&arena, arena_bytes);
  int wake_fd = hl_interrupt_catch();
  hl_status status = prepare(&f, &arena, &error);
  for (size_t i = 0; i < f.count && status == HL_OK; i++)
    status = start(&f, &f.children[i], argc, argv, &error);
  if (status != HL_OK) ask_to_end(&f);
  follow(&f, wake_fd);
  for (size_t i = 0; i < f.count; i++) reap(&f.children[i]);
  int exit_status = status == HL_OK ? exit_status_of(&f) : hl_cli_fail(&error, HL_EXIT_USAGE);
  if (f.json && status == HL_OK) print_json(&f);
  release(&f);
  hl_arena_release(&arena);
  return exit_status;
}
