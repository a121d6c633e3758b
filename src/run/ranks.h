/*
 * run/ranks.h - starting several workers by mpirun, and what it says when one dies (inside src/run
 * only).
 *
 *     hl_ranks_place place;
 *     hl_ranks_find(configuration, environment, &place, &launch, error);     (sets launch.ranks)
 *     hl_process_start(&launch, ...);
 *     hl_ranks_place_release(&place);
 */
#ifndef HL_RUN_RANKS_H
#define HL_RUN_RANKS_H

#include "plan/configuration.h"
#include "run/process.h"

/* Where mpirun, our part for its library and this program are; owned. */
typedef struct hl_ranks_place {
  char *mpirun, *object, *program;
} hl_ranks_place;
void hl_ranks_place_release(hl_ranks_place *place);

/* Where the configuration asks for ranks: finds both and sets `launch->ranks`, which points into
 * `place`. UNAVAILABLE says what is missing and the remedy. */
hl_status hl_ranks_find(const hl_configuration *configuration,
                        const hl_run_environment *environment, hl_ranks_place *place,
                        hl_launch *launch, hl_error *error);

typedef struct hl_ranks_command {
  char **words, **environment;
} hl_ranks_command;

/* The command that starts the ranks, made before fork. */
hl_status hl_ranks_command_make(const hl_launch *launch, hl_ranks_command *ret_command,
                                hl_error *error);
void hl_ranks_command_release(hl_ranks_command *command);

/* Reads what mpirun said (`fd`, -1: nothing is known) of the rank that ended first: rank, host,
 * process, signal or exit status, and its last words, go to `error`. `ranks` (may be NULL) is who
 * they are. False: it said nothing of the kind. */
bool hl_ranks_death(int fd, const json_t *ranks, hl_error *error);

/* Which rank the others wait for, as rank 0 said when its time was over, or which is stopped; NULL:
 * unknown. free() it. */
char *hl_ranks_late(int fd, const json_t *ranks);

#endif
