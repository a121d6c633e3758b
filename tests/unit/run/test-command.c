#include "run/command.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_words_or_shell(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool by_shell;
    const char *words[4]; /* of those that are executed as they are */
  } cases[] = {
      {"true", false, {"true"}},
      {"  a\tb  c ", false, {"a", "b", "c"}},
      {"a 'b c' \"d e\"", false, {"a", "b c", "d e"}},
      {"a 'it\"s' \"it's\"", false, {"a", "it\"s", "it's"}},
      {"a '$x;*' ''", false, {"a", "$x;*", ""}},
      {"a pre'fix 'x", false, {"a", "prefix x"}},
      {"./a --b=c,d:e@f%g+h", false, {"./a", "--b=c,d:e@f%g+h"}},
      {"grüße ÿ", false, {"grüße", "ÿ"}},
      {"A=1 b", true, {0}},
      {"a $x", true, {0}},
      {"a \"$x\"", true, {0}},
      {"a \"b\\c\"", true, {0}},
      {"a | b", true, {0}},
      {"a; b", true, {0}},
      {"a > b", true, {0}},
      {"a *", true, {0}},
      {"a ~", true, {0}},
      {"a # b", true, {0}},
      {"a\nb", true, {0}},
      {"a 'open", true, {0}},
      {"a \\b", true, {0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_command c;
    hl_error error = {0};
    assert_int_equal(hl_command_init(&c, cases[i].text, &error), HL_OK);
    if (c.by_shell != cases[i].by_shell) fail_msg("%s", cases[i].text);
    for (size_t k = 0; !c.by_shell && k < 4; k++) {
      if (cases[i].words[k])
        assert_string_equal(c.argv[k], cases[i].words[k]);
      else {
        assert_null(c.argv[k]);
        break;
      }
    }
    if (c.by_shell) assert_string_equal(c.argv[3], cases[i].text);
    hl_command_release(&c);
  }
}

static void test_bad_texts(void **state) {
  (void)state;
  hl_command c;
  hl_error error = {0};
  assert_int_equal(hl_command_init(&c, " \t\n", &error), HL_INVALID_ARGUMENT);
  char *many = malloc(HL_COMMAND_BYTES + 2);
  memset(many, 'a', HL_COMMAND_BYTES + 1);
  many[HL_COMMAND_BYTES + 1] = '\0';
  assert_int_equal(hl_command_init(&c, many, &error), HL_LIMIT);
  many[HL_COMMAND_BYTES] = '\0';
  for (size_t i = 1; i < HL_COMMAND_BYTES; i += 2) many[i] = ' ';
  assert_int_equal(hl_command_init(&c, many, &error), HL_OK); /* as many words as there can be */
  hl_command_release(&c);
  free(many);
}

static hl_status execute(const char *text, const hl_command_place *place, hl_execution *e,
                         hl_error *error) {
  hl_command c;
  assert_int_equal(hl_command_init(&c, text, error), HL_OK);
  hl_status status = hl_command_execute(&c, place, e, error);
  hl_command_release(&c);
  return status;
}

static void test_how_it_ends(void **state) {
  (void)state;
  const hl_command_place place = {.wake_fd = -1, .timeout_s = 30, .output = HL_OUTPUT_KEEP};
  static const struct {
    const char *text;
    int exit_status, signal;
    const char *said, *output;
  } cases[] = {
      {"true", 0, 0, "", ""},
      {"exit 7", 7, 0, "", ""},
      {"echo out; echo err >&2", 0, 0, "err\n", "out\n"},
      {"kill -SEGV $$", -1, SIGSEGV, "", ""},
      {"cat", 0, 0, "", ""}, /* nothing comes from standard input */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_execution e;
    hl_error error = {0};
    assert_int_equal(execute(cases[i].text, &place, &e, &error), HL_OK);
    assert_int_equal(e.exit_status, cases[i].exit_status);
    assert_int_equal(e.signal, cases[i].signal);
    assert_string_equal(e.said, cases[i].said);
    assert_string_equal(e.output, cases[i].output);
    assert_true(e.wall_ns > 0 && e.wall_ns < 30000000000u);
    assert_true(e.peak_bytes > 0);
    assert_false(e.orphans);
  }
}

static void test_times_are_of_the_command(void **state) {
  (void)state;
  const hl_command_place place = {.wake_fd = -1, .timeout_s = 60};
  hl_execution e;
  hl_error error = {0};
  assert_int_equal(execute("sleep 0.2", &place, &e, &error), HL_OK);
  assert_true(e.wall_ns >= 200000000 && e.user_ns + e.system_ns < 150000000);
  assert_int_equal(
      execute("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done", &place, &e, &error), HL_OK);
  assert_true(e.user_ns > 5000000 && e.user_ns + e.system_ns <= e.wall_ns + 10000000);
}

/* Much output neither blocks nor is kept but for its end. */
static void test_much_output(void **state) {
  (void)state;
  const hl_command_place place = {.wake_fd = -1, .timeout_s = 60, .output = HL_OUTPUT_SAID};
  hl_execution e;
  hl_error error = {0};
  assert_int_equal(
      execute("head -c 4000000 /dev/zero | tr '\\0' x; echo last >&2", &place, &e, &error), HL_OK);
  assert_int_equal(e.exit_status, 0);
  size_t length = strlen(e.said);
  assert_int_equal(length, HL_COMMAND_SAID - 1);
  assert_string_equal(e.said + length - 6, "xlast\n");
}

static void test_time_is_up(void **state) {
  (void)state;
  const hl_command_place place = {.wake_fd = -1, .timeout_s = 1};
  hl_execution e;
  hl_error error = {0};
  assert_int_equal(execute("trap '' TERM INT; echo no >&2; sleep 60", &place, &e, &error),
                   HL_TIMED_OUT);
  assert_string_equal(e.said, "no\n");
  assert_int_equal(e.signal, SIGKILL);
  assert_non_null(strstr(error.msg, "did not end within 1 s"));
}

static void test_wakes(void **state) {
  (void)state;
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(write(fds[1], "", 1), 1);
  const hl_command_place place = {.wake_fd = fds[0]};
  hl_execution e;
  hl_error error = {0};
  assert_int_equal(execute("sleep 60", &place, &e, &error), HL_INTERRUPTED);
  close(fds[0]);
  close(fds[1]);
}

/* Processes that left the group, with all streams closed, are found and killed too. */
static void test_nothing_is_left(void **state) {
  (void)state;
  char name[] = "/tmp/hotlap-command-XXXXXX", text[256];
  int fd = mkstemp(name);
  assert_true(fd >= 0);
  snprintf(text, sizeof text,
           "setsid sh -c 'echo $$ > %s; exec sleep 60' & until [ -s %s ]; do sleep 0.01; done",
           name, name);
  const hl_command_place place = {.wake_fd = -1, .timeout_s = 30};
  hl_execution e;
  hl_error error = {0};
  assert_int_equal(execute(text, &place, &e, &error), HL_OK);
  assert_int_equal(e.exit_status, 0);
  assert_true(e.orphans);
  char said[32] = "";
  assert_true(read(fd, said, sizeof said - 1) > 0);
  close(fd);
  unlink(name);
  int pid = (int)strtol(said, NULL, 10);
  assert_true(pid > 1);
  assert_int_equal(kill(pid, 0), -1);
}

static void test_places(void **state) {
  (void)state;
  hl_execution e;
  hl_error error = {0};
  hl_command_place place = {
      .wake_fd = -1, .timeout_s = 30, .directory = "/usr", .output = HL_OUTPUT_KEEP};
  assert_int_equal(execute("pwd", &place, &e, &error), HL_OK);
  assert_string_equal(e.output, "/usr\n");
  place.directory = "/nosuch directory";
  assert_int_equal(execute("pwd", &place, &e, &error), HL_IO);
  assert_non_null(strstr(error.msg, "/nosuch directory"));
  place.directory = NULL;
  assert_int_equal(execute("./nosuch/program", &place, &e, &error), HL_NOT_FOUND);
  setenv("GIT_DIR", "/elsewhere", 1);
  assert_int_equal(execute("echo \"$GIT_DIR\"", &place, &e, &error), HL_OK);
  assert_string_equal(e.output, "/elsewhere\n");
  place.without_git = true;
  assert_int_equal(execute("echo \"$GIT_DIR\"", &place, &e, &error), HL_OK);
  assert_string_equal(e.output, "\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_or_shell), cmocka_unit_test(test_bad_texts),
      cmocka_unit_test(test_how_it_ends),    cmocka_unit_test(test_times_are_of_the_command),
      cmocka_unit_test(test_much_output),    cmocka_unit_test(test_time_is_up),
      cmocka_unit_test(test_wakes),          cmocka_unit_test(test_nothing_is_left),
      cmocka_unit_test(test_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
