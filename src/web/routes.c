#include "web/internal.h"

#include <string.h>

/* Path parts; "*" is any. */
typedef struct route {
  const char *parts[4];
  hl__web_page *page;
} route;

static const route routes[] = {
    {{"api", "runs"}, hl__web_api_runs}, {{"api", "runs", "*"}, hl__web_api_run},
    {{"events"}, hl__web_runs_events},   {{"runs", "*", "events"}, hl__web_run_events},
    {{"metrics"}, hl__web_metrics},      {{"healthz"}, hl__web_health},
    {{"login"}, hl__web_login},
};

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
    hl__web_refuse(ret_answer, http_status(status), error.msg);
    return;
  }
  hl__web_refuse(ret_answer, 404, "There is no such page.");
}
