/*
 * plan/launcher.h - the command that a worker is started through: --launcher 'ssh box'.
 *
 *     const hl_launcher *launcher;
 *     hl_status status = hl_launcher_read(&options, &arena, &launcher, error);
 *     if (launcher && launcher->far) ...
 *
 * Its words are split as a shell would, and no shell sees them. Behind them stand the program and
 * `worker`, so that a shell on the other side, which ssh has, finds nothing to interpret either.
 */
#ifndef HL_PLAN_LAUNCHER_H
#define HL_PLAN_LAUNCHER_H

#include "base/arena.h"
#include "plan/options.h"

enum { HL_LAUNCHER_BYTES = 4096 };

typedef struct hl_launcher {
  const char *text;         /* as it was given */
  const char *const *words; /* `count` of them, then NULL */
  size_t count;
  const char *program; /* the hotlap to run, by --remote-program; NULL: the usual one */
  /* A worker behind it runs where signals, limits of memory and paths of this machine mean nothing.
   * Of taskset, numactl and others of which that is not so: false, and the usual program is this
   * one; else it is `hotlap`, on the other side's PATH. */
  bool far;
} hl_launcher;

/* From --launcher and --remote-program into the arena; NULL without a launcher. INVALID_ARGUMENT
 * for no words, for what only a shell understands, and for a program that a shell on the other side
 * would not take as it stands. */
hl_status hl_launcher_read(const hl_options *options, hl_arena *arena,
                           const hl_launcher **ret_launcher, hl_error *error);

/* The same of texts; `program` may be NULL. */
hl_status hl_launcher_make(const char *text, const char *program, hl_arena *arena,
                           const hl_launcher **ret_launcher, hl_error *error);

/* --launcher and --remote-program, each with a space before it. */
void hl_launcher_options(const hl_launcher *launcher, hl_text *out);

/* Its name without the folder, as "ssh". */
const char *hl_launcher_name(const hl_launcher *launcher);

#endif
