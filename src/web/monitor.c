#include "base/clock.h"
#include "web/internal.h"

enum { ENTRIES = 1000, READ_MS = 10 };

hl_status hl__web_monitor_begin(hl__web *web, hl_error *error) {
  if (!web->config->monitor) return HL_OK;
  hl_status status = hl_log_reader_open(web->config->monitor, &web->log, error);
  if (status != HL_OK) return status;
  web->log_behind = true;
  web->summary = hl_summary_new();
  return web->summary ? HL_OK
                      : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a monitor's summary");
}

/* A log of years is read in pieces: who asks for something else does not wait for its end. */
void hl__web_monitor_read(hl__web *web) {
  uint64_t end_ns = hl_clock_ns() + READ_MS * UINT64_C(1000000);
  hl_log_entry entry;
  size_t count = 0;
  bool more = true;
  while (more && (count % ENTRIES || hl_clock_ns() < end_ns)) {
    more = hl_log_reader_next(web->log, &entry);
    if (!more) break;
    hl_summary_add(web->summary, &entry);
    count++;
  }
  web->log_behind = more;
  if (count) web->log_version++;
}

void hl__web_monitor_end(hl__web *web) {
  hl_summary_free(web->summary);
  hl_log_reader_close(web->log);
}
