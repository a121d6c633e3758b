/* Signs of life go out between requests, and none while one is being written. */
#include "run/alive.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char line[] = "{\"alive\":true}\n";

static void they_are_whole_lines_and_stop_when_hushed(void **state) {
  (void)state;
  int fds[2];
  hl_alive *alive = NULL;
  char byte[2 * sizeof line];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(hl_alive_start(fds[1], 0.001, &alive, NULL), HL_OK);
  for (int round = 0; round < 50; round++) {
    hl_alive_speak(alive);
    for (int i = 0; i < 3; i++) { /* however long each takes to come */
      assert_int_equal(read(fds[0], byte, sizeof line - 1), sizeof line - 1);
      assert_memory_equal(byte, line, sizeof line - 1);
    }
    hl_alive_hush(alive);
    struct pollfd more = {.fd = fds[0], .events = POLLIN};
    while (poll(&more, 1, 0) == 1) /* what was said before */
      assert_int_equal(read(fds[0], byte, sizeof line - 1), sizeof line - 1);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(read(fds[0], byte, sizeof byte), 1);
  }
  hl_alive_stop(alive);
  close(fds[0]);
  close(fds[1]);
}

static void a_pipe_that_nobody_reads_is_no_reason_to_wait(void **state) {
  (void)state;
  int fds[2];
  hl_alive *alive = NULL;
  char filler[4096];
  memset(filler, 'x', sizeof filler);
  assert_int_equal(pipe(fds), 0);
  struct pollfd room = {.fd = fds[1], .events = POLLOUT};
  while (poll(&room, 1, 0) == 1) assert_true(write(fds[1], filler, sizeof filler) > 0);
  assert_int_equal(hl_alive_start(fds[1], 0.001, &alive, NULL), HL_OK);
  hl_alive_speak(alive);
  usleep(20000);
  hl_alive_hush(alive); /* would wait for ever if it were being written */
  hl_alive_stop(alive);
  close(fds[0]);
  close(fds[1]);
}

static void none_is_nothing_to_do(void **state) {
  (void)state;
  hl_alive_speak(NULL);
  hl_alive_hush(NULL);
  hl_alive_stop(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_are_whole_lines_and_stop_when_hushed),
      cmocka_unit_test(a_pipe_that_nobody_reads_is_no_reason_to_wait),
      cmocka_unit_test(none_is_nothing_to_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
