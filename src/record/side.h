/*
 * record/side.h - a side of a comparison: what was run, and of commands how long each took.
 *
 *     hl_side side;
 *     hl_side_init(&side);
 *     hl_record_set_text(&side.command, "sort big.txt");
 *     hl_side_add(&side, &(hl_side_execution){.wall_ms = 12.5}, error);
 *     hl_side_summary s = hl_side_summarise(&side);
 *     hl_side_release(&side);
 */
#ifndef HL_RECORD_SIDE_H
#define HL_RECORD_SIDE_H

#include "record/record.h"

/* One execution of a command. */
typedef struct hl_side_execution {
  double wall_ms;            /* from its start to its end */
  double user_ms, system_ms; /* CPU time of it and the children that it waited for */
  double peak_mb;            /* largest resident size of one of these processes */
} hl_side_execution;

typedef struct hl_side {
  char *command; /* shell command, or NULL: a configuration */
  char *prepare; /* what ran before each execution, or NULL */
  char *commit; /* 40 or 64 hexadecimal digits, "-dirty" behind where files differ; NULL: unknown */
  bool by_shell;                 /* the command went through /bin/sh */
  hl_side_execution *executions; /* the timed ones in order, those of voided pairs included */
  size_t count, capacity;
} hl_side;

void hl_side_init(hl_side *side);
void hl_side_release(hl_side *side);
hl_status hl_side_add(hl_side *side, const hl_side_execution *execution, hl_error *error);

/* All NaN without executions. */
typedef struct hl_side_summary {
  double median_ms, mean_ms, std_ms, min_ms, max_ms; /* of the wall time; population deviation */
  double user_ms, system_ms;                         /* means */
  double peak_mb;                                    /* the largest */
} hl_side_summary;
hl_side_summary hl_side_summarise(const hl_side *side);

/* The members of a side of the object that is open in `json`. */
void hl_side_write_json(const hl_side *side, hl_json *json);

#endif
