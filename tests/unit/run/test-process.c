/* The runner's side of a worker, with shell scripts as workers: how each kind of death is told, and
 * that nothing of it stays. */
#include "base/clock.h"
#include "base/file.h"
#include "run/process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/hotlap-process-XXXXXX";
static char program[64];

static int set_up(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  HL_CLEANUP(hl_free_pointer) char *command = hl_format("rm -rf %s", folder);
  return system(command);
}

/* A worker that says hello properly and then does `script`. */
#define HELLO "read line; echo '{\"id\": 1, \"ok\": true, \"clock_read_ns\": 25.5}';"

static hl_launch worker(const char *script) {
  HL_CLEANUP(hl_free_pointer) char *text = hl_format("#!/bin/sh\n%s\n", script);
  snprintf(program, sizeof program, "%s/worker", folder);
  assert_int_equal(hl_file_write(program, text, strlen(text), NULL), HL_OK);
  assert_int_equal(chmod(program, 0755), 0);
  return (hl_launch){.program = program, .wake_fd = -1};
}

static void a_worker_that_answers(void **state) {
  (void)state;
  hl_launch launch =
      worker(HELLO "read line; echo \"{\\\"id\\\": 2, \\\"ok\\\": true, \\\"bytes\\\": 3}\"; "
                   "printf abc; read line; echo '{\"id\": 3, \"ok\": false, "
                   "\"status\": \"OUT_OF_MEMORY\", \"message\": \"none left\"}'; read line");
  hl_process process;
  hl_message reply;
  hl_error error = {0};
  assert_int_equal(hl_process_start(&launch, &process, &error), HL_OK);
  assert_true(process.clock_read_ns == 25.5);
  assert_int_equal(hl_process_call(&process, "load", NULL, 5, &reply, &error), HL_OK);
  assert_memory_equal(reply.bytes, "abc", 3);
  hl_message_release(&reply);
  assert_int_equal(hl_process_call(&process, "run", json_pack("{s:i}", "x", 1), 5, &reply, &error),
                   HL_OUT_OF_MEMORY);
  assert_string_equal(error.msg, "none left");
  pid_t pid = process.pid;
  assert_int_equal(hl_process_end(&process, HL_OUT_OF_MEMORY, &error), HL_OUT_OF_MEMORY);
  assert_string_equal(error.msg, "none left"); /* not rewritten */
  assert_int_equal(kill(pid, 0), -1);
}

static void deaths_are_explained(void **state) {
  (void)state;
  static const struct {
    const char *script;
    hl_status status;
    const char *part;
  } cases[] = {
      {"exit 7", HL_CRASHED, "exit status 7"},
      {"echo 'something broke' >&2; exit 3", HL_CRASHED, "exit status 3: something broke"},
      {"printf 'one\\ntwo\\n\\n' >&2; exit 3", HL_CRASHED, "exit status 3: two"},
      {"kill -SEGV $$", HL_CRASHED, "signal 11"},
      {"kill -KILL $$", HL_CRASHED, "signal 9"},
      {"exit 124", HL_TIMED_OUT, "did not end within"},
      {"echo garbage; sleep 60", HL_BAD_DATA, "not a message"},
      {"echo '{\"id\": 5, \"ok\": true}'; sleep 60", HL_BAD_DATA, "another request"},
      {"echo '{\"id\": 1}'; sleep 60", HL_BAD_DATA, "'ok'"},
      {"exec >&-; sleep 60", HL_CRASHED, "signal 9"}, /* closed its pipe and stays: killed */
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_launch launch = worker(cases[i].script);
    hl_process process = {.pid = -5};
    hl_error error = {0};
    uint64_t start = hl_clock_ns();
    hl_status status = hl_process_start(&launch, &process, &error);
    if (status != cases[i].status || !strstr(error.msg, cases[i].part))
      fail_msg("%s: %s: %s", cases[i].script, hl_status_name(status), error.msg);
    assert_int_equal(process.pid, -5); /* untouched on failure */
    assert_true(hl_clock_ns() - start < 50000000000u);
  }
}

/* Which of the two comes first is a race in life: here it has ended before it is asked. */
static void what_it_said_before_it_was_asked_is_kept(void **state) {
  (void)state;
  int said[2], asked[2];
  assert_int_equal(pipe(said), 0);
  assert_int_equal(pipe(asked), 0);
  static const char words[] = "Your account has expired\n";
  assert_int_equal(write(said[1], words, strlen(words)), (int)strlen(words));
  close(said[1]);
  close(asked[0]);
  hl_process process = {.pid = -1, .said_fd = -1, .wake_fd = -1};
  hl_channel_init(&process.channel, said[0], asked[1]);
  process.channel.skips_chatter = true;
  hl_message reply;
  hl_error error = {0};
  assert_int_equal(hl_process_call(&process, "hello", NULL, 5, &reply, &error), HL_CRASHED);
  assert_non_null(process.channel.chatter.data);
  assert_string_equal(process.channel.chatter.data, "Your account has expired");
  assert_int_equal(hl_process_end(&process, HL_OK, &error), HL_OK);
}

static void a_program_that_is_not_there(void **state) {
  (void)state;
  const hl_launch launch = {.program = "/no/such/program", .wake_fd = -1};
  hl_process process;
  hl_error error = {0};
  assert_int_equal(hl_process_start(&launch, &process, &error), HL_CRASHED);
  assert_non_null(strstr(error.msg, "exit status 127"));
}

static void silence_is_timed_out_and_killed(void **state) {
  (void)state;
  hl_launch launch = worker(HELLO "trap '' TERM; while :; do sleep 1; done");
  hl_process process;
  hl_message reply;
  hl_error error = {0};
  assert_int_equal(hl_process_start(&launch, &process, &error), HL_OK);
  uint64_t start = hl_clock_ns();
  assert_int_equal(hl_process_call(&process, "run", NULL, 0.1, &reply, &error), HL_TIMED_OUT);
  assert_non_null(strstr(error.msg, "'run' did not end within 0.1 s"));
  pid_t pid = process.pid;
  assert_int_equal(hl_process_end(&process, HL_TIMED_OUT, &error), HL_TIMED_OUT);
  assert_true(hl_clock_ns() - start < 50000000000u);
  assert_true(kill(pid, 0) == -1 && errno == ESRCH);
}

static void a_wake_interrupts_waiting(void **state) {
  (void)state;
  int wake[2];
  assert_int_equal(pipe(wake), 0);
  assert_int_equal(write(wake[1], "", 1), 1);
  hl_launch launch = worker("sleep 60");
  launch.wake_fd = wake[0];
  hl_process process;
  hl_error error = {0};
  uint64_t start = hl_clock_ns();
  assert_int_equal(hl_process_start(&launch, &process, &error), HL_INTERRUPTED);
  assert_true(hl_clock_ns() - start < 50000000000u);
  close(wake[0]);
  close(wake[1]);
}

static void what_a_worker_started_dies_with_it(void **state) {
  (void)state;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/pid", folder);
  HL_CLEANUP(hl_free_pointer)
  char *script = hl_format("sleep 600 & echo $! > %s; exit 4", path);
  hl_launch launch = worker(script);
  hl_process process;
  hl_error error = {0};
  /* The grandchild holds the pipe open, so that only the deadline or the death tells. */
  hl_status status = hl_process_start(&launch, &process, &error);
  assert_true(status == HL_CRASHED || status == HL_TIMED_OUT);
  char *text = NULL;
  assert_int_equal(hl_file_read(path, 100, &text, NULL, NULL), HL_OK);
  pid_t pid = (pid_t)atoi(text);
  free(text);
  assert_true(pid > 1);
  bool gone = false; /* or a zombie that its new parent has not fetched */
  for (int i = 0; i < 3000 && !gone; i++) {
    HL_CLEANUP(hl_free_pointer) char *stat_path = hl_format("/proc/%d/stat", (int)pid);
    char *stat = NULL;
    gone = hl_file_read(stat_path, 1000, &stat, NULL, NULL) != HL_OK || strstr(stat, ") Z ");
    free(stat);
    usleep(10000);
  }
  assert_true(gone);
}

static void the_memory_limit_is_named(void **state) {
  (void)state;
  hl_launch launch = worker(HELLO "read line");
  launch.memory_limit_bytes = 500u << 20;
  hl_process process;
  hl_error error = {0};
  hl_status status = hl_process_start(&launch, &process, &error);
  if (status != HL_OK) fail_msg("%s", error.msg);
  assert_true(process.limit.kind != HL_LIMIT_NONE);
  assert_true(strlen(hl_memory_limit_name(&process.limit)) > 0);
  assert_int_equal(hl_process_end(&process, HL_OK, &error), HL_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_worker_that_answers),
      cmocka_unit_test(deaths_are_explained),
      cmocka_unit_test(what_it_said_before_it_was_asked_is_kept),
      cmocka_unit_test(a_program_that_is_not_there),
      cmocka_unit_test(silence_is_timed_out_and_killed),
      cmocka_unit_test(a_wake_interrupts_waiting),
      cmocka_unit_test(what_a_worker_started_dies_with_it),
      cmocka_unit_test(the_memory_limit_is_named),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
