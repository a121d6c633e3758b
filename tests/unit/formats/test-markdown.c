/* Names with Markdown's own characters are shown as they are. */
#include "formats/markdown.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
  const char *text, *shown, *code;
} cases[] = {
    {NULL, "—", "—"},
    {"ptychopinn:N=64", "ptychopinn:N=64", "`ptychopinn:N=64`"},
    {"a|b", "a\\|b", "`a\\|b`"},
    {"two\nlines", "two lines", "`two lines`"},
    {"*b* [l](u) <i>&", "\\*b\\* \\[l\\](u) &lt;i&gt;&amp;", "`*b* [l](u) <i>&`"},
    {"x`y", "x\\`y", "``x`y``"},
    {"`", "\\`", "`` ` ``"},
    {"c:\\d", "c:\\\\d", "`c:\\d`"},
};

static void text_and_code(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text out = HL_TEXT_INIT;
    hl_markdown_text(&out, cases[i].text);
    assert_string_equal(out.data, cases[i].shown);
    hl_text_clear(&out);
    hl_markdown_code(&out, cases[i].text);
    assert_string_equal(out.data, cases[i].code);
    hl_text_release(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(text_and_code)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
