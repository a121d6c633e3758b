#include "run/custom.h"

#include "base/clock.h"
#include "base/file.h"
#include "run/child.h"
#include "run/custom-python.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hotlap/metric.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  limit_s = 10,
  interrupted_limit_s = 1,
  name_bytes = HL_CUSTOM_NAME_BYTES,
  unit_bytes = 31,
  doc_bytes = 255
};

/* What the child says, in pieces of one size: what an object did to its own memory cannot make this
 * process read beyond them. */
typedef struct message {
  char kind; /* 'M' a metric, 'V' its value, 'E' an error of the object, 'D' done */
  char name[name_bytes + 1], unit[unit_bytes + 1], doc[doc_bytes + 1];
  char better;
  bool known;
  double value;
  char reason[256];
} message;

/* -- in the child ------------------------------------------------------------------------------ */

static void say(int fd, const message *m) {
  if (hl_write_all(fd, m, sizeof *m, "the answer", NULL) != HL_OK) _exit(1);
}

static _Noreturn void complain(int fd, const char *format, const char *what) {
  message m = {.kind = 'E'};
  snprintf(m.reason, sizeof m.reason, format, what);
  say(fd, &m);
  _exit(0);
}

static double number(const hl_custom_facts *row, const char *key) {
  const hl_record *record = row->context;
  const hl_metric *metric = key ? hl_metric_find(key) : NULL;
  if (!record || !metric || hl_record_is_null(record, metric)) return (double)NAN;
  const void *field = (const char *)record + metric->offset;
  switch (metric->kind) {
  case HL_METRIC_INT:
    return (double)*(const int64_t *)field;
  case HL_METRIC_REAL:
    return *(const double *)field;
  case HL_METRIC_BOOL:
    return *(const int8_t *)field;
  default:
    return (double)NAN;
  }
}

static const char *text(const hl_custom_facts *row, const char *key) {
  const hl_record *record = row->context;
  const hl_metric *metric = key ? hl_metric_find(key) : NULL;
  if (!record || !metric || metric->kind != HL_METRIC_TEXT) return NULL;
  return *(char *const *)((const char *)record + metric->offset);
}

static const hl_custom_metric *const *open_python(const char *path, const char *python,
                                                  const hl_record *record, int fd) {
  const hl_custom_metric *const *list;
  hl_error error = {0};
  if (hl_custom_python_open(path, python, record, &list, &error) != HL_OK)
    complain(fd, "%s", error.msg);
  if (!list[0]) complain(fd, "%s", "it has no metrics: no function with @metric of hotlap.metric");
  return list;
}

static const hl_custom_metric *const *open_object(const char *path, int fd) {
  HL_CLEANUP(hl_free_pointer)
  char *place = strchr(path, '/') ? hl_strdup(path) : hl_format("./%s", path);
  void *object = place ? dlopen(place, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!object) complain(fd, "cannot open it: %s", dlerror());
  void *symbol = dlsym(object, "hl_custom_entry");
  if (!symbol) complain(fd, "%s", "it exports no hl_custom_entry: no metrics of hotlap/metric.h");
  hl_custom_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointer */
  const hl_custom_metric *const *list = entry();
  if (!list || !list[0]) complain(fd, "%s", "it has no metrics");
  return list;
}

/* Copies what fits; false if it does not, or is no UTF-8 text of one line. */
static bool take_text(char *to, size_t bytes, const char *from) {
  if (!from) return true;
  size_t length = strnlen(from, bytes + 1);
  if (length > bytes) return false;
  memcpy(to, from, length + 1);
  for (const char *c = to; *c; c++)
    if (hl_text_control(c)) return false;
  return hl_utf8_valid(to);
}

static bool good_name(const char *name) {
  size_t length = strnlen(name, name_bytes + 1);
  return length > 0 && length <= name_bytes && name[0] >= 'a' && name[0] <= 'z' &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static void describe(const hl_custom_metric *metric, int fd, message *m) {
  *m = (message){.kind = 'M'};
  if (metric->abi != HL_CUSTOM_ABI || metric->size < sizeof *metric)
    complain(fd, "%s", "it was built for another version of hotlap/metric.h");
  if (!metric->name || !good_name(metric->name))
    complain(fd, "%s",
             "the name of a metric has 1 to 48 of a-z, 0-9 and _, and begins with a letter");
  if (hl_metric_find(metric->name))
    complain(fd, "'%.48s' is a metric of hotlap itself; name it otherwise", metric->name);
  bool fits = take_text(m->name, name_bytes, metric->name) &&
              take_text(m->unit, unit_bytes, metric->unit) &&
              take_text(m->doc, doc_bytes, metric->doc);
  if (!fits)
    complain(fd, "the unit of '%.48s' has at most 31 bytes and its doc 255, of UTF-8 in one line",
             metric->name);
  if (!metric->compute) complain(fd, "'%.48s' has no function", metric->name);
  if (metric->better < HL_CUSTOM_NEITHER || metric->better > HL_CUSTOM_LOWER)
    complain(fd, "'%.48s' is better neither higher, lower nor neither", metric->name);
  m->better = (char)metric->better;
}

static void compute(const hl_custom_metric *metric, const hl_record *record,
                    const hl_custom_output *outputs, message *m) {
  const hl_custom_facts facts = {.size = sizeof facts,
                                 .context = (void *)(uintptr_t)record,
                                 .number = number,
                                 .text = text,
                                 .samples_ns = record->samples_ns,
                                 .sample_count = record->sample_count,
                                 .outputs = outputs,
                                 .output_count = record->outputs ? record->outputs->count : 0};
  char reason[256] = "";
  double value = (double)NAN;
  m->kind = 'V';
  bool given = metric->compute(&facts, &value, reason, sizeof reason) == 0;
  m->known = given && isfinite(value);
  m->value = m->known ? value : (double)NAN;
  reason[sizeof reason - 1] = '\0';
  if (m->known) return;
  hl_text_blank(reason, "");
  if (!hl_utf8_valid(reason)) reason[0] = '\0';
  const char *otherwise = "the plug-in does not know it";
  if (given) otherwise = isnan(value) ? "the plug-in gave nan" : "the plug-in gave an infinity";
  snprintf(m->reason, sizeof m->reason, "%s", reason[0] ? reason : otherwise);
}

/* As a plug-in sees them; of a row that has none, none. */
static void list_outputs(const hl_record_outputs *from, hl_custom_output *ret_outputs) {
  for (size_t i = 0, at = 0; from && i < from->count; i++) {
    const hl_record_output *o = &from->items[i];
    ret_outputs[i] = (hl_custom_output){.size = sizeof *ret_outputs,
                                        .rank = (uint32_t)o->rank,
                                        .dims = o->dims,
                                        .values = from->values + at,
                                        .reference = from->reference ? from->reference + at : NULL,
                                        .count = o->count};
    at += o->count;
  }
}

static _Noreturn void run_child(const char *path, const char *python, const hl_record *record,
                                int fd) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO); /* what an object prints is no part of a result */
  struct stat st; /* opening a pipe waits for ever for someone to write into it */
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) complain(fd, "%s", "not a regular file");
  const hl_custom_metric *const *list =
      hl_text_ends(path, ".py") ? open_python(path, python, record, fd) : open_object(path, fd);
  message m;
  size_t count = 0;
  for (; list[count]; count++) {
    if (count == HL_CUSTOM_MOST) complain(fd, "%s", "it has more than 32 metrics");
    describe(list[count], fd, &m);
    say(fd, &m);
  }
  hl_custom_output outputs[HL_RECORD_OUTPUTS];
  if (record) list_outputs(record->outputs, outputs);
  for (size_t i = 0; record && i < count; i++) {
    describe(list[i], fd, &m);
    compute(list[i], record, outputs, &m);
    say(fd, &m);
  }
  m = (message){.kind = 'D'};
  say(fd, &m);
  _exit(0);
}

/* -- in the parent ----------------------------------------------------------------------------- */

typedef struct answer {
  message metrics[HL_CUSTOM_MOST];
  size_t count;
  bool done, interrupted; /* the latter while it computed */
  char reason[320];       /* why it is not done */
} answer;

static bool is_readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* How long an object may take. A row that an interrupt left is asked for, too, but not for long. */
typedef struct patience {
  uint64_t deadline_ns;
  int wake_fd; /* readable: now; -1 after it was */
  bool was_interrupted, late, interrupted;
} patience;

static patience patience_of(int wake_fd) {
  bool was = is_readable(wake_fd);
  uint64_t ns = (uint64_t)(was ? interrupted_limit_s : limit_s) * 1000000000u;
  return (patience){
      .deadline_ns = hl_clock_ns() + ns, .wake_fd = was ? -1 : wake_fd, .was_interrupted = was};
}

static bool is_over(patience *p) {
  uint64_t now = hl_clock_ns(), soon = now + (uint64_t)interrupted_limit_s * 1000000000u;
  if (!p->interrupted && is_readable(p->wake_fd)) {
    p->interrupted = true;
    if (soon < p->deadline_ns) p->deadline_ns = soon;
  }
  p->late = p->late || now >= p->deadline_ns;
  return p->interrupted || p->late;
}

/* A whole message; false at the end, or when patience is over. One that an interrupt finds written
 * is taken all the same. */
static bool read_message(int fd, patience *limit, message *m) {
  for (size_t got = 0; got < sizeof *m;) {
    if (is_over(limit) && (limit->late || !is_readable(fd))) return false;
    uint64_t now = hl_clock_ns(), end = limit->deadline_ns;
    int left_ms = now < end ? (int)((end - now) / 1000000) + 1 : 0;
    struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = limit->wake_fd, .events = POLLIN}};
    int ready = poll(p, HL_COUNT(p), left_ms);
    if (ready <= 0 || !p[0].revents) continue;
    ssize_t n = read(fd, (char *)m + got, sizeof *m - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  /* Whoever wrote it, these are texts. */
  m->name[name_bytes] = m->unit[unit_bytes] = m->doc[doc_bytes] = '\0';
  m->reason[sizeof m->reason - 1] = '\0';
  return true;
}

static void take_message(answer *a, const message *m) {
  switch (m->kind) {
  case 'M':
    if (a->count < HL_CUSTOM_MOST) {
      a->metrics[a->count] = *m;
      a->metrics[a->count++].reason[0] = '\0';
    }
    break;
  case 'V':
    for (size_t i = 0; i < a->count; i++)
      if (strcmp(a->metrics[i].name, m->name) == 0) a->metrics[i] = *m;
    break;
  case 'E':
    snprintf(a->reason, sizeof a->reason, "%s", m->reason);
    break;
  default:
    a->done = true;
    break;
  }
}

static void explain_end(answer *a, int wait_status, const patience *p) {
  if (a->done || a->reason[0]) return;
  if (p->interrupted || (p->late && p->was_interrupted))
    snprintf(a->reason, sizeof a->reason, "the run was interrupted");
  else if (p->late)
    snprintf(a->reason, sizeof a->reason, "it took more than %d s", limit_s);
  else if (WIFSIGNALED(wait_status))
    snprintf(a->reason, sizeof a->reason, "it crashed (%s)", strsignal(WTERMSIG(wait_status)));
  else
    snprintf(a->reason, sizeof a->reason, "it ended its process");
}

/* Whether it ends before patience does. */
static bool ends(pid_t pid, patience *limit) {
  const struct timespec pause = {.tv_nsec = 2000000};
  for (;;) {
    siginfo_t ended = {0};
    if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid)
      return true;
    if (is_over(limit)) return false;
    nanosleep(&pause, NULL);
  }
}

static hl_status ask(const char *path, const char *python, const hl_record *record, int wake_fd,
                     answer *ret_answer, hl_error *error) {
  int pipes[2];
  *ret_answer = (answer){0};
  if (pipe2(pipes, O_CLOEXEC) < 0) return hl_error_errno(error, HL_IO, "cannot make a pipe");
  fflush(NULL); /* not twice, once by each process */
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    hl_child_begin(parent);
    close(pipes[0]);
    run_child(path, python, record, pipes[1]);
  }
  close(pipes[1]);
  if (pid < 0) {
    close(pipes[0]);
    return hl_error_errno(error, HL_IO, "cannot start a process for %s", path);
  }
  patience limit = patience_of(wake_fd);
  message m;
  while (!ret_answer->done && read_message(pipes[0], &limit, &m)) take_message(ret_answer, &m);
  close(pipes[0]);
  int wait_status = 0;
  /* One that has closed its end without an answer may go on for ever. */
  if (ret_answer->done || is_over(&limit) || !ends(pid, &limit)) kill(-pid, SIGKILL);
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  explain_end(ret_answer, wait_status, &limit);
  ret_answer->interrupted = limit.interrupted;
  return HL_OK;
}

hl_status hl_custom_check(const hl_method_options *method, int wake_fd, hl_custom_names *ret_names,
                          hl_error *error) {
  const char *const *plugins = method->metric_plugins;
  hl_custom_names *known = ret_names;
  known->count = 0;
  for (size_t i = 0; i < method->metric_plugin_count; i++) {
    answer a;
    hl_status status = ask(plugins[i], method->python, NULL, wake_fd, &a, error);
    if (status != HL_OK) return status;
    if (!a.done && a.interrupted) return hl_error_set(error, HL_INTERRUPTED, "interrupted");
    if (!a.done)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--metric-plugin %.200s: %s", plugins[i],
                          a.reason);
    for (size_t k = 0; k < a.count; k++) {
      for (size_t n = 0; n < known->count; n++)
        if (strcmp(known->names[n], a.metrics[k].name) == 0)
          return hl_error_set(error, HL_INVALID_ARGUMENT,
                              "--metric-plugin %.200s: there are two metrics '%s'", plugins[i],
                              known->names[n]);
      if (known->count == HL_CUSTOM_MOST)
        return hl_error_set(error, HL_LIMIT, "--metric-plugin: more than %d metrics in all",
                            HL_CUSTOM_MOST);
      memcpy(known->names[known->count++], a.metrics[k].name, sizeof known->names[0]);
    }
  }
  return HL_OK;
}

static const char *better_name(char better) {
  return better == HL_CUSTOM_HIGHER ? "higher" : better == HL_CUSTOM_LOWER ? "lower" : "neither";
}

static hl_status add(const message *m, const char *why, hl_record *record, hl_error *error) {
  hl_custom custom;
  hl_custom_init(&custom);
  hl_record_set_text(&custom.name, m->name);
  hl_record_set_text(&custom.unit, m->unit);
  hl_record_set_text(&custom.doc, m->doc[0] ? m->doc : NULL);
  hl_record_set_text(&custom.better, better_name(m->better));
  if (m->kind == 'V' && m->known)
    custom.value = m->value;
  else
    hl_record_set_text(&custom.reason, m->kind == 'V' ? m->reason : why);
  hl_status status = custom.name ? hl_customs_take(&record->customs, &custom, error)
                                 : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a metric");
  hl_custom_release(&custom);
  return status;
}

/* What one object says of the row. */
static hl_status take_answer(const char *plugin, const answer *a, hl_record *record,
                             hl_error *error) {
  hl_status status = HL_OK;
  if (!a->done) hl_record_note(record, "metric plug-in %s: %s", plugin, a->reason);
  for (size_t k = 0; k < a->count && status == HL_OK; k++)
    status =
        add(&a->metrics[k], a->reason[0] ? a->reason : "the plug-in did not say it", record, error);
  return status;
}

hl_status hl_custom_compute(const hl_method_options *method, int wake_fd, hl_record *record,
                            hl_error *error) {
  const char *const *plugins = method->metric_plugins;
  hl_status status = HL_OK;
  bool interrupted = false;
  for (size_t i = 0; i < method->metric_plugin_count && status == HL_OK; i++) {
    answer a = {.reason = "the run was interrupted"};
    hl_error inner = {0};
    if (!interrupted && ask(plugins[i], method->python, record, wake_fd, &a, &inner) != HL_OK)
      snprintf(a.reason, sizeof a.reason, "%.300s", inner.msg);
    interrupted = interrupted || a.interrupted;
    status = take_answer(plugins[i], &a, record, error);
  }
  hl_record_outputs_free(record->outputs);
  record->outputs = NULL;
  if (status == HL_OK && interrupted) return hl_error_set(error, HL_INTERRUPTED, "interrupted");
  return status;
}
