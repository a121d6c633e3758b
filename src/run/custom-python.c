#include "run/custom-python.h"

#include "base/file.h"
#include "protocol/channel.h"
#include "run/custom.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { line_bytes = 64 << 10 };

/* The one interpreter of this process. */
static FILE *answers;
static pid_t interpreter;
static json_t *described[HL_CUSTOM_MOST + 2]; /* one too many is seen by who counts them */
static hl_custom_metric metrics[HL_CUSTOM_MOST + 2];
static const hl_custom_metric *list[HL_CUSTOM_MOST + 2];

/* -- what it is told --------------------------------------------------------------------------- */

static void write_outputs(const hl_record_outputs *outputs, hl_json *json) {
  hl_json_array(json, "outputs");
  for (size_t i = 0; outputs && i < outputs->count; i++) {
    const hl_record_output *o = &outputs->items[i];
    hl_json_object(json, NULL);
    hl_json_int(json, "count", (int64_t)o->count);
    hl_json_bool(json, "has_reference", outputs->reference != NULL);
    hl_json_array(json, "dims");
    for (int d = 0; d < o->rank; d++) hl_json_int(json, NULL, o->dims[d]);
    hl_json_end(json);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_facts(const hl_record *record, hl_text *text) {
  hl_json json;
  hl_json_init(&json, text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_object(&json, "row");
  hl_record_write_json(record, &json);
  hl_json_end(&json);
  hl_json_array(&json, "samples_ns");
  for (size_t i = 0; i < record->sample_count; i++)
    hl_json_int(&json, NULL, (int64_t)record->samples_ns[i]);
  hl_json_end(&json);
  write_outputs(record->outputs, &json);
  hl_json_end(&json);
}

static hl_status write_values(int fd, const hl_record_outputs *outputs, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0, at = 0; outputs && i < outputs->count && status == HL_OK; i++) {
    size_t count = outputs->items[i].count;
    status = hl_write_all(fd, outputs->values + at, count * sizeof(float), "outputs", error);
    if (status == HL_OK && outputs->reference)
      status = hl_write_all(fd, outputs->reference + at, count * sizeof(float), "outputs", error);
    at += count;
  }
  return status;
}

/* A file in memory with all of it, to be read from its beginning; -1 if it cannot be had. */
static int facts_file(const hl_record *record, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  if (record) write_facts(record, &text);
  if (!record) hl_text_append(&text, "null");
  hl_text_append(&text, "\n");
  int fd = text.failed ? -1 : memfd_create("hotlap-facts", 0);
  hl_status status = fd >= 0 ? hl_write_all(fd, text.data, text.length, "facts", error)
                             : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for its facts");
  if (status == HL_OK && record) status = write_values(fd, record->outputs, error);
  hl_text_release(&text);
  if (status == HL_OK && lseek(fd, 0, SEEK_SET) < 0)
    status = hl_error_errno(error, HL_IO, "cannot read its facts again");
  if (status == HL_OK) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* -- what it says ------------------------------------------------------------------------------ */

/* It has ended: so does this process, as it did. */
static _Noreturn void end_alike(void) {
  int status = 0;
  while (waitpid(interpreter, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static json_t *next_line(void) {
  static char line[line_bytes];
  if (!fgets(line, sizeof line, answers)) end_alike();
  return json_loads(line, 0, NULL);
}

static int next_value(const hl_custom_facts *row, double *value, char *reason, size_t bytes) {
  (void)row;
  json_t *said = next_line();
  const char *why = hl_json_get_text(said, "reason", NULL);
  if (why) snprintf(reason, bytes, "%s", why);
  bool known = json_object_get(said, "value") != NULL;
  *value = hl_json_get_real(said, "value", (double)NAN);
  json_decref(said);
  return !known;
}

static hl_status take_metrics(hl_error *error) {
  for (size_t i = 0; i < HL_COUNT(described); i++) {
    json_t *said = described[i] = next_line();
    const char *wrong = hl_json_get_text(said, "error", NULL);
    if (wrong) return hl_error_set(error, HL_BAD_DATA, "%s", wrong);
    if (json_object_size(said) == 0 || i + 1 == HL_COUNT(described)) return HL_OK;
    metrics[i] = (hl_custom_metric){.abi = HL_CUSTOM_ABI,
                                    .size = sizeof metrics[i],
                                    .name = hl_json_get_text(said, "name", ""),
                                    .unit = hl_json_get_text(said, "unit", ""),
                                    .doc = hl_json_get_text(said, "doc", ""),
                                    .better = (int)hl_json_get_int(said, "better", 0),
                                    .compute = next_value};
    list[i] = &metrics[i];
  }
  return HL_OK;
}

/* -- the process ------------------------------------------------------------------------------- */

static _Noreturn void become(const char *path, const char *python, int facts, int answer) {
  char in[16], out[16];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  snprintf(in, sizeof in, "%d", facts);
  snprintf(out, sizeof out, "%d", answer);
  const char *const words[] = {"hotlap", "worker", "metrics", path, in, out, python, NULL};
  execv("/proc/self/exe", (char **)(uintptr_t)words);
  _exit(127);
}

hl_status hl_custom_python_open(const char *path, const char *python, const hl_record *record,
                                const hl_custom_metric *const **ret_list, hl_error *error) {
  int pipes[2], facts = facts_file(record, error);
  if (facts < 0) return HL_OUT_OF_MEMORY;
  if (pipe(pipes) < 0) {
    close(facts);
    return hl_error_errno(error, HL_IO, "cannot make a pipe");
  }
  interpreter = fork(); /* in this process' group: it is ended with it */
  if (interpreter == 0) {
    close(pipes[0]);
    become(path, python, facts, pipes[1]);
  }
  close(pipes[1]);
  close(facts);
  if (interpreter < 0) return hl_error_errno(error, HL_IO, "cannot start a process");
  answers = fdopen(pipes[0], "r");
  if (!answers) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for its answers");
  *ret_list = list;
  return take_metrics(error);
}
