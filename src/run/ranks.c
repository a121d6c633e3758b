#include "run/ranks.h"

#include "base/process.h"
#include "base/program.h"
#include "base/text.h"
#include "run/said.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

void hl_ranks_place_release(hl_ranks_place *place) {
  free(place->mpirun);
  free(place->object);
  free(place->program);
  *place = (hl_ranks_place){0};
}

/* -- finding --------------------------------------------------------------------------------- */

static bool is_given(const char *name) {
  size_t length = strlen(name);
  for (char **at = environ; *at; at++)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return true;
  return false;
}

/* In the build folder, or where install puts it. */
static char *find_object(const char *program) {
  const char *slash = strrchr(program, '/');
  int length = slash ? (int)(slash - program) : 0;
  char *candidates[] = {
      hl_format("%.*s/src/peers/hotlap-peers-mpi.so", length, program),
      hl_format("%.*s/%s/hotlap-peers-mpi.so", length, program, HL_ENGINE_DIRECTORY)};
  char *found = NULL;
  for (size_t i = 0; i < HL_COUNT(candidates); i++) {
    if (!found && candidates[i] && access(candidates[i], R_OK) == 0)
      found = candidates[i];
    else
      free(candidates[i]);
  }
  return found;
}

hl_status hl_ranks_find(const hl_configuration *configuration,
                        const hl_run_environment *environment, hl_ranks_place *place,
                        hl_launch *launch, hl_error *error) {
  *place = (hl_ranks_place){0};
  if (!configuration->train || strcmp(configuration->train->trainer, "ddp") != 0) return HL_OK;
  if (configuration->launcher)
    return hl_error_set(
        error, HL_UNAVAILABLE,
        "--trainer ddp starts its --ranks itself, by an mpirun of this machine, and "
        "not behind --launcher");
  if (is_given("OMPI_COMM_WORLD_RANK"))
    return hl_error_set(error, HL_UNAVAILABLE,
                        "--trainer ddp: this hotlap was started by an mpirun (OMPI_COMM_WORLD_RANK "
                        "is set), which cannot start another; give the command without mpirun: "
                        "hotlap starts its --ranks itself");
  place->mpirun = hl_program_find(environment->search_path, "mpirun");
  if (!place->mpirun)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "--trainer ddp: there is no mpirun in PATH; ./quickstart --mpi installs "
                        "Open MPI and builds hotlap with it");
  place->program = realpath(environment->program, NULL); /* /proc/self/exe would be mpirun's */
  if (!place->program)
    return hl_error_errno(error, HL_UNAVAILABLE, "cannot find the hotlap program, '%s'",
                          environment->program);
  place->object = find_object(place->program);
  if (!place->object)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "--trainer ddp: this hotlap was built without MPI; ./quickstart --mpi "
                        "installs Open MPI and builds hotlap with it");
  launch->program = place->program;
  launch->ranks = (hl_ranks_launch){
      .count = configuration->train->ranks, .mpirun = place->mpirun, .object = place->object};
  return HL_OK;
}

/* -- starting -------------------------------------------------------------------------------- */

/* What Open MPI is to do, unless the user's environment says otherwise: ranks give the processor
 * away while they wait, and speak over shared memory. */
static const struct {
  const char *name, *value;
} settings[] = {{"OMPI_MCA_mpi_yield_when_idle", "1"},
                {"OMPI_MCA_btl", "self,vader"},
                {"OMPI_MCA_pml", "ob1"},
                {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

/* Whether one process may copy from another's memory, which is faster than over shared memory and
 * forbidden in many containers: Open MPI takes it for granted. */
static bool can_copy_between(void) {
  char from = 1, to = 0;
  const struct iovec local = {.iov_base = &to, .iov_len = 1}, remote = {&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == 1;
}

static hl_status make_environment(char ***ret_environment, hl_error *error) {
  size_t count = 0, at = 0;
  while (environ[count]) count++;
  char **all = calloc(count + HL_COUNT(settings) + 2, sizeof *all);
  bool good = all != NULL;
  for (size_t i = 0; i < count && good; i++) good = (all[at++] = hl_strdup(environ[i])) != NULL;
  for (size_t i = 0; i < HL_COUNT(settings) && good; i++)
    if (!is_given(settings[i].name))
      good = (all[at++] = hl_format("%s=%s", settings[i].name, settings[i].value)) != NULL;
  static const char copying[] = "OMPI_MCA_btl_vader_single_copy_mechanism";
  if (good && !can_copy_between() && !is_given(copying))
    good = (all[at++] = hl_format("%s=none", copying)) != NULL;
  *ret_environment = all;
  return good ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
}

/* Ranks are not pinned: where there are more of them than processors, mpirun would refuse. */
static hl_status make_words(const hl_launch *launch, char ***ret_words, hl_error *error) {
  char count[24];
  snprintf(count, sizeof count, "%" PRId64, launch->ranks.count);
  const char *const words[] = {launch->ranks.mpirun, "-n",        count,
                               "--oversubscribe",    "--bind-to", "none",
                               launch->program,      "worker",    launch->ranks.object};
  char **all = calloc(HL_COUNT(words) + 1, sizeof *all);
  bool good = all != NULL;
  for (size_t i = 0; i < HL_COUNT(words) && good; i++)
    good = (all[i] = hl_strdup(words[i])) != NULL;
  *ret_words = all;
  return good ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
}

hl_status hl_ranks_command_make(const hl_launch *launch, hl_ranks_command *ret_command,
                                hl_error *error) {
  hl_ranks_command command = {0};
  hl_status status = make_words(launch, &command.words, error);
  if (status == HL_OK) status = make_environment(&command.environment, error);
  if (status == HL_OK)
    *ret_command = command;
  else
    hl_ranks_command_release(&command);
  return status;
}

static void release_list(char **list) {
  for (size_t i = 0; list && list[i]; i++) free(list[i]);
  free(list);
}

void hl_ranks_command_release(hl_ranks_command *command) {
  release_list(command->words);
  release_list(command->environment);
  *command = (hl_ranks_command){0};
}

/* -- dying ----------------------------------------------------------------------------------- */

/* " (process 7 on HOST)", or "" where that is unknown. mpirun may have forgotten it: it says 0. */
static void name_rank(const json_t *ranks, long rank, char *out, size_t size) {
  const json_t *member = rank < 0 ? NULL : json_array_get(ranks, (size_t)rank);
  out[0] = '\0';
  if (member)
    snprintf(out, size, " (process %" PRId64 " on %s)", hl_json_get_int(member, "pid", 0),
             hl_json_get_text(member, "host", "?"));
}

/* The last line that a worker said, as ": hotlap worker: no memory"; "" where none did. */
static void last_words(const char *said, char *out, size_t size) {
  static const char mark[] = "hotlap worker: ";
  const char *last = NULL;
  for (const char *at = strstr(said, mark); at; at = strstr(at + 1, mark)) last = at;
  out[0] = '\0';
  if (last)
    snprintf(out, size, ": %.*s", (int)strcspn(last + sizeof mark - 1, "\n"),
             last + sizeof mark - 1);
}

/* Open MPI 4: "mpirun noticed that process rank 1 with PID 7 on node HOST exited on signal 9
 * (Killed).", broken into lines anywhere; of an exit status "Process name: [[1,1],1]" and "Exit
 * code: 3". */
static bool parse_death(char *said, const json_t *ranks, hl_error *error) {
  long rank = 0;
  int number = 0;
  char who[120], words[200];
  last_words(said, words, sizeof words);
  for (char *c = said; *c; c++)
    if (*c == '\n') *c = ' ';
  const char *at = strstr(said, "process rank ");
  if (at && sscanf(at, "process rank %ld with PID %*d on node %*s exited on signal %d", &rank,
                   &number) == 2) {
    name_rank(ranks, rank, who, sizeof who);
    hl_error_set(error, HL_CRASHED, "rank %ld%s was killed by signal %d (%s)%s", rank, who, number,
                 strsignal(number), words);
    return true;
  }
  at = strstr(said, "Process name: [[");
  const char *code = at ? strstr(at, "Exit code:") : NULL;
  if (!code || sscanf(at, "Process name: [[%*d,%*d],%ld]", &rank) != 1 ||
      sscanf(code, "Exit code: %d", &number) != 1)
    return false;
  name_rank(ranks, rank, who, sizeof who);
  hl_error_set(error, HL_CRASHED, "rank %ld%s ended with exit status %d%s", rank, who, number,
               words);
  return true;
}

bool hl_ranks_death(int fd, const json_t *ranks, hl_error *error) {
  char *said = hl_said_read(fd);
  bool found = said && parse_death(said, ranks, error);
  free(said);
  return found;
}

char *hl_ranks_late(int fd, const json_t *ranks) {
  char *said = hl_said_read(fd);
  const char *at = said ? strstr(said, HL_RANKS_LATE) : NULL;
  hl_text text = HL_TEXT_INIT;
  if (at) {
    at += sizeof HL_RANKS_LATE - 1;
    hl_text_append_n(&text, at, strcspn(at, "\n"));
  }
  free(said);
  for (size_t r = 0; r < json_array_size(ranks); r++) {
    char who[120];
    if (!hl_process_is_stopped(hl_json_get_int(json_array_get(ranks, r), "pid", 0))) continue;
    name_rank(ranks, (long)r, who, sizeof who);
    hl_text_format(&text, "%srank %zu%s is stopped by a signal", text.length ? "; " : "", r, who);
  }
  return text.length ? hl_text_take(&text) : NULL;
}
