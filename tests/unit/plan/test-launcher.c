/* Words of --launcher, split as a shell would, with no shell behind them. */
#include "plan/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void words_are_split(void **state) {
  (void)state;
  static const struct {
    const char *text, *program, *words; /* words NULL: refused */
    bool far;
  } cases[] = {
      {"ssh box", NULL, "ssh|box|", true},
      {"  ssh\t -p  22 ann@box ", "~/bin/hotlap", "ssh|-p|22|ann@box|", true},
      {"srun -N1 --gres=gpu:1", NULL, "srun|-N1|--gres=gpu:1|", true},
      {"docker run -v '/my data':/d \"a b\"c", NULL, "docker|run|-v|/my data:/d|a bc|", true},
      {"ssh -o 'ProxyCommand=nc %h $x'", NULL, "ssh|-o|ProxyCommand=nc %h $x|", true},
      {"/usr/bin/taskset -c 1", NULL, "/usr/bin/taskset|-c|1|", false},
      {"ip netns exec far", NULL, "ip|netns|exec|far|", false},
      {"ssh ''", NULL, "ssh||", true},
      {"", NULL, NULL, false},
      {" \t ", NULL, NULL, false},
      {"'' box", NULL, NULL, false},
      {"ssh box; reboot", NULL, NULL, false},
      {"ssh $(hostname)", NULL, NULL, false},
      {"ssh \"$HOST\"", NULL, NULL, false},
      {"ssh 'box", NULL, NULL, false},
      {"ssh box\nreboot", NULL, NULL, false},
      {"ssh box", "/opt/my hotlap", NULL, false},
      {"ssh box", "$(reboot)", NULL, false},
      {"ssh box", "-h", NULL, false},
      {"ssh box", "", NULL, false},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_arena arena;
    const hl_launcher *l = NULL;
    hl_error error = {0};
    hl_text words = HL_TEXT_INIT;
    hl_arena_init(&arena, 1 << 20);
    hl_status status = hl_launcher_make(cases[i].text, cases[i].program, &arena, &l, &error);
    if (!cases[i].words) {
      assert_int_equal(status, HL_INVALID_ARGUMENT);
      assert_non_null(strstr(error.msg, cases[i].program ? "--remote-program" : "--launcher"));
    } else {
      assert_int_equal(status, HL_OK);
      for (size_t k = 0; k < l->count; k++) hl_text_format(&words, "%s|", l->words[k]);
      assert_null(l->words[l->count]);
      assert_string_equal(words.data, cases[i].words);
      assert_int_equal(l->far, cases[i].far);
    }
    hl_text_release(&words);
    hl_arena_release(&arena);
  }
}

static void options_repeat_it(void **state) {
  (void)state;
  hl_arena arena;
  const hl_launcher *a = NULL;
  hl_text text = HL_TEXT_INIT;
  hl_arena_init(&arena, 1 << 20);
  assert_int_equal(hl_launcher_make("ssh -p 7 'a b'", "/opt/hotlap", &arena, &a, NULL), HL_OK);
  hl_launcher_options(a, &text);
  assert_string_equal(text.data,
                      " --launcher 'ssh -p 7 '\\''a b'\\''' --remote-program /opt/hotlap");
  hl_text_release(&text);
  hl_arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_split),
                                     cmocka_unit_test(options_repeat_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
