/* The monitor through its public header: every record is in the log once, whatever the threads; the
 * log is rotated, locked, and gone on with after a line that was torn. */
#include <hotlap/hotlap.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 8, RECORDS = 5000 };

static char path[64];

static void remove_logs(void) {
  char name[96];
  unlink(path);
  for (int k = 1; k <= 20; k++) {
    snprintf(name, sizeof name, "%s.%d", path, k);
    unlink(name);
  }
}

static int set_up(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/hotlap-monitor-%lld.jsonl", (long long)getpid());
  remove_logs();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_logs();
  return 0;
}

static hl_monitor *open_monitor(hl_monitor_config config) {
  hl_monitor *monitor = NULL;
  hl_error error = {0};
  config.path = path;
  if (hl_monitor_new(&config, &monitor, &error) != HL_OK) fail_msg("%s", error.msg);
  return monitor;
}

static hl_monitor_stats stats_of(hl_monitor *monitor) {
  hl_monitor_stats stats = {.size = sizeof stats};
  hl_monitor_get_stats(monitor, &stats);
  return stats;
}

static char *text_of(const char *name) {
  FILE *file = fopen(name, "r");
  if (!file) return NULL;
  char *text = calloc(1, 16 << 20);
  assert_non_null(text);
  size_t n = fread(text, 1, (16 << 20) - 1, file);
  text[n] = '\0';
  fclose(file);
  return text;
}

static size_t count_of(const char *text, const char *word) {
  size_t n = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
  return n;
}

typedef struct job {
  hl_monitor *monitor;
  uint32_t number, refused;
} job;

/* The batch size of a record is its name. */
static void *log_many(void *argument) {
  job *j = argument;
  for (uint32_t i = 0; i < RECORDS; i++)
    while (!hl_monitor_log_inference(j->monitor, j->number * RECORDS + i + 1, 0.001, 12.5))
      j->refused++;
  return NULL;
}

static void every_record_is_there_once(void **state) {
  (void)state;
  /* A ring that the threads fill again and again. */
  hl_monitor *monitor = open_monitor(
      (hl_monitor_config){.size = sizeof(hl_monitor_config), .ring_records = 256, .flush_ms = 1});
  pthread_t threads[THREADS];
  job jobs[THREADS];
  uint64_t refused = 0;
  for (uint32_t i = 0; i < THREADS; i++) {
    jobs[i] = (job){.monitor = monitor, .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, log_many, &jobs[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    refused += jobs[i].refused;
  }
  assert_int_equal(hl_monitor_flush(monitor, NULL), HL_OK);
  hl_monitor_stats stats = stats_of(monitor);
  assert_int_equal(stats.logged, THREADS * RECORDS);
  assert_int_equal(stats.written, THREADS * RECORDS);
  assert_int_equal(stats.dropped, refused);
  hl_monitor_free(monitor);

  static unsigned char seen[THREADS * RECORDS + 1];
  uint32_t last[THREADS] = {0};
  uint64_t told = 0;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char line[512];
  while (fgets(line, sizeof line, file)) {
    assert_non_null(strchr(line, '\n'));
    const char *batch = strstr(line, "\"batch_size\":"), *drop = strstr(line, "\"count\":");
    if (drop) told += strtoull(drop + 8, NULL, 10);
    if (!batch) continue;
    unsigned long name = strtoul(batch + 13, NULL, 10);
    assert_in_range(name, 1, THREADS * RECORDS);
    assert_int_equal(seen[name]++, 0);
    uint32_t thread = (uint32_t)(name - 1) / RECORDS;
    assert_true(name > last[thread]); /* those of one thread in their order */
    last[thread] = (uint32_t)name;
    assert_non_null(strstr(line, "\"elapsed_time\":0.001,\"memory_usage\":12.5,\"throughput\":"));
  }
  fclose(file);
  for (size_t i = 1; i <= THREADS * RECORDS; i++) assert_int_equal(seen[i], 1);
  assert_int_equal(told, refused);
}

static void refuses_what_is_no_inference(void **state) {
  (void)state;
  hl_monitor *monitor = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG);
  assert_false(hl_monitor_log_inference(monitor, 0, 1, 1));
  assert_false(hl_monitor_log_inference(monitor, 1, 0, 1));
  assert_false(hl_monitor_log_inference(monitor, 1, -1, 1));
  assert_false(hl_monitor_log_inference(monitor, 1, (double)NAN, 1));
  assert_false(hl_monitor_log_inference(monitor, 1, (double)INFINITY, 1));
  assert_true(hl_monitor_log_inference(monitor, 1, 1e-320, (double)NAN));
  hl_monitor_stats stats = stats_of(monitor);
  assert_int_equal(stats.invalid, 5);
  assert_int_equal(stats.logged, 1);
  hl_monitor_free(monitor);
  char *text = text_of(path);
  assert_non_null(strstr(text, "\"memory_usage\":null,\"throughput\":null}\n"));
  free(text);
}

static void rotates(void **state) {
  (void)state;
  hl_monitor *monitor = open_monitor((hl_monitor_config){
      .size = sizeof(hl_monitor_config), .rotate_bytes = 4096, .rotate_keep = 3, .flush_ms = 1});
  for (uint32_t i = 1; i <= 300; i++) {
    assert_true(hl_monitor_log_inference(monitor, i, 0.5, 1));
    /* One by one, and many at once. */
    if (i < 60 && i % 10 == 0) assert_int_equal(hl_monitor_flush(monitor, NULL), HL_OK);
  }
  hl_monitor_free(monitor);
  uint32_t expected = 300;
  for (int k = 0; k <= 3; k++) { /* the youngest lines, without a gap */
    char name[96];
    snprintf(name, sizeof name, k ? "%s.%d" : "%s", path, k);
    struct stat file;
    assert_int_equal(stat(name, &file), 0);
    assert_true(file.st_size <= 4096);
    char *text = text_of(name);
    assert_int_equal(strncmp(text, "{\"timestamp\":", 13), 0);
    assert_non_null(strstr(text, "\"schema\":\"hotlap.monitor/1\""));
    uint32_t lines = (uint32_t)count_of(text, "\"batch_size\":");
    assert_true(lines > 10);
    char last[32];
    snprintf(last, sizeof last, "\"batch_size\":%" PRIu32 ",", expected);
    assert_non_null(strstr(text, last));
    expected -= lines;
    free(text);
  }
  char name[96];
  snprintf(name, sizeof name, "%s.4", path);
  assert_int_not_equal(access(name, F_OK), 0);
}

static void goes_on_behind_a_torn_line(void **state) {
  (void)state;
  FILE *file = fopen(path, "w");
  fputs("{\"timestamp\":\"2026-01-01T00:00:00Z\",\"batch_size\":3,\"elap", file);
  fclose(file);
  hl_monitor_free(open_monitor((hl_monitor_config)HL_MONITOR_CONFIG));
  char *text = text_of(path);
  assert_non_null(strstr(text, ",\"elap\n{\"timestamp\":"));
  assert_int_equal(text[strlen(text) - 1], '\n');
  free(text);
}

static void one_writer(void **state) {
  (void)state;
  hl_monitor *first = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG), *second = NULL;
  hl_monitor_config config = HL_MONITOR_CONFIG;
  config.path = path;
  hl_error error = {0};
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "is written by another monitor"));
  hl_monitor_free(first);
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_OK);
  hl_monitor_free(second);
  config.path = "/nowhere/at/all";
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_IO);
  config.path = "/dev/null";
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_IO);
  config.path = path;
  config.rotate_bytes = 1;
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_INVALID_ARGUMENT);
  config = (hl_monitor_config){0};
  assert_int_equal(hl_monitor_new(&config, &second, &error), HL_INVALID_ARGUMENT);
}

/* What was flushed is there after SIGKILL, and of what was being written one line is torn at most:
 * the kernel ends a write between two pages. The next monitor ends it. */
static void survives_a_kill(void **state) {
  (void)state;
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    hl_monitor *monitor = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG);
    for (uint32_t i = 1; i <= 1000; i++) hl_monitor_log_inference(monitor, i, 0.5, 1);
    hl_monitor_flush(monitor, NULL);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (uint32_t i = 1;; i++) hl_monitor_log_inference(monitor, i, 0.25, 1);
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(ready[0]);
  close(ready[1]);
  hl_monitor_free(open_monitor((hl_monitor_config)HL_MONITOR_CONFIG));
  FILE *file = fopen(path, "r");
  char line[512];
  size_t flushed = 0, torn = 0;
  while (fgets(line, sizeof line, file)) {
    size_t n = strlen(line);
    torn += !(n > 2 && line[0] == '{' && line[n - 2] == '}' && line[n - 1] == '\n');
    flushed += strstr(line, "\"elapsed_time\":0.5,") != NULL;
  }
  fclose(file);
  assert_int_equal(flushed, 1000);
  assert_in_range(torn, 0, 1);
}

/* A child of fork has no thread: it must not wait for one. */
static void ends_in_a_forked_child(void **state) {
  (void)state;
  hl_monitor *monitor = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG);
  pid_t child = fork();
  if (child == 0) {
    hl_status status = hl_monitor_flush(monitor, NULL);
    hl_monitor_free(monitor);
    _exit(status == HL_UNAVAILABLE ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  hl_monitor_free(monitor);
}

/* The lock is the monitor's, not that of children which have its files by inheritance. */
static void a_forked_child_does_not_keep_the_log(void **state) {
  (void)state;
  hl_monitor *monitor = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG);
  pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  hl_monitor_free(monitor);
  hl_monitor_free(open_monitor((hl_monitor_config)HL_MONITOR_CONFIG)); /* which asserts */
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/* As by rm, or by logrotate. */
static void begins_anew_where_the_log_is_removed(void **state) {
  (void)state;
  hl_monitor *monitor = open_monitor((hl_monitor_config)HL_MONITOR_CONFIG);
  assert_int_equal(unlink(path), 0);
  assert_true(hl_monitor_log_inference(monitor, 7, 0.5, 1));
  assert_int_equal(hl_monitor_flush(monitor, NULL), HL_OK);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char line[512];
  size_t lines = 0;
  while (fgets(line, sizeof line, file)) lines++;
  fclose(file);
  assert_int_equal(lines, 2); /* the header and the record */
  hl_monitor_free(monitor);
}

typedef struct own_end {
  hl_monitor *monitor;
  hl_status flushed;
  size_t calls;
} own_end;

static void free_within(void *context, const hl_monitor_event *event) {
  (void)event;
  own_end *end = context;
  end->calls++;
  end->flushed = hl_monitor_flush(end->monitor, NULL);
  hl_monitor_free(end->monitor);
}

/* Neither is waited for, which would be for ever, and what was logged is in the file. */
static void is_freed_within_on_event(void **state) {
  (void)state;
  own_end end = {0};
  hl_monitor_config config = HL_MONITOR_CONFIG;
  config.flush_ms = 60000;
  config.on_event = free_within;
  config.context = &end;
  config.path = path;
  /* Without alerts, the ring half full wakes the thread: all is logged before. */
  config.ring_records = 64;
  assert_int_equal(hl_monitor_new(&config, &end.monitor, NULL), HL_OK);
  hl_monitor *monitor = end.monitor;
  for (uint32_t i = 0; i < 25; i++) assert_true(hl_monitor_log_inference(monitor, 8, 0.1, 1));
  for (uint32_t i = 0; i < 7; i++) assert_true(hl_monitor_log_inference(monitor, 8, 0.2, -1));
  hl_monitor *next = NULL;
  config = (hl_monitor_config)HL_MONITOR_CONFIG;
  config.path = path;
  for (hl_status status = HL_UNAVAILABLE; status == HL_UNAVAILABLE; sched_yield())
    status = hl_monitor_new(&config, &next, NULL);
  hl_monitor_free(next);
  assert_int_equal(end.calls, 1);
  assert_int_equal(end.flushed, HL_INVALID_ARGUMENT);
  FILE *file = fopen(path, "r");
  char line[512];
  size_t known = 0, unknown = 0;
  while (fgets(line, sizeof line, file)) {
    known += strstr(line, "\"memory_usage\":1,") != NULL;
    unknown += strstr(line, "\"memory_usage\":null,") != NULL; /* there is none below 0 */
  }
  fclose(file);
  assert_int_equal(known, 25);
  assert_int_equal(unknown, 7);
}

static size_t events_seen[4];

static void on_event(void *context, const hl_monitor_event *event) {
  assert_ptr_equal(context, events_seen);
  events_seen[event->kind]++;
}

static void log_some(hl_monitor *monitor, uint32_t count, double elapsed_s) {
  for (uint32_t i = 0; i < count; i++)
    assert_true(hl_monitor_log_inference(monitor, 8, elapsed_s, (double)NAN));
  assert_int_equal(hl_monitor_flush(monitor, NULL), HL_OK);
}

/* A command has the message as its last word and the JSON on standard input, and no shell reads
 * either. */
static void tells_a_command(void **state) {
  (void)state;
  char told[96], script[256];
  snprintf(told, sizeof told, "%s.9", path);
  snprintf(script, sizeof script, "{ printf '%%s\\n' \"$#\" \"$1\"; cat; } >> %s", told);
  const char *const command[] = {"sh", "-c", script, "sh", NULL};
  memset(events_seen, 0, sizeof events_seen);
  hl_monitor *monitor = open_monitor((hl_monitor_config){.size = sizeof(hl_monitor_config),
                                                         .alert_command = command,
                                                         .on_event = on_event,
                                                         .context = events_seen});
  log_some(monitor, 100, 0.1);
  log_some(monitor, 7, 0.2);
  hl_monitor_stats stats = stats_of(monitor);
  assert_int_equal(stats.slow, 7);
  assert_int_equal(stats.degradations, 1);
  assert_int_equal(stats.alerts, 1);
  log_some(monitor, 10, 0.1); /* recovered: told, since its degradation was */
  log_some(monitor, 7, 0.2);  /* not told: within a minute of the first */
  assert_int_equal(stats_of(monitor).degradations, 2);
  assert_int_equal(stats_of(monitor).alerts, 2);
  assert_int_equal(events_seen[HL_MONITOR_DEGRADED], 2);
  assert_int_equal(events_seen[HL_MONITOR_RECOVERED], 1);
  hl_monitor_free(monitor); /* waits for the command */
  char *text = text_of(told);
  assert_non_null(text);
  assert_non_null(
      strstr(text, "1\nhotlap: inference is slow: batch size 8, 40 images/s, 50 % of 80\n"));
  assert_non_null(strstr(text, "\"event\":\"degraded\",\"batch_size\":8,\"since\":\"20"));
  assert_non_null(strstr(text, "\"event\":\"recovered\""));
  assert_int_equal(count_of(text, "\"event\":"), 2);
  free(text);
  text = text_of(path);
  assert_int_equal(count_of(text, "\"event\":\"degraded\""), 2);
  assert_int_equal(count_of(text, ",\"slow\":0.5}\n"), 14);
  free(text);
}

static void tells_why_nobody_was_told(void **state) {
  (void)state;
  const char *const missing[] = {"/no/such/program", NULL};
  hl_monitor *monitor = open_monitor(
      (hl_monitor_config){.size = sizeof(hl_monitor_config), .alert_command = missing});
  log_some(monitor, 100, 0.1);
  log_some(monitor, 5, 0.2);
  assert_int_equal(stats_of(monitor).failed_alerts, 1);
  hl_monitor_free(monitor);
  char *text = text_of(path);
  assert_non_null(
      strstr(text, "\"event\":\"alert_failed\",\"message\":\"/no/such/program cannot be run"));
  free(text);
  static const char *const urls[] = {"ftp://a", "-o/etc/passwd", "http://a b", "https://a\nurl = b",
                                     ""};
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    hl_monitor_config config = HL_MONITOR_CONFIG;
    config.webhook = urls[i];
    assert_int_equal(hl_monitor_new(&config, &monitor, NULL), HL_INVALID_ARGUMENT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_record_is_there_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_what_is_no_inference, set_up, tear_down),
      cmocka_unit_test_setup_teardown(rotates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(goes_on_behind_a_torn_line, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_writer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(survives_a_kill, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ends_in_a_forked_child, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_forked_child_does_not_keep_the_log, set_up, tear_down),
      cmocka_unit_test_setup_teardown(begins_anew_where_the_log_is_removed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(is_freed_within_on_event, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tells_a_command, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tells_why_nobody_was_told, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
