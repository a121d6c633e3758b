/*
 * workloads/load.h - queries in the pattern of a scenario, and the latency of each.
 *
 * The scenarios of MLPerf LoadGen: SingleStream (the next query when the last is done), MultiStream
 * (the same with several samples a query), Server (a Poisson process that never slows down with the
 * server) and Offline (all at once).
 *
 *     hl_load_server server = {.context = engine, .serve = serve_batch};
 *     hl_load_request request = {.scenario = HL_LOAD_SERVER, .qps = 200, .min_ns = 10000000000,
 *                                .instances = 1, .max_batch = 8, .timeout_ns = 2000000, .seed =
 * 42}; hl_load_result result; hl_status status = hl_load_run(&server, &request, &result, error);
 *     hl_load_result_release(&result);
 *
 * An arrival is a function of seed and number, so the queue holds no entries: it is the arrivals
 * that are due and not yet taken, in constant memory at any rate. An instance that is free takes
 * the queries that are due, up to a batch, and waits for more until the first of them is
 * `timeout_ns` old; the others wait for their turn to do so. Latency counts from the intended start
 * of a query (coordinated omission), however late it is taken.
 */
#ifndef HL_WORKLOADS_LOAD_H
#define HL_WORKLOADS_LOAD_H

#include "plan/load-spec.h"
#include "statistics/histogram.h"

/* What answers queries. `serve` returns when the samples (numbers below `samples`) are done; it is
 * called by `instances` threads at a time, each with a number of its own. */
typedef struct hl_load_server {
  void *context;
  uint64_t samples; /* in the data set, >= 1 */
  hl_status (*serve)(void *context, uint32_t instance, const uint64_t *samples, uint32_t count,
                     hl_error *error);
  /* Called once by each of these threads before the first query; may be NULL. */
  hl_status (*warm)(void *context, uint32_t instance, hl_error *error);
} hl_load_server;

#define HL_LOAD_MOST_SAMPLES (1u << 20) /* latencies kept one by one */

typedef struct hl_load_request {
  hl_load_scenario scenario;
  double qps;                 /* Server: mean rate of arrivals */
  uint64_t min_queries;       /* at least so many, */
  uint64_t min_ns;            /* and for so long, whichever ends later; of Server the last query
                                 is the first that arrives after it, as in LoadGen */
  uint64_t max_ns;            /* nothing starts after it; 0: no limit. What is due by then and not
                                 taken is counted as unserved */
  uint32_t samples_per_query; /* MultiStream; else 1 */
  uint32_t instances;         /* threads that serve, 1 .. HL_LOAD_MOST_INSTANCES */
  uint32_t max_batch;         /* queries served together, 1 .. HL_LOAD_MOST_BATCH */
  uint64_t timeout_ns;        /* how long the first query of a batch waits for others */
  uint64_t seed;
} hl_load_request;

typedef struct hl_load_result {
  uint64_t queries;                  /* served */
  uint64_t unserved;                 /* due before max_ns, and not taken; of more than 2^24 their
                                        mean number, rate by time */
  uint64_t batches;                  /* calls of `serve` */
  uint64_t duration_ns;              /* from the start to the last completion */
  uint64_t arrivals_ns;              /* intended time of the last query served; 0 but for Server */
  uint64_t behind_ns;                /* Server: how late the last query was taken, or was due when
                                        the run was cut off */
  uint64_t serve_ns;                 /* in `serve`, the sum over the instances */
  hl_histogram parts[HL_LOAD_PARTS]; /* ns */
  uint64_t *latencies;               /* of the first queries by number; owned */
  size_t latency_count;              /* at most HL_LOAD_MOST_SAMPLES */
} hl_load_result;

/* Runs it in threads of its own and waits for their end. Errors of `serve` end the run and are
 * returned; INVALID_ARGUMENT for a request out of range. */
hl_status hl_load_run(const hl_load_server *server, const hl_load_request *request,
                      hl_load_result *ret_result, hl_error *error);
void hl_load_result_release(hl_load_result *result);

#endif
