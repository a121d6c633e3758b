#include "base/file.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "engine/python.h"
#include "worker/worker.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *doc;
} command;

static const command commands[] = {
    {"sweep", hl_cli_sweep, "measure a network over batch sizes and say which to use"},
    {"tune", hl_cli_tune, "find the best batch, threads, precision and engine of a network"},
    {"run", hl_cli_run, "measure all that a plan file lists"},
    {"tasks", hl_cli_tasks, "run tasks at branches of a repository: also 'run FILE.csv'"},
    {"memory", hl_cli_memory,
     "say where memory goes: by kind, layer and phase, planned and measured"},
    {"profile", hl_cli_profile, "say where the time of a step goes, by operator and by layer"},
    {"train", hl_cli_train, "train a network, and say where the time goes"},
    {"load", hl_cli_load, "serve queries at a rate, and say what latency they meet"},
    {"predict", hl_cli_predict, "predict whole volumes, window by window"},
    {"compare", hl_cli_compare,
     "say whether a configuration, command or commit is faster, and how sure that is"},
    {"models", hl_cli_models, "list the built-in networks; export or quantise one as an ONNX file"},
    {"engines", hl_cli_engines, "list the engines: usable, or why not"},
    {"data", hl_cli_data, "make a simulated scan or volumes, or show what a file holds"},
    {"doctor", hl_cli_doctor, "what this machine is, and what would spoil a measurement"},
    {"history", hl_cli_history,
     "list stored runs, or show a metric over commits and where it changed"},
    {"monitor", hl_cli_monitor,
     "show the log of inference in production: how fast, and when it got slow"},
    {"report", hl_cli_report, "write the tables and plots of a stored run again"},
};

static void print_help(FILE *stream) {
  fputs("hotlap measures how fast neural networks run and says which settings to use.\n"
        "\n"
        "Usage: hotlap COMMAND [ARGUMENT]... [OPTION]...\n"
        "\n"
        "Commands:\n",
        stream);
  for (size_t i = 0; i < HL_COUNT(commands); i++)
    fprintf(stream, "  %-9s %s\n", commands[i].name, commands[i].doc);
  fputs("\n"
        "Begin with:  hotlap sweep ptychopinn --batch-sizes 1,8,32\n"
        "Help:        hotlap COMMAND --help\n",
        stream);
}

/* Descriptors 0 to 2 are open, so that no file or pipe of ours gets such a number. What is written
 * to an output that was closed is an error, as on a full disk, and not lost in silence. */
static void open_standard_streams(void) {
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY))
    if (fd > 2) {
      close(fd);
      return;
    }
}

/* What did not reach its reader is no success. */
static int finish(int exit_status) {
  bool lost = fflush(stdout) != 0;
  if (!ferror(stdout) && !lost) return exit_status;
  fputs("hotlap: cannot write to standard output\n", stderr);
  return exit_status == HL_EXIT_OK ? HL_EXIT_USAGE : exit_status;
}

/* A thread of libgomp that waits for another spins for milliseconds by default, which on a busy
 * machine takes the processor from the very thread it waits for: steps of 25 ms take 700. After
 * 2000 turns (some 40 microseconds) it sleeps instead; on an idle machine that costs at most 3 %.
 * Read by libgomp when an engine brings it in; what the user has set stays. */
static int run_worker(const char *peers) {
  if (!getenv("OMP_WAIT_POLICY")) (void)setenv("GOMP_SPINCOUNT", "2000", 0);
  return hl_worker_main(peers);
}

/* `worker metrics FILE FACTS ANSWERS [PYTHON]`: becomes the interpreter of a Python file's metrics.
 */
static int run_metrics(char **words, int count) {
  hl_error error = {0};
  int64_t answers;
  if (count < 3 || hl_parse_int(words[2], 0, INT_MAX, "ANSWERS", &answers, NULL) != HL_OK)
    return HL_EXIT_USAGE;
  const char *const arguments[] = {words[0], words[1], words[2], NULL};
  hl_python_run("metric_host.py", count > 3 ? words[3] : NULL, arguments, &error);
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "error", error.msg);
  hl_json_end(&json);
  hl_text_append(&text, "\n");
  hl_write_all((int)answers, text.data, text.length, "the answer", NULL);
  return HL_EXIT_USAGE;
}

/* Files are mapped: one that is cut short under us is a signal where its end was. The last words
 * become the reason of a worker's row. */
static void cut_short(int number) {
  static const char text[] =
      "hotlap: SIGBUS: a file became shorter while it was read, or there is no room behind it\n";
  signal(number, SIG_DFL);
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
  raise(number);
}

int main(int argc, char **argv) {
  open_standard_streams();
  /* A closed pipe is an error that write() reports, so that what was measured is kept. */
  signal(SIGBUS, cut_short);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* so is a file beyond its limit (ulimit -f) */
  if (argc < 2) {
    print_help(stderr);
    return HL_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "worker") == 0 && argc > 2 && strcmp(argv[2], "metrics") == 0)
    return run_metrics(argv + 3, argc - 3);
  if (strcmp(name, "worker") == 0) return run_worker(argc > 2 ? argv[2] : NULL);
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_help(stdout);
    return finish(HL_EXIT_OK);
  }
  if (strcmp(name, "--version") == 0) {
    printf("hotlap %s\n", HL_VERSION);
    return finish(HL_EXIT_OK);
  }
  for (size_t i = 0; i < HL_COUNT(commands); i++)
    if (strcmp(commands[i].name, name) == 0) return finish(commands[i].run(argc - 1, argv + 1));
  fprintf(stderr, "hotlap: no command '%s'; 'hotlap --help' lists the commands\n", name);
  return HL_EXIT_USAGE;
}
