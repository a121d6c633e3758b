#include "run/task-execute.h"

#include "base/clock.h"
#include "base/file.h"
#include "run/task-report.h"
#include "run/task-words.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Below the worktree's directory, as Hydra has them. */
static const char experiments[] = "configs/experiment";

typedef enum kind { ENTRY, FUNCTION, PREDICTION, PLAN } kind;

static kind kind_of(const hl_task_how *how, bool training, const char *experiment) {
  if (how->entry) return ENTRY;
  if (strchr(experiment, ':')) return FUNCTION;
  return !training && strncmp(experiment, "im2im/", 6) == 0 ? PREDICTION : PLAN;
}

static bool exists(const char *directory, const char *path) {
  if (path[0] == '/') return access(path, F_OK) == 0;
  HL_CLEANUP(hl_free_pointer) char *whole = hl_format("%s/%s", directory, path);
  return whole && access(whole, F_OK) == 0;
}

/* -- whether it can be run -------------------------------------------------------------------- */

/* Names that stay below a folder. */
static bool is_inside(const char *name) {
  if (name[0] == '/' || !name[0]) return false;
  for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
    if (strncmp(part, "..", 2) == 0 && (!part[2] || part[2] == '/')) return false;
  return true;
}

/* The experiments beside the one that is missing. */
static void list_experiments(const char *directory, const char *experiment, hl_text *out) {
  const char *slash = strrchr(experiment, '/');
  int length = slash ? (int)(slash + 1 - experiment) : 0;
  HL_CLEANUP(hl_free_pointer)
  char *folder = hl_format("%s/%s/%.*s", directory, experiments, length, experiment);
  DIR *open = folder ? opendir(folder) : NULL;
  for (const struct dirent *entry; open && out->length < 150 && (entry = readdir(open));) {
    size_t name = strlen(entry->d_name);
    if (name > 5 && strcmp(entry->d_name + name - 5, ".yaml") == 0)
      hl_text_format(out, "%s%.*s%.*s", out->length ? ", " : "", length, experiment, (int)name - 5,
                     entry->d_name);
  }
  if (open) closedir(open);
}

/* An entry's experiment is a file of the commit, where it has such files at all. */
static void check_experiment(const hl_task_row *row, const hl_task_place *place, hl_task *task) {
  if (!is_inside(row->experiment)) {
    hl_task_fail(task, HL_FAILED, "'%.200s' is no name of an experiment", row->experiment);
    return;
  }
  HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/%s.yaml", experiments, row->experiment);
  if (!file || !exists(place->directory, experiments) || exists(place->directory, file)) return;
  hl_text others = HL_TEXT_INIT;
  list_experiments(place->directory, row->experiment, &others);
  hl_task_fail(task, HL_FAILED, "branch '%.100s' has no experiment '%.200s': no %.250s%s%s",
               row->branch, row->experiment, file, others.length ? "; there are " : "",
               others.data);
  hl_text_release(&others);
}

/* An experiment of the commit's own is not for a plan of hotlap's that has its name. */
static void check_plan(const hl_task_row *row, const hl_task_place *place, hl_task *task) {
  HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/%s.yaml", experiments, row->experiment);
  if (file && is_inside(row->experiment) && exists(place->directory, file))
    hl_task_fail(task, HL_FAILED,
                 "%.250s is for the branch's own program: --entry says how it is run, such as "
                 "--entry 'python train.py experiment={experiment}'",
                 file);
}

/* Data that is made up has no path. */
static bool is_no_path(const char *data) {
  return strncmp(data, "nuclei", 6) == 0 || strcmp(data, "synthetic") == 0 ||
         strstr(data, "://") != NULL;
}

/* A path as the task's program finds it: of the commit, or else of the user. NULL without memory;
 * the outcome is set where it is in neither place. */
static char *find_path(const hl_task_how *how, const hl_task_place *place, const char *what,
                       const char *path, hl_task *task) {
  if (exists(place->directory, path)) return hl_strdup(path);
  if (path[0] != '/' && exists(how->here, path)) return hl_format("%s/%s", how->here, path);
  hl_task_fail(task, HL_FAILED, "there is no %s '%.300s', in the commit or %s", what, path,
               path[0] == '/' ? "elsewhere" : "in the current directory");
  return hl_strdup(path);
}

/* -- command lines ---------------------------------------------------------------------------- */

static void add_option(hl_text *text, const char *name, const char *value) {
  HL_CLEANUP(hl_free_pointer) char *word = value ? hl_format("%s%s", name, value) : NULL;
  if (word) hl_task_word(text, word);
}

static void add_number(hl_text *text, const char *name, int64_t value) {
  HL_CLEANUP(hl_free_pointer)
  char *word = value < 0 ? NULL : hl_format("%s%lld", name, (long long)value);
  if (word) hl_task_word(text, word);
}

/* gpu is what --device calls cuda; of training --trainer says it. */
static void add_device(hl_text *text, const char *name, const char *trainer) {
  if (!trainer) return;
  bool gpu = strcmp(trainer, "gpu") == 0 || strcmp(trainer, "gpu.yaml") == 0;
  add_option(text, name, gpu ? "cuda" : trainer);
}

static void plan_words(const hl_task_how *how, const hl_task_row *row, bool training,
                       hl_text *text) {
  static const char *const fixed[] = {"run", "--json", "--quiet", "--store=none",
                                      "--export-format=json"};
  for (size_t i = 0; i < HL_COUNT(fixed); i++) hl_task_word(text, fixed[i]);
  add_option(text, "--output-dir=", how->scratch);
  add_option(text, "--only=", training ? "training" : "inference");
  hl_task_word(text, row->experiment);
  add_number(text, "batch-sizes=", row->batch_size);
  if (training) {
    add_number(text, "epochs=", row->max_epochs);
    add_option(text, "trainer=", row->trainer);
  } else {
    add_device(text, "device=", row->trainer);
    add_option(text, "model=", row->checkpoint_path);
    add_option(text, "test-data=", row->data_path);
  }
  for (size_t i = 0; i < row->override_count; i++) hl_task_word(text, row->overrides[i]);
}

static void prediction_words(const hl_task_row *row, hl_text *text) {
  bool labelfree = strstr(row->experiment, "label") != NULL;
  hl_task_word(text, "predict");
  hl_task_word(text, row->checkpoint_path ? row->checkpoint_path : "dynunet:patch=16x32x32");
  hl_task_word(text, "--json");
  add_option(text, "--task=", labelfree ? "labelfree" : "segmentation");
  add_option(text, "--data=", row->data_path ? row->data_path : "nuclei");
  add_number(text, "--batch-size=", row->batch_size);
  add_device(text, "--device=", row->trainer);
  for (size_t i = 0; i < row->override_count; i++) add_option(text, "--", row->overrides[i]);
}

static void function_words(const hl_task_how *how, const hl_task_row *row, bool training,
                           hl_text *text) {
  hl_task_word(text, training ? "train" : "sweep");
  hl_task_word(text, row->experiment);
  hl_task_word(text, "--json");
  hl_task_word(text, "--store=none");
  bool engine = false;
  for (size_t i = 0; i < row->override_count; i++)
    engine |= strncmp(row->overrides[i], "engine=", 7) == 0;
  if (!engine) hl_task_word(text, "--engine=torch");
  add_option(text, "--python=", how->python);
  add_number(text, "--batch-size=", row->batch_size);
  if (training) {
    add_number(text, "--epochs=", row->max_epochs);
    add_option(text, "--trainer=", row->trainer);
  } else {
    add_device(text, "--device=", row->trainer);
    add_option(text, "--weights=", row->checkpoint_path);
    add_option(text, "--test-data=", row->data_path);
  }
  for (size_t i = 0; i < row->override_count; i++) add_option(text, "--", row->overrides[i]);
}

static hl_status make_command(const hl_task_how *how, const hl_task_row *row, hl_task *task,
                              hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_error why = {0};
  hl_status status = HL_OK;
  char *entry = NULL;
  if (how->entry) {
    status = hl_task_entry(how->entry, row, &entry, &why);
  } else {
    hl_task_word(&text, how->program);
    kind what = kind_of(how, task->training, row->experiment);
    if (what == FUNCTION) function_words(how, row, task->training, &text);
    if (what == PREDICTION) prediction_words(row, &text);
    if (what == PLAN) plan_words(how, row, task->training, &text);
    entry = hl_text_take(&text);
  }
  free(task->command);
  task->command = entry;
  if (status == HL_INVALID_ARGUMENT) {
    hl_task_fail(task, HL_FAILED, "%s", why.msg);
    return HL_OK;
  }
  return status == HL_OK && entry
             ? HL_OK
             : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
}

hl_status hl_task_check(const hl_task_how *how, const hl_task_row *row, const hl_task_place *place,
                        hl_task *task, hl_error *error) {
  hl_task_row at = *row;
  if (how->entry)
    check_experiment(row, place, task);
  else
    check_plan(row, place, task);
  HL_CLEANUP(hl_free_pointer)
  char *checkpoint = !task->outcome && row->checkpoint_path
                         ? find_path(how, place, "checkpoint", row->checkpoint_path, task)
                         : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *data = !task->outcome && row->data_path && !is_no_path(row->data_path)
                   ? find_path(how, place, "data path", row->data_path, task)
                   : NULL;
  if (task->outcome) return HL_OK;
  if (checkpoint) at.checkpoint_path = checkpoint;
  if (data) at.data_path = data;
  return make_command(how, &at, task, error);
}

/* -- running ---------------------------------------------------------------------------------- */

enum { variables = 10 };

typedef struct files {
  char *metrics, *result, *modules;
  char *environment[variables + 1];
} files;

static void release_files(files *f) {
  free(f->metrics);
  free(f->result);
  free(f->modules);
  for (size_t i = 0; i < variables; i++) free(f->environment[i]);
}

/* The commit's modules come before those of other folders; what the user has comes after. */
static char *python_path(const hl_task_how *how, const hl_task_place *place) {
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "PYTHONPATH=");
  if (how->observer) hl_text_format(&text, "%s:", how->observer);
  hl_text_append(&text, place->directory);
  if (exists(place->directory, "src")) hl_text_format(&text, ":%s/src", place->directory);
  if (how->python_path && how->python_path[0]) hl_text_format(&text, ":%s", how->python_path);
  return hl_text_take(&text);
}

static hl_status make_files(const hl_task_how *how, const hl_task_place *place, files *f,
                            hl_error *error) {
  f->metrics = hl_format("%s/metrics.json", how->scratch);
  f->result = hl_format("%s/result.json", how->scratch);
  f->modules = hl_format("%s/modules", how->scratch);
  bool whole = f->metrics && f->result && f->modules;
  size_t n = 0;
  if (whole) {
    f->environment[n++] = hl_format("HOTLAP_METRICS=%s", f->metrics);
    f->environment[n++] = hl_format("HOTLAP_MODULES=%s", f->modules);
    f->environment[n++] = hl_format("HOTLAP_ROOT=%s", place->root);
    f->environment[n++] = hl_format("HOTLAP_COMMIT=%s", place->commit);
    f->environment[n++] = hl_format("HOTLAP_BRANCH=%s", place->branch);
    f->environment[n++] = python_path(how, place);
  }
  for (size_t i = 0; i < n; i++) whole = whole && f->environment[i];
  if (!whole) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a task");
  /* Nothing of an execution, whatever it made of these, is left for the next one. */
  hl_worktree_remove_tree(how->scratch);
  return hl_directory_make(f->modules, error);
}

/* The last line that has a word; `ret_length` 0: none. */
static const char *last_line(const char *said, int *ret_length) {
  const char *end = said + strlen(said);
  while (end > said && strchr(" \t\r\n", end[-1])) end--;
  const char *begin = end;
  while (begin > said && begin[-1] != '\n') begin--;
  if (strncmp(begin, "hotlap: ", 8) == 0) begin += 8;
  *ret_length = end - begin < 400 ? (int)(end - begin) : 400;
  return begin;
}

/* Outcomes of the process as such. */
static void judge_process(hl_task *task, hl_status status, const hl_execution *e,
                          const char *message) {
  int length = 0;
  const char *words = last_line(e->said, &length);
  if (status == HL_TIMED_OUT)
    hl_task_fail(task, HL_TIME_OUT, "%s; --timeout allows more", message);
  else if (status != HL_OK)
    hl_task_fail(task, HL_FAILED, "%s", message);
  else if (e->signal)
    hl_task_fail(task, HL_DIED, "killed by signal %d (%s)", e->signal, strsignal(e->signal));
  else if (e->exit_status != 0)
    hl_task_fail(task, HL_FAILED, "ended with exit status %d%s%.*s", e->exit_status,
                 length ? ": " : "", length, words);
  if (task->outcome && e->said[0]) hl_record_set_text(&task->said, e->said);
}

static void set_process(hl_task *task, const hl_execution *e) {
  hl_task_set(task, HL_TASK_PROCESS_TIME, (double)e->wall_ns / 1e9);
  hl_task_set(task, HL_TASK_PROCESS_USER, (double)e->user_ns / 1e9);
  hl_task_set(task, HL_TASK_PROCESS_SYSTEM, (double)e->system_ns / 1e9);
  hl_task_set(task, HL_TASK_PROCESS_MEMORY, (double)e->peak_bytes / 1e6);
}

/* The whole run and its memory, where the task does not tell better. */
static void set_totals(hl_task *task, bool gpu) {
  hl_task_id total = hl_task_total(task->training);
  hl_task_id memory = task->training ? HL_TASK_TRAINING_MEMORY : HL_TASK_INFERENCE_MEMORY;
  if (isnan(task->values[total])) hl_task_set(task, total, task->values[HL_TASK_PROCESS_TIME]);
  if (!isnan(task->values[memory])) return;
  if (gpu)
    hl_task_explain(task, memory, "the memory of a GPU is known to the entry only");
  else
    hl_task_set(task, memory, task->values[HL_TASK_PROCESS_MEMORY]);
}

static void read_report(const hl_task_how *how, const files *f, hl_task *task) {
  hl_error why = {0};
  hl_status status = HL_OK;
  kind what = kind_of(how, task->training, task->experiment);
  if (what == ENTRY) {
    status = hl_task_report_entry(f->metrics, task, &why);
    if (status == HL_NOT_FOUND) status = HL_OK;
  } else if (what == PREDICTION) {
    status = hl_task_report_prediction(f->result, task, &why);
  } else {
    status = hl_task_report_row(f->result, task, &why);
  }
  /* A process that failed says more than the result that it did not write. */
  if (status != HL_OK && !task->outcome) hl_task_fail(task, HL_FAILED, "%s", why.msg);
}

/* -- proof ------------------------------------------------------------------------------------ */

/* A file of the commit by its place in it; free() it. NULL: it is none. */
static char *own_file(const hl_task_place *place, const char *name) {
  HL_CLEANUP(hl_free_pointer)
  char *path = name[0] == '/' ? hl_strdup(name) : hl_format("%s/%s", place->directory, name);
  HL_CLEANUP(hl_free_pointer) char *real = path ? realpath(path, NULL) : NULL;
  HL_CLEANUP(hl_free_pointer) char *root = realpath(place->root, NULL);
  size_t length = root ? strlen(root) : 0;
  if (!real || !root || strncmp(real, root, length) != 0 || real[length] != '/') return NULL;
  return hl_strdup(real + length + 1);
}

/* The program of a command that is a file of the commit. */
static char *own_program(const hl_task_place *place, const hl_command *command) {
  const char *name = command->by_shell ? NULL : command->argv[0];
  return name && strchr(name, '/') ? own_file(place, name) : NULL;
}

/* The file of a function of the user's, which its engine notes: that of the commit, or where it
 * came from instead. */
static void find_code(const hl_task_place *place, const hl_task *task, char **ret_own,
                      char **ret_foreign) {
  static const char before[] = "model code: ", after[] = " with SHA-256 ";
  const char *at = task->notes ? strstr(task->notes, before) : NULL;
  const char *end = at ? strstr(at, after) : NULL;
  if (!end) return;
  at += sizeof before - 1;
  HL_CLEANUP(hl_free_pointer) char *path = strndup(at, (size_t)(end - at));
  *ret_own = path ? own_file(place, path) : NULL;
  if (path && !*ret_own && !*ret_foreign)
    *ret_foreign = hl_format("the code of %.200s was %.300s, which is no file of the commit",
                             task->experiment, path);
}

static void prove(const hl_task_how *how, const hl_task_place *place, const hl_command *command,
                  const files *f, hl_task *task) {
  HL_CLEANUP(hl_free_pointer) char *wrong = NULL;
  HL_CLEANUP(hl_free_pointer) char *changed = NULL;
  HL_CLEANUP(hl_free_pointer) char *foreign = NULL;
  HL_CLEANUP(hl_free_pointer) char *program = own_program(place, command);
  hl_text text = HL_TEXT_INIT;
  hl_task_place_look(place, &wrong, &changed);
  hl_task_report_modules(f->modules, &task->modules, &foreign);
  HL_CLEANUP(hl_free_pointer) char *code = NULL;
  if (kind_of(how, task->training, task->experiment) == FUNCTION)
    find_code(place, task, &code, &foreign);
  hl_text_format(&text, "the check-out is at %.12s", place->commit);
  if (program) hl_text_format(&text, "; the program is its %s", program);
  if (task->modules > 0)
    hl_text_format(&text, "; %lld Python modules of it were imported", (long long)task->modules);
  if (code) hl_text_format(&text, "; the code of the function is its %s", code);
  task->proved = !wrong && !foreign && (program || code || task->modules > 0);
  if (!task->proved && !wrong && !foreign)
    hl_text_format(&text, "; what %s ran of it was not seen", how->entry ? "the entry" : "hotlap");
  hl_record_set_text(&task->proof, text.data);
  hl_text_release(&text);
  if (wrong) hl_task_fail(task, HL_MISTRUSTED, "%s", wrong);
  if (foreign)
    hl_task_fail(task, HL_MISTRUSTED,
                 "another version ran: %s. Uninstall it, or let --build install the commit's into "
                 "the check-out (pip install --target)",
                 foreign);
  if (changed) hl_task_note(task, "tracked files differ from the commit: %s", changed);
}

static bool is_gpu(const hl_task *task) {
  for (size_t i = 0; i < task->column_count; i++)
    if (strcmp(task->columns[i], "trainer") == 0) return strncmp(task->cells[i], "gpu", 3) == 0;
  return false;
}

/* No number without a value or a reason. */
static void explain_rest(hl_task *task) {
  const char *reason = hl_task_passed(task) ? "not measured" : "the task did not come so far";
  for (int id = 0; id < HL_TASK_METRICS; id++)
    if (hl_task_has(task->training, (hl_task_id)id)) hl_task_explain(task, (hl_task_id)id, reason);
}

hl_status hl_task_execute(const hl_task_how *how, const hl_task_place *place, hl_task *task,
                          hl_error *error) {
  files f = {0};
  hl_command command = {0};
  hl_execution e = {0};
  hl_error why = {0};
  hl_status status = make_files(how, place, &f, error);
  if (status == HL_OK) status = hl_command_init(&command, task->command, error);
  if (status != HL_OK) {
    release_files(&f);
    return status;
  }
  const hl_command_place at = {.directory = place->directory,
                               .timeout_s = how->timeout_s,
                               .wake_fd = how->wake_fd,
                               .output = how->entry ? HL_OUTPUT_SAID : HL_OUTPUT_FILE,
                               .output_file = f.result,
                               .environment = (const char *const *)f.environment,
                               .verbose = how->verbose,
                               .without_git = true};
  status = hl_command_execute(&command, &at, &e, &why);
  if (status != HL_INTERRUPTED) {
    judge_process(task, status, &e, why.msg);
    set_process(task, &e);
    read_report(how, &f, task);
    set_totals(task, is_gpu(task));
    if (e.orphans) hl_task_note(task, "processes that it left behind were killed");
    prove(how, place, &command, &f, task);
    if (!task->outcome) hl_record_set_text(&task->outcome, hl_outcome_name(HL_PASSED));
    explain_rest(task);
    status = HL_OK;
  } else {
    hl_error_set(error, status, "interrupted");
  }
  hl_command_release(&command);
  release_files(&f);
  return status;
}
