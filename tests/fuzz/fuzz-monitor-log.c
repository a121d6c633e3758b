/* Whatever the bytes of a monitor's log, rotated or not: inferences that are possible, events, and
 * lines that are malformed with a reason, none of them lost; and a summary of them that holds. */
#include "driver.h"

#include "monitor/log-reader.h"
#include "monitor/summary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_sizes(hl_summary *summary) {
  hl_summary_recent recent[HL_SUMMARY_SIZES];
  size_t n = hl_summary_by_size(summary, recent);
  if (n > HL_SUMMARY_SIZES) abort();
  for (size_t i = 0; i < n; i++) {
    double course[7];
    if (!recent[i].batch_size || !recent[i].count || !(recent[i].p50_ms <= recent[i].max_ms))
      abort();
    size_t columns = hl_summary_course(summary, recent[i].batch_size, course, 7);
    if (!columns || columns > 7) abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[] = "/tmp/hotlap-fuzz-log-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  hl_log_reader *reader;
  hl_error error = {0};
  if (hl_log_reader_open(path, &reader, &error) != HL_OK) abort();
  hl_summary *summary = hl_summary_new();
  if (!summary) abort();
  hl_log_entry entry;
  uint64_t read = 0;
  while (hl_log_reader_next(reader, &entry)) {
    read++;
    if (!entry.event[0] && (!entry.batch_size || !(entry.elapsed_s > 0) || isinf(entry.elapsed_s)))
      abort();
    if (strlen(entry.event) >= HL_LOG_EVENT || strlen(entry.message) >= HL_LOG_MESSAGE) abort();
    hl_summary_add(summary, &entry);
  }
  const hl_log_count *count = hl_log_reader_count(reader);
  if (read + count->malformed > count->lines) abort();
  if ((count->malformed > 0) != (count->first_malformed[0] != '\0')) abort();
  if (hl_summary_total(summary)->inferences > read) abort();
  check_sizes(summary);
  hl_summary_free(summary);
  hl_log_reader_close(reader);
  close(fd);
  unlink(path);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char *const seeds[] = {
      "{\"timestamp\":\"2026-11-29T12:00:00.1Z\",\"event\":\"start\",\"schema\":\"hotlap.monitor/"
      "1\","
      "\"pid\":1}\n"
      "{\"timestamp\":\"2026-11-29T12:00:00.123456Z\",\"batch_size\":32,\"elapsed_time\":0.0125,"
      "\"memory_usage\":812.5,\"throughput\":2560}\n"
      "{\"timestamp\":\"2026-11-29T12:00:01Z\",\"batch_size\":4,\"elapsed_time\":1e-3,"
      "\"memory_usage\":null,\"throughput\":4000,\"slow\":0.5}\n"
      "{\"timestamp\":\"2026-11-29T12:00:02Z\",\"event\":\"degraded\",\"batch_size\":4,\"since\":"
      "\"\","
      "\"throughput\":1,\"baseline\":2,\"ratio\":0.5,\"message\":\"slow\"}\n"
      "{\"event\":\"dropped\",\"count\":3}\n{\"batch_size\":1,\"elaps",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
