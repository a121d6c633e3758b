#include "web/internal.h"

#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
     "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

void hl__web_answer_release(hl__web_answer *answer) {
  hl_text_release(&answer->body);
  free(answer->location);
  free(answer->cookie);
  free(answer->file);
  free(answer->run);
  *answer = (hl__web_answer){.body = HL_TEXT_INIT};
}

void hl__web_refuse(hl__web_answer *ret_answer, unsigned status, const char *sentence) {
  hl__web_answer_release(ret_answer);
  ret_answer->status = status;
  ret_answer->type = "text/plain; charset=utf-8";
  hl_text_line(&ret_answer->body, "%s", sentence);
}

static struct MHD_Response *response_of(hl__web_client *client, hl__web_answer *answer) {
  const hl_web_mhd *mhd = client->web->mhd;
  if (answer->stream) return hl__web_stream_begin(client, answer);
  if (answer->fixed) /* MHD does not write to it */
    return mhd->create_response_from_buffer(answer->fixed_bytes, (void *)(uintptr_t)answer->fixed,
                                            MHD_RESPMEM_PERSISTENT);
  size_t length = answer->body.length;
  char *bytes = hl_text_take(&answer->body);
  if (!bytes) return NULL;
  struct MHD_Response *response =
      mhd->create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
  if (!response) free(bytes);
  return response;
}

static void add(const hl_web_mhd *mhd, struct MHD_Response *response, const char *name,
                const char *value) {
  if (value) (void)mhd->add_response_header(response, name, value);
}

enum MHD_Result hl__web_send(hl__web_client *client, hl__web_answer *answer) {
  const hl_web_mhd *mhd = client->web->mhd;
  if (answer->body.failed)
    hl__web_refuse(answer, 503, "The page is too large, or memory is short.");
  struct MHD_Response *response = response_of(client, answer);
  if (!response) { /* the connection is closed */
    hl__web_answer_release(answer);
    return MHD_NO;
  }
  for (size_t i = 0; i < HL_COUNT(headers); i++) add(mhd, response, headers[i][0], headers[i][1]);
  add(mhd, response, "Content-Type", answer->type);
  add(mhd, response, "Cache-Control", answer->cache ? answer->cache : "no-store");
  add(mhd, response, "Location", answer->location);
  add(mhd, response, "Set-Cookie", answer->cookie);
  if (answer->status == 401) add(mhd, response, "WWW-Authenticate", "Bearer realm=\"hotlap\"");
  if (answer->status == 405) add(mhd, response, "Allow", "GET, HEAD");
  if (answer->file) {
    HL_CLEANUP(hl_free_pointer)
    char *value = hl_format("attachment; filename=\"%s\"", answer->file);
    add(mhd, response, "Content-Disposition", value);
  }
  if (client->state == HL__WEB_WAITING) client->state = HL__WEB_ANSWERING;
  client->since_ns = hl_clock_ns();
  enum MHD_Result result = mhd->queue_response(client->connection, answer->status, response);
  mhd->destroy_response(response); /* ours; MHD keeps its own */
  hl__web_answer_release(answer);
  return result;
}
