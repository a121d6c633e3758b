#include "web/page.h"

#include <string.h>

/* Path parts; "*" is any. */
typedef struct route {
  const char *parts[4];
  hl__web_page *page;
  bool for_programs; /* what goes wrong is told in plain text */
} route;

static const route routes[] = {
    {{NULL}, hl__web_page_runs, false},
    {{"runs", "*"}, hl__web_page_run, false},
    {{"history"}, hl__web_page_history, false},
    {{"compare"}, hl__web_page_compare, false},
    {{"monitor"}, hl__web_page_monitor, false},
    {{"monitor", "events"}, hl__web_monitor_events, true},
    {{"assets", "*"}, hl__web_asset, true},
    {{"api", "compare"}, hl__web_api_compare, true},
    {{"api", "monitor"}, hl__web_api_monitor, true},
    {{"api", "history"}, hl__web_api_history, true},
    {{"api", "runs"}, hl__web_api_runs, true},
    {{"api", "runs", "*"}, hl__web_api_run, true},
    {{"events"}, hl__web_runs_events, true},
    {{"runs", "*", "events"}, hl__web_run_events, true},
    {{"metrics"}, hl__web_metrics, true},
    {{"healthz"}, hl__web_health, true},
    {{"login"}, hl__web_login, false},
};

/* Found by name among what is in the program: no path of a file. It changes with the program. */
hl_status hl__web_asset(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                        hl_error *error) {
  const hl_asset *asset = hl_asset_find(target->segments[1]);
  (void)web;
  if (!asset) return hl_error_set(error, HL_NOT_FOUND, "There is no such file.");
  answer->type = strcmp(asset->type, "text/css") == 0 ? "text/css; charset=utf-8"
                                                      : "text/javascript; charset=utf-8";
  answer->cache = "max-age=300";
  answer->fixed = asset->data;
  answer->fixed_bytes = asset->length;
  return HL_OK;
}

static bool fits(const route *r, const hl_web_target *target) {
  size_t count = 0;
  while (count < HL_COUNT(r->parts) && r->parts[count]) count++;
  if (count != target->segment_count) return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp(r->parts[i], "*") != 0 && strcmp(r->parts[i], target->segments[i]) != 0)
      return false;
  return true;
}

static unsigned http_status(hl_status status) {
  switch (status) {
  case HL_INVALID_ARGUMENT:
    return 400;
  case HL_NOT_FOUND:
    return 404;
  case HL_INTERNAL:
    return 500;
  default:
    return 503;
  }
}

void hl__web_route(hl__web *web, const hl_web_target *target, hl__web_answer *ret_answer) {
  hl_error error = {0};
  ret_answer->body.cap_bytes = HL__WEB_PAGE_BYTES;
  for (size_t i = 0; i < HL_COUNT(routes); i++) {
    if (!fits(&routes[i], target)) continue;
    ret_answer->status = 200;
    hl_status status = routes[i].page(web, target, ret_answer, &error);
    if (status == HL_OK) return;
    if (status == HL_BAD_DATA || status == HL_IO) hl__web_store_close(web);
    if (routes[i].for_programs)
      hl__web_refuse(ret_answer, http_status(status), error.msg);
    else
      hl__web_page_refuse(web, ret_answer, http_status(status), error.msg, false);
    return;
  }
  hl__web_page_refuse(web, ret_answer, 404, "There is no such page.", false);
}
