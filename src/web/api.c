#include "web/internal.h"

#include "analyse/analyse.h"
#include "base/clock.h"
#include "base/json-writer.h"
#include "formats/openmetrics.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RUNS_DEFAULT = 50, RUNS_MOST = 500 };

static void be_json(hl__web_answer *answer) {
  answer->type = "application/json";
}

/* A whole number among the parameters. */
static hl_status int_of(const hl_web_target *target, const char *name, int64_t least, int64_t most,
                        int64_t initial, int64_t *ret_value, hl_error *error) {
  const char *text = hl_web_parameter(target, name);
  *ret_value = initial;
  return text ? hl_parse_int(text, least, most, name, ret_value, error) : HL_OK;
}

/* ---- runs ---- */

static void write_run(hl_json *json, const hl_store_run *run) {
  hl_json_object(json, NULL);
  hl_json_text(json, "id", run->id);
  hl_json_text(json, "created", run->created);
  hl_json_text(json, "state", run->state);
  hl_json_text(json, "machine_id", run->machine_id);
  hl_json_text(json, "cpu", run->cpu);
  hl_json_text(json, "command", run->command);
  hl_json_lines(json, "models", run->models);
  hl_json_int(json, "rows", run->row_count);
  hl_json_int(json, "passed", run->passed_count);
  if (isfinite(run->best_throughput_ips)) {
    hl_json_object(json, "best");
    hl_json_text(json, "model", run->best_model);
    hl_json_text(json, "engine", run->best_engine);
    hl_record_json_int(json, "batch_size", run->best_batch_size);
    hl_json_real(json, "throughput_ips", run->best_throughput_ips);
    hl_json_end(json);
  } else {
    hl_json_null(json, "best");
  }
  hl_json_end(json);
}

hl_status hl__web_api_runs(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                           hl_error *error) {
  hl_store_filter filter = {.model = hl_web_parameter(target, "model"),
                            .machine = hl_web_parameter(target, "machine")};
  hl_store *store;
  hl_store_runs runs = {0};
  int64_t count = 0;
  hl_status status = int_of(target, "limit", 1, RUNS_MOST, RUNS_DEFAULT, &filter.limit, error);
  if (status == HL_OK) status = int_of(target, "skip", 0, INT32_MAX, 0, &filter.skip, error);
  if (status == HL_OK) status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = hl_store_runs_count(store, &filter, &count, error);
  if (status == HL_OK) status = hl_store_runs_list(store, &filter, &runs, error);
  if (status != HL_OK) return status;
  hl_json json;
  hl_json_init(&json, &answer->body, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_int(&json, "count", count);
  hl_json_int(&json, "skipped", filter.skip);
  hl_json_array(&json, "runs");
  for (size_t i = 0; i < runs.count; i++) write_run(&json, &runs.items[i]);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_store_runs_release(&runs);
  be_json(answer);
  return HL_OK;
}

/* ---- a run ---- */

typedef struct loaded {
  hl_run_info info;
  hl_records records;
  hl_comparisons comparisons;
  hl_analysis analysis;
  hl_engines engines;
} loaded;

static void release(loaded *l) {
  hl_engines_release(&l->engines);
  hl_comparisons_release(&l->comparisons);
  hl_analysis_release(&l->analysis);
  hl_records_release(&l->records);
  hl_run_info_release(&l->info);
}

static hl_status load(hl__web *web, const char *text, loaded *l, hl_error *error) {
  hl_store *store;
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_run_info_init(&l->info);
  hl_status status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = hl_store_run_resolve(store, text, &id, error);
  if (status == HL_OK) status = hl_store_run_load(store, id, &l->info, &l->records, error);
  if (status == HL_OK) status = hl_store_comparisons_load(store, id, &l->comparisons, error);
  if (status == HL_OK) status = hl_analysis_make(&l->records, &l->info, &l->analysis, error);
  if (status == HL_OK)
    status = hl_engines_make(&l->analysis, &l->records, &l->comparisons, &l->engines, error);
  return status;
}

hl_status hl__web_api_run(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                          hl_error *error) {
  loaded l = {0};
  hl_status status = load(web, target->segments[2], &l, error);
  if (status == HL_OK) {
    const hl_report_input input = {.info = &l.info,
                                   .records = &l.records,
                                   .analysis = &l.analysis,
                                   .engines = &l.engines,
                                   .comparisons = &l.comparisons};
    hl_report_json(&input, &answer->body);
    be_json(answer);
  }
  release(&l);
  return status;
}

/* ---- for programs ---- */

static void write_gauge(hl_text *out, const char *name, const char *help, double value) {
  char number[32];
  hl_json_format_real(value, number);
  hl_text_format(out, "# TYPE hotlap_dashboard_%s gauge\n# HELP hotlap_dashboard_%s %s\n", name,
                 name, help);
  hl_text_format(out, "hotlap_dashboard_%s %s\n", name, number);
}

static void write_own(const hl__web *web, int64_t runs, bool readable, hl_text *out) {
  hl_text_append(out, "# TYPE hotlap_dashboard_requests counter\n"
                      "# HELP hotlap_dashboard_requests Requests since the start.\n");
  hl_text_format(out, "hotlap_dashboard_requests_total %" PRIu64 "\n", web->requests);
  write_gauge(out, "clients", "Connections that are open.", (double)web->client_count);
  write_gauge(out, "streams", "Connections that follow events.", (double)web->stream_count);
  write_gauge(out, "store_readable", "Whether the store can be read.", readable);
  if (readable) write_gauge(out, "runs", "Runs in the store.", (double)runs);
}

/* The newest run, in OpenMetrics, with what the dashboard says of itself before it. */
hl_status hl__web_metrics(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                          hl_error *error) {
  hl_error inner = {0};
  hl_store *store;
  int64_t runs = 0;
  loaded l = {0};
  (void)target, (void)error;
  hl_status status = hl__web_store(web, &store, &inner);
  if (status == HL_OK) status = hl_store_runs_count(store, NULL, &runs, &inner);
  write_own(web, runs, status == HL_OK, &answer->body);
  if (status == HL_OK && runs > 0) status = load(web, "latest", &l, &inner);
  if (status == HL_OK && runs > 0)
    hl_openmetrics_write(&l.info, &l.records, &answer->body);
  else
    hl_text_append(&answer->body, "# EOF\n");
  if (runs > 0) release(&l);
  answer->type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  return HL_OK;
}

hl_status hl__web_health(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                         hl_error *error) {
  hl_store *store;
  int64_t version;
  (void)target, (void)error;
  answer->type = "text/plain; charset=utf-8";
  bool healthy =
      hl__web_store(web, &store, NULL) == HL_OK && hl_store_version(store, &version, NULL) == HL_OK;
  /* Whoever asks needs no token, so it is not told why. */
  answer->status = healthy ? 200 : 503;
  hl_text_append(&answer->body, healthy ? "ok\n" : "the store cannot be read\n");
  return HL_OK;
}

/* ---- who is asking ---- */

hl_status hl__web_login(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                        hl_error *error) {
  const char *token = hl_web_parameter(target, "token");
  bool known = !web->config->token ||
               (token && hl_web_secret_same(token, strlen(token), web->config->token));
  if (!known) {
    hl__web_refuse(answer, token ? 403 : 200,
                   token ? "This is not the token." : "A token is needed: /login?token=TOKEN");
    return HL_OK;
  }
  answer->status = 303;
  answer->type = "text/plain; charset=utf-8";
  answer->location = hl_strdup("/");
  if (web->config->token)
    answer->cookie =
        hl_format("%s=%s; Path=/; HttpOnly; SameSite=Strict", web->cookie, web->session);
  return answer->location ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
}
