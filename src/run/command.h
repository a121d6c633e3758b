/*
 * run/command.h - a command as a child process, watched from its start to its end.
 *
 *     hl_command command;
 *     hl_status status = hl_command_init(&command, "sort -n 'a file' > /dev/null", error);
 *     const hl_command_place place = {.wake_fd = -1, .timeout_s = 60};
 *     hl_execution e;
 *     if (status == HL_OK) status = hl_command_execute(&command, &place, &e, error);
 *     if (status == HL_OK) status = hl_execution_check(&command, &e, error);
 *     hl_command_release(&command);
 *
 * A text of plain words, in 'single' or "double" quotes or without, is executed as it is; one with
 * anything that a shell would interpret is handed to /bin/sh -c, and so is one whose program is not
 * found, since it may be built into the shell. Standard input is /dev/null. The command is a
 * process group of its own; what it leaves behind is killed, wherever it has gone: this process
 * becomes the reaper of its orphans, so no other child of it may live meanwhile. One at a time.
 */
#ifndef HL_RUN_COMMAND_H
#define HL_RUN_COMMAND_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HL_COMMAND_BYTES = 65536, HL_COMMAND_SAID = 4096 };

typedef struct hl_command {
  char *text;  /* as given; NULL of an argument vector */
  char *words; /* what argv points into */
  char **argv;
  bool by_shell;
} hl_command;

/* INVALID_ARGUMENT for an empty text, LIMIT for one beyond HL_COMMAND_BYTES, OUT_OF_MEMORY. */
hl_status hl_command_init(hl_command *command, const char *text, hl_error *error);
void hl_command_release(hl_command *command);
void hl__command_by_shell(hl_command *command); /* whatever its text is */

typedef enum hl_command_output {
  HL_OUTPUT_DISCARD, /* standard output */
  HL_OUTPUT_SAID,    /* the same way as standard error */
  HL_OUTPUT_KEEP,    /* its end in hl_execution.output */
  HL_OUTPUT_FILE     /* all of it into hl_command_place.output_file */
} hl_command_output;

typedef struct hl_command_place {
  const char *directory; /* NULL: the present one */
  double timeout_s;      /* 0: none */
  int wake_fd;           /* readable once it shall end; -1: never */
  hl_command_output output;
  const char *output_file; /* that is made, or emptied */
  const char *const
      *environment;  /* NAME=VALUE each, in place of those of ours; ends with NULL; NULL: none */
  bool verbose;      /* both streams to our standard error, where `output` is not KEEP or FILE */
  bool keep_orphans; /* what it leaves behind lives on until the next execution has ended */
  bool without_git;  /* without the variables by which git finds another repository, as in a hook */
} hl_command_place;

typedef struct hl_execution {
  uint64_t wall_ns;            /* from just before exec to the end of the process */
  uint64_t user_ns, system_ns; /* of it and the children that it waited for */
  uint64_t peak_bytes;         /* largest resident size of one of these processes */
  int exit_status;             /* -1: killed */
  int signal;                  /* 0: ended by itself */
  bool orphans;                /* processes were left behind and have been killed */
  char said[HL_COMMAND_SAID];  /* the end of its standard error */
  char output[HL_COMMAND_SAID];
} hl_execution;

/* Runs the command to its end. OK whatever its exit status; INTERRUPTED and TIMED_OUT (all of it is
 * killed); NOT_FOUND where there is no such program, IO without the directory; UNAVAILABLE on a
 * kernel without pidfd_open (before 5.3); OUT_OF_MEMORY; INTERNAL. `ret_execution` is filled also
 * after TIMED_OUT. */
hl_status hl_command_execute(hl_command *command, const hl_command_place *place,
                             hl_execution *ret_execution, hl_error *error);

/* The same for an argument vector, looked up in PATH. */
hl_status hl_command_execute_words(char *const *argv, const hl_command_place *place,
                                   hl_execution *ret_execution, hl_error *error);

/* OK for exit status 0; else UNAVAILABLE with how it ended. */
hl_status hl_execution_check(const hl_command *command, const hl_execution *execution,
                             hl_error *error);

#endif
