/*
 * plan/load-spec.h - what a load test asks for: the scenario, its rate, its target.
 *
 * The scenarios of MLPerf LoadGen: SingleStream (the next query when the last is done), MultiStream
 * (the same with several samples a query), Server (a Poisson process) and Offline (all at once).
 */
#ifndef HL_PLAN_LOAD_SPEC_H
#define HL_PLAN_LOAD_SPEC_H

#include "base/arena.h"
#include "plan/options.h"

typedef enum hl_load_scenario {
  HL_LOAD_SINGLE_STREAM,
  HL_LOAD_MULTI_STREAM,
  HL_LOAD_SERVER,
  HL_LOAD_OFFLINE
} hl_load_scenario;

const char *hl_load_scenario_name(hl_load_scenario scenario); /* "SingleStream", ... */
/* In any case, and with '-' or '_' between the words; false for an unknown name. */
bool hl_load_scenario_from_name(const char *name, hl_load_scenario *ret_scenario);

/* The percentile of the latency that is reported and judged: 0.9 of SingleStream, 0.99 of
 * MultiStream and Server; 0: Offline has none. */
double hl_load_scenario_percentile(hl_load_scenario scenario);

/* What is told of every query; the worker sends a histogram of each, in this order. */
typedef enum hl_load_part {
  HL_LOAD_LATENCY, /* from its intended start to its completion; the next three add up to it */
  HL_LOAD_QUEUE,   /* until an instance took it */
  HL_LOAD_BATCH,   /* while its batch was filled */
  HL_LOAD_SERVE,   /* in the engine */
  HL_LOAD_LATE,    /* Server: how late a waiting instance saw it, the generator's lateness */
  HL_LOAD_PARTS
} hl_load_part;

const char *hl_load_part_name(hl_load_part part); /* "latency", "queue", ... */

#define HL_LOAD_MOST_BATCH 65536u
#define HL_LOAD_MOST_INSTANCES 256u

typedef struct hl_load_spec {
  hl_load_scenario scenario;
  const char *mode;                     /* "strict", "normal" or "quick" */
  double qps;                           /* Server: rate of arrivals; 0 where it is to be found */
  double percentile;                    /* 0.99; 0 of Offline */
  double target_ms;                     /* of that percentile; 0: none */
  double duration_s;                    /* 0: as the mode says */
  int64_t instances, samples_per_query; /* samples_per_query is 1 but for MultiStream */
  double batching_timeout_ms;
  bool find_max;
} hl_load_spec;

/* The product of --scenario and --qps, in the arena. INVALID_ARGUMENT names the option. */
hl_status hl_load_specs_read(const hl_options *options, hl_arena *arena, hl_load_spec **ret_specs,
                             size_t *ret_count, hl_error *error);

/* Appends the options that ask for it again, each after a space. */
void hl_load_spec_options(const hl_load_spec *spec, hl_text *out);

#endif
