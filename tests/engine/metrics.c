/* Metrics of a user, for tests: what they do is in HOTLAP_TEST_METRIC. */
#include <hotlap/metric.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what) {
  const char *wanted = getenv("HOTLAP_TEST_METRIC");
  return wanted && strcmp(wanted, what) == 0;
}

static void misbehave(void) {
  if (is("crash")) raise(SIGSEGV);
  if (is("abort")) abort();
  if (is("exit")) _exit(0);
  if (is("close and hang"))
    for (int fd = 3;; fd = fd < 100 ? fd + 1 : 3)
      if (close(fd) != 0 && fd == 100) pause();
  if (is("hang") || is("hang aloud")) {
    if (is("hang aloud")) fprintf(stderr, "it hangs\n");
    for (;;) pause();
  }
}

static int steps_per_watt(const hl_custom_facts *row, double *value, char *reason, size_t bytes) {
  (void)reason;
  (void)bytes;
  printf("this is no part of a result\n");
  *value = row->number(row, "throughput_ips") / 100;
  return 0;
}

static int longest_gap(const hl_custom_facts *row, double *value, char *reason, size_t bytes) {
  misbehave();
  if (is("nan")) *value = (double)NAN;
  if (is("infinite")) *value = (double)INFINITY;
  if (is("nan") || is("infinite")) return 0;
  if (is("unknown")) {
    snprintf(reason, bytes, "no \033[31mcounter\n here");
    return 1;
  }
  if (is("unterminated")) {
    memset(reason, 'x', bytes);
    return 1;
  }
  if (!row->text(row, "model") || row->text(row, "no_such") || row->text(row, "batch_size"))
    abort();
  if (!isnan(row->number(row, "no_such")) || !isnan(row->number(row, "model"))) abort();
  uint64_t most = 0;
  for (size_t i = 0; i < row->sample_count; i++)
    if (row->samples_ns[i] > most) most = row->samples_ns[i];
  *value = (double)most / 1e6;
  return row->sample_count == 0;
}

static hl_custom_metric first = {.abi = HL_CUSTOM_ABI,
                                 .size = sizeof first,
                                 .name = "images_per_joule_at_100_w",
                                 .unit = "images/J",
                                 .better = HL_CUSTOM_HIGHER,
                                 .doc = "throughput, at 100 W",
                                 .compute = steps_per_watt};
static hl_custom_metric second = {.abi = HL_CUSTOM_ABI,
                                  .size = sizeof second,
                                  .name = "longest_step_ms",
                                  .unit = "ms",
                                  .better = HL_CUSTOM_LOWER,
                                  .compute = longest_gap};
static const hl_custom_metric *list[64] = {&first, &second};

__attribute__((visibility("default"))) const hl_custom_metric *const *hl_custom_entry(void);

const hl_custom_metric *const *hl_custom_entry(void) {
  static char text[400];
  memset(text, 'x', sizeof text - 1);
  if (is("at once")) raise(SIGSEGV);
  if (is("no list")) return NULL;
  if (is("empty")) list[0] = NULL;
  if (is("many"))
    for (int i = 0; i < 63; i++) list[i] = &first;
  if (is("version")) second.abi = 7;
  if (is("short")) second.size = 8;
  if (is("no name")) second.name = NULL;
  if (is("bad name")) second.name = "Longest Step";
  if (is("long name")) second.name = text;
  if (is("taken")) second.name = "latency_p50_ms";
  if (is("twice")) second.name = first.name;
  if (is("long unit")) second.unit = text;
  if (is("lines")) second.doc = "two\nlines";
  if (is("bytes")) second.doc = "\xff";
  if (is("better")) second.better = 9;
  if (is("no function")) second.compute = NULL;
  return list;
}
