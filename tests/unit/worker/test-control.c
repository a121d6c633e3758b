/* The worker's ear: messages are handed over; the end of the runner, a deadline and garbage end
 * the process. Each case is a process of its own. */
#include "base/clock.h"
#include "worker/control.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { child_done = 77 };

typedef struct child {
  pid_t pid;
  int to, from;
} child;

/* Runs `body` with a started control thread; what it writes to `answer` reaches the parent. */
static child start(void (*body)(hl_control *control, int answer)) {
  int in[2], out[2];
  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    close(in[1]);
    close(out[0]);
    static hl_channel channel;
    static hl_control control;
    hl_channel_init(&channel, in[0], -1);
    if (hl_control_start(&control, &channel, NULL, NULL, NULL) != HL_OK) _exit(99);
    body(&control, out[1]);
    _exit(child_done);
  }
  close(in[0]);
  close(out[1]);
  return (child){.pid = pid, .to = in[1], .from = out[0]};
}

/* Exit status, -1 if it has to be killed after 100 s. */
static int end(child *c) {
  int status = 0;
  for (int i = 0; i < 10000; i++) {
    if (waitpid(c->pid, &status, WNOHANG) == c->pid) {
      close(c->to);
      close(c->from);
      return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    }
    usleep(10000);
  }
  kill(c->pid, SIGKILL);
  waitpid(c->pid, &status, 0);
  return -1;
}

static void say(const child *c, const char *text) {
  assert_int_equal(write(c->to, text, strlen(text)), strlen(text));
}

static void hear(const child *c) {
  char byte;
  assert_int_equal(read(c->from, &byte, 1), 1);
}

static void wait_for_ever(hl_control *control, int answer) {
  (void)control;
  if (write(answer, "", 1) != 1) _exit(98);
  for (;;) pause();
}

static void the_end_of_the_runner_ends_the_worker(void **state) {
  (void)state;
  child c = start(wait_for_ever);
  hear(&c);
  close(c.to); /* while the main thread computes */
  c.to = -1;
  assert_int_equal(end(&c), 0);
}

static void garbage_ends_the_worker(void **state) {
  (void)state;
  child c = start(wait_for_ever);
  hear(&c);
  say(&c, "this is no message\n");
  assert_int_equal(end(&c), 2);
}

static void hang_beyond_deadline(hl_control *control, int answer) {
  hl_control_deadline(control, hl_clock_ns() + 50000000);
  if (write(answer, "", 1) != 1) _exit(98);
  for (;;) pause();
}

static void a_deadline_ends_the_worker(void **state) {
  (void)state;
  child c = start(hang_beyond_deadline);
  assert_int_equal(end(&c), HL_WORKER_EXIT_DEADLINE);
}

static void lift_deadlines(hl_control *control, int answer) {
  (void)answer;
  for (int i = 0; i < 2000; i++) { /* more wakes than the pipe could queue up slowly */
    hl_control_deadline(control, hl_clock_ns() + 2000000000);
    hl_control_deadline(control, UINT64_MAX);
  }
  hl_control_deadline(control, hl_clock_ns() + 2000000000);
  hl_control_deadline(control, UINT64_MAX);
  usleep(2200000);
}

static void a_lifted_deadline_does_not(void **state) {
  (void)state;
  child c = start(lift_deadlines);
  assert_int_equal(end(&c), child_done);
}

static void take_messages(hl_control *control, int answer) {
  for (int i = 1; i <= 100; i++) {
    hl_message message;
    hl_control_next(control, &message);
    if (hl_json_get_int(message.object, "id", 0) != i) _exit(97);
    hl_control_deadline(control, hl_clock_ns() + 10000000000u); /* as each verb does */
    hl_message_release(&message);
    hl_control_deadline(control, UINT64_MAX);
    hl_control_answer(control);
    if (write(answer, "", 1) != 1) _exit(98);
  }
}

static void messages_are_handed_over_in_order(void **state) {
  (void)state;
  child c = start(take_messages);
  char line[64];
  for (int i = 1; i <= 100; i++) {
    snprintf(line, sizeof line, "{\"id\": %d, \"bytes\": 3}\nabc", i);
    size_t half = (size_t)i % strlen(line); /* cut somewhere, with a wake in between */
    assert_int_equal(write(c.to, line, half), half);
    if (i % 10 == 0) usleep(1000);
    assert_int_equal(write(c.to, line + half, strlen(line) - half), strlen(line) - half);
    hear(&c);
  }
  assert_int_equal(end(&c), child_done);
}

static void take_one_and_compute(hl_control *control, int answer) {
  hl_message message;
  hl_control_next(control, &message);
  wait_for_ever(control, answer);
}

static void a_request_before_the_answer_ends_the_worker(void **state) {
  (void)state;
  child c = start(take_one_and_compute);
  say(&c, "{\"id\": 1}\n");
  hear(&c);
  say(&c, "{\"id\": 2}\n");
  assert_int_equal(end(&c), 2);
  child idle = start(wait_for_ever); /* not even taken */
  say(&idle, "{\"id\": 1}\n{\"id\": 2}\n");
  assert_int_equal(end(&idle), 2);
}

/* Answers a request that says how long the next may be awaited. */
static void answer_and_wait(hl_control *control, int answer) {
  hl_message message;
  hl_control_next(control, &message);
  hl_control_begin(control, message.object);
  hl_message_release(&message);
  usleep(300000); /* longer than idle: a request that is served is not idle */
  hl_control_answer(control);
  if (write(answer, "", 1) != 1) _exit(98);
  hl_control_next(control, &message);
}

static void silence_ends_a_worker_that_waits(void **state) {
  (void)state;
  child c = start(answer_and_wait);
  say(&c, "{\"id\": 1, \"idle_ns\": 100000000}\n");
  hear(&c);
  assert_int_equal(end(&c), HL_WORKER_EXIT_DEADLINE);
}

/* Says for 4 s that it lives, to a worker that is idle for 3 s at most: the longest silence. */
static uint64_t say_that_one_lives(const child *c) {
  static const char sign[] = "{\"alive\": true}\n", last[] = "{\"id\": 2}\n";
  uint64_t longest = 0, before = hl_clock_ns();
  for (int i = 0; i < 8; i++) {
    usleep(500000);
    ssize_t ignored = write(c->to, sign, strlen(sign));
    uint64_t now = hl_clock_ns();
    if (now - before > longest) longest = now - before;
    before = now;
    (void)ignored;
  }
  ssize_t ignored = write(c->to, last, strlen(last));
  (void)ignored;
  return longest;
}

static void signs_of_life_keep_it(void **state) {
  (void)state;
  int status = -1;
  for (int again = 0; again < 10 && status != child_done; again++) {
    child c = start(answer_and_wait);
    say(&c, "{\"alive\": true}\n{\"id\": 1, \"idle_ns\": 3000000000}\n");
    hear(&c);
    uint64_t longest = say_that_one_lives(&c);
    status = end(&c);
    /* Where the machine stood still for seconds, it was silence. */
    assert_true(status == child_done || longest > 1000000000);
  }
  assert_int_equal(status, child_done);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_end_of_the_runner_ends_the_worker),
      cmocka_unit_test(garbage_ends_the_worker),
      cmocka_unit_test(a_deadline_ends_the_worker),
      cmocka_unit_test(a_lifted_deadline_does_not),
      cmocka_unit_test(messages_are_handed_over_in_order),
      cmocka_unit_test(a_request_before_the_answer_ends_the_worker),
      cmocka_unit_test(silence_ends_a_worker_that_waits),
      cmocka_unit_test(signs_of_life_keep_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
