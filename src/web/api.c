#include "web/monitor-view.h"
#include "web/page.h"
#include "web/run.h"

#include "base/clock.h"
#include "base/json-writer.h"
#include "formats/openmetrics.h"
#include <inttypes.h>
#include <string.h>

enum { RUNS_DEFAULT = 50, RUNS_MOST = 500 };

static void be_json(hl__web_answer *answer) {
  answer->type = "application/json";
}

/* ---- runs ---- */

hl_status hl__web_api_runs(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                           hl_error *error) {
  hl_store_filter filter = {.model = hl_web_parameter(target, "model"),
                            .machine = hl_web_parameter(target, "machine")};
  hl_store *store;
  hl_store_runs runs = {0};
  hl_status status = hl__web_int(target, "limit", 1, RUNS_MOST, RUNS_DEFAULT, &filter.limit, error);
  if (status == HL_OK) status = hl__web_int(target, "skip", 0, INT32_MAX, 0, &filter.skip, error);
  if (status == HL_OK) status = hl__web_store(web, &store, error);
  filter.limit++; /* one more tells whether there are more */
  if (status == HL_OK) status = hl_store_runs_list(store, &filter, &runs, error);
  if (status != HL_OK) return status;
  hl_json json;
  hl_json_init(&json, &answer->body, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  size_t shown = runs.count < (size_t)filter.limit ? runs.count : runs.count - 1;
  hl_json_int(&json, "skipped", filter.skip);
  hl_json_bool(&json, "more", shown < runs.count);
  hl_json_array(&json, "runs");
  for (size_t i = 0; i < shown; i++) hl_store_run_json(&runs.items[i], &json);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_store_runs_release(&runs);
  be_json(answer);
  return HL_OK;
}

/* ---- a run ---- */

hl_status hl__web_api_run(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                          hl_error *error) {
  hl_store *store;
  hl_status status = hl__web_store(web, &store, error);
  if (status != HL_OK) return status;
  hl__web_run run;
  status = hl__web_run_load(store, target->segments[2], &run, error);
  if (status == HL_OK) {
    const hl_report_input input = hl__web_run_input(&run);
    hl_report_json(&input, &answer->body);
    be_json(answer);
  }
  hl__web_run_release(&run);
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
  hl_store *store;
  int64_t runs = 0;
  (void)target, (void)error;
  bool readable = hl__web_store(web, &store, NULL) == HL_OK &&
                  hl_store_check(store, NULL) == HL_OK &&
                  hl_store_runs_count(store, &runs, NULL) == HL_OK;
  write_own(web, runs, readable, &answer->body);
  if (web->log) {
    const hl_web_monitor view = hl__web_monitor_view(web);
    hl_web_monitor_openmetrics(&view, &answer->body);
  }
  hl__web_run run = {0};
  if (readable && runs > 0 && hl__web_run_load(store, "latest", &run, NULL) == HL_OK)
    hl_openmetrics_write(&run.info, &run.records, &answer->body);
  else
    hl_text_append(&answer->body, "# EOF\n");
  hl__web_run_release(&run);
  answer->type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  return HL_OK;
}

hl_status hl__web_health(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                         hl_error *error) {
  hl_store *store;
  (void)target, (void)error;
  answer->type = "text/plain; charset=utf-8";
  bool healthy = hl__web_store(web, &store, NULL) == HL_OK && hl_store_check(store, NULL) == HL_OK;
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
    hl__web_page_refuse(web, answer, token ? 403 : 200,
                        token ? "This is not the token." : "This dashboard needs a token.", true);
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
