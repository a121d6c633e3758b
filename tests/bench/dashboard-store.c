/*
 * dashboard-store.c - a large store for tests/bench/dashboard.
 *
 *     bench-dashboard-store TEMPLATE.db OUT.db ROWS
 *
 * Writes the newest run of TEMPLATE again and again, under other ids, models, machines, commits and
 * times, with throughputs that scatter by 1 % and drop by 5 % half-way, until there are ROWS rows.
 */
#include "base/splitmix.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MODELS = 20, MACHINES = 3, COMMITS = 200 };

static void set_names(hl_record *r, size_t run, size_t runs) {
  char text[64];
  size_t commit = run * COMMITS / runs;
  snprintf(text, sizeof text, "network_%02zu", run % MODELS);
  hl_record_set_text(&r->model, text);
  snprintf(text, sizeof text, "%040zx", commit * 2654435761u + 1);
  hl_record_set_text(&r->git_commit, text);
}

static hl_status add_run(hl_store *store, const hl_run_info *like, const hl_records *rows,
                         size_t run, size_t runs, uint64_t *random, hl_error *error) {
  hl_run_info info = *like;
  char id[64], created[64], machine[64], configuration[128];
  time_t at = 1700000000 + (time_t)run * 300;
  struct tm utc;
  gmtime_r(&at, &utc);
  strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);
  strftime(id, sizeof id, "%Y%m%dT%H%M%SZ", &utc);
  snprintf(id + 16, sizeof id - 16, "-%04zx", run & 0xffff);
  snprintf(machine, sizeof machine, "machine%zu", run % MACHINES);
  info.id = id;
  info.created = created;
  info.machine_id = machine;
  hl_status status = hl_store_run_begin(store, &info, NULL, error);
  for (size_t i = 0; i < rows->count && status == HL_OK; i++) {
    hl_record *r = &rows->items[i];
    double before = r->throughput_ips;
    double noise = 1 + 0.02 * ((double)(hl_splitmix(random) >> 11) * 0x1p-53 - 0.5);
    r->throughput_ips = before * noise * (run > runs / 2 ? 0.95 : 1);
    hl_record_set_text(&r->timestamp, created);
    set_names(r, run, runs);
    snprintf(configuration, sizeof configuration, "%s --engine native --batch-sizes %lld", r->model,
             (long long)r->batch_size);
    status = hl_store_row_add(store, id, configuration, (int64_t)i, r, error);
    r->throughput_ips = before;
  }
  return status == HL_OK ? hl_store_run_end(store, &info, HL_RUN_FINISHED, error) : status;
}

int main(int argc, char **argv) {
  hl_error error = {0};
  hl_store *from = NULL, *to = NULL;
  char *id = NULL;
  hl_run_info info;
  hl_records rows = {0};
  if (argc != 4) return 2;
  size_t wanted = strtoull(argv[3], NULL, 10);
  uint64_t random = 42;
  hl_status status = hl_store_open(argv[1], HL_STORE_READ, &from, &error);
  if (status == HL_OK) status = hl_store_run_resolve(from, "latest", &id, &error);
  if (status == HL_OK) status = hl_store_run_load(from, id, &info, &rows, &error);
  if (status == HL_OK) status = hl_store_open(argv[2], HL_STORE_WRITE, &to, &error);
  size_t runs = status == HL_OK ? (wanted + rows.count - 1) / rows.count : 0;
  for (size_t run = 0; run < runs && status == HL_OK; run++) {
    if (run % 100 == 0) status = hl_store_batch_begin(to, &error);
    if (status == HL_OK) status = add_run(to, &info, &rows, run, runs, &random, &error);
    if (run % 100 == 99 || run + 1 == runs) status = hl_store_batch_end(to, status, &error);
  }
  if (status != HL_OK) fprintf(stderr, "bench-dashboard-store: %s\n", error.msg);
  hl_store_free(from);
  hl_store_free(to);
  return status == HL_OK ? 0 : 1;
}
