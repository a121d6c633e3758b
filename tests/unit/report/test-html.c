/* The writer of pages: no value becomes markup, whatever is in it; and what is embedded. */
#include "report/html-chart.h"
#include "report/html-pack.h"
#include "report/markdown-html.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void values_are_no_markup(void **state) {
  (void)state;
  static const struct {
    const char *given, *expected;
  } cases[] = {
      {"", ""},
      {"plain text", "plain text"},
      {"a < b & c > d", "a &lt; b &amp; c &gt; d"},
      {"</td><script>alert(1)</script>", "&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;"},
      {"\" onmouseover='x'", "&quot; onmouseover=&#39;x&#39;"},
      {"line\n\tnext", "line\n\tnext"},
      {"\x01\x1b[31m\x7f", "\xEF\xBF\xBD\xEF\xBF\xBD[31m\xEF\xBF\xBD"},
      {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8F\x81", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8F\x81"},
      {"\xC2\x85", "\xEF\xBF\xBD"},             /* C1 */
      {"a\xC3", "a\xEF\xBF\xBD"},               /* cut short */
      {"\xC0\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD"}, /* an overlong < */
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_text text = HL_TEXT_INIT;
    hl_html_escape(cases[i].given, &text);
    assert_string_equal(text.data, cases[i].expected);
    hl_text_release(&text);
  }
}

static void elements_nest(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_html html;
  hl_html_init(&html, &text);
  hl_html_doctype(&html);
  hl_html_open(&html, "table", "class", "a\"b", "id", (const char *)NULL, "hidden", "", NULL);
  hl_html_open(&html, "tr", NULL);
  hl_html_element(&html, "td", "<1>", "data-value", "<1>", NULL);
  hl_html_element(&html, "td", NULL, NULL);
  hl_html_void(&html, "br", NULL);
  hl_html_format(&html, "%s%d", "<", 2);
  hl_html_close_to(&html, 0);
  hl_html_close(&html);
  assert_string_equal(text.data,
                      "<!doctype html>\n<table class=\"a&quot;b\" hidden>\n<tr>"
                      "<td data-value=\"&lt;1&gt;\">&lt;1&gt;</td><td></td><br>&lt;2</tr></table>");
  assert_false(text.failed);
  for (int i = 0; i <= HL_HTML_MAX_DEPTH; i++) hl_html_open(&html, "b", NULL);
  assert_true(text.failed);
  hl_html_close_to(&html, 0);
  hl_text_release(&text);
}

static void json_ends_no_script(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_html html;
  hl_html_init(&html, &text);
  hl_html_json(&html, "d", "{\"a\": \"</script><!--&\xE2\x80\xA8\xE2\x80\xA9\xE2\x82\xAC\"}");
  assert_string_equal(text.data, "<script type=\"application/json\" id=\"d\">"
                                 "{\"a\": \"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029"
                                 "\xE2\x82\xAC\"}</script>");
  hl_text_release(&text);
}

static void assets_are_there(void **state) {
  (void)state;
  static const char *const names[] = {"chart.js", "hotlap.css", "page.js"};
  for (size_t i = 0; i < 3; i++) {
    const hl_asset *asset = hl_asset_find(names[i]);
    assert_non_null(asset);
    assert_int_equal(strlen(asset->data), asset->length); /* no NUL within it */
    assert_int_equal(strlen(asset->sha256), 44);
    hl_text text = HL_TEXT_INIT;
    hl_html html;
    hl_html_init(&html, &text);
    hl_html_asset(&html, asset);
    const char *begin = i == 1 ? "<style>" : "<script>", *end = i == 1 ? "</style>" : "</script>";
    assert_memory_equal(text.data, begin, strlen(begin));
    assert_ptr_equal(strstr(text.data, end), text.data + strlen(begin) + asset->length);
    hl_text_release(&text);
  }
  assert_null(hl_asset_find("chart"));
  assert_null(hl_asset_find(""));
  assert_non_null(strstr(hl_asset_find("chart.js")->data, "MIT License"));
}

/* ---- Markdown ---- */

static void expect_markdown(const char *markdown, const char *expected) {
  hl_text text = HL_TEXT_INIT;
  hl_html html;
  hl_html_init(&html, &text);
  hl_markdown_html(markdown, "", &html);
  assert_int_equal(html.depth, 0);
  assert_string_equal(text.data, expected);
  hl_text_release(&text);
}

static void markdown_becomes_elements(void **state) {
  (void)state;
  expect_markdown("# Title\n\nA *b* **bold** `<code>` \\*c\\* &lt;i&gt; &amp;lt; &copy;\nnext\n",
                  "<p>A *b* <strong>bold</strong> <code>&lt;code&gt;</code> *c* &lt;i&gt; &amp;lt; "
                  "&amp;copy;\nnext</p>");
  expect_markdown("## Failed Rows: 2\n\none\n\n## Next\n### Inner\n",
                  "<section id=\"failed-rows-2\">\n<h2>Failed Rows: 2</h2>\n<p>one</p></section>\n"
                  "<section id=\"next\">\n<h2>Next</h2>\n<h3>Inner</h3></section>");
  expect_markdown("- a\n  - b\n  - c\n- d\n",
                  "<ul>\n<li>a\n<ul>\n<li>b</li>\n<li>c</li></ul></li>\n<li>d</li></ul>");
  expect_markdown("- a\n  - b\n", "<ul>\n<li>a\n<ul>\n<li>b</li></ul></li></ul>");
  expect_markdown(
      "```json\n{\"a\": \"<b>\"}\n```\nafter\n",
      "<pre tabindex=\"0\"><code>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}\n</code></pre>\n"
      "<p>after</p>");
  expect_markdown("![picture](a.png)\n", "");
  expect_markdown("``a ` b`` and `` ` `` and `open\n",
                  "<p><code>a ` b</code> and <code>`</code> and `open</p>");
}

static void markdown_tables_keep_their_cells(void **state) {
  (void)state;
  expect_markdown("| A | B |\n|---|--:|\n| x \\| y | **1** |\n| `a\\|b` |\n| only\n",
                  "<div class=\"scroll\">\n<table class=\"sortable\">\n<thead>\n<tr>"
                  "<th scope=\"col\">A</th><th class=\"number\" scope=\"col\">B</th></tr></thead>\n"
                  "<tbody>\n<tr><td>x | y</td><td class=\"number\"><strong>1</strong></td></tr>\n"
                  "<tr><td><code>a|b</code></td><td class=\"number\"></td></tr>\n"
                  "<tr><td>only</td><td class=\"number\"></td></tr></tbody></table></div>");
  expect_markdown("| no table\n", "<p>| no table</p>");
  expect_markdown("|\n|\n", "<p>|</p>\n<p>|</p>");
}

/* ---- charts ---- */

static void charts_say_their_numbers(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_html html;
  hl_chart chart;
  const hl_chart_spec spec = {
      .id = "t", .title = "A & B", .x = {"Batch", HL_CHART_LOG2}, .y = {"ms", HL_CHART_LOG}};
  hl_html_init(&html, &text);
  hl_chart_begin(&chart, &html, &spec);
  hl_chart_series(&chart, "</script>", HL_CHART_LINE);
  hl_chart_point(&chart, 2, 0.25, (hl_pair){0.2, 0.3}, NULL);
  hl_chart_point(&chart, 0, 1, hl_chart_no_interval, NULL);           /* has no logarithm */
  hl_chart_point(&chart, 4, (double)NAN, hl_chart_no_interval, NULL); /* is not known */
  assert_true(hl_chart_end(&chart));
  assert_int_equal(html.depth, 0);
  assert_non_null(strstr(text.data, "<figcaption>A &amp; B</figcaption>"));
  assert_non_null(strstr(text.data, "\"series\":[{\"name\":\"\\u003c/script\\u003e\","));
  assert_non_null(
      strstr(text.data, "\"points\":[{\"x\":2,\"y\":0.25,\"low\":0.2,\"high\":0.3}]}]}</script>"));
  assert_non_null(strstr(text.data, "<td>&lt;/script&gt;</td>"));
  assert_non_null(strstr(text.data, "1 series, 1 point. Batch: 2.000 to 2.000."));
  hl_text_clear(&text);
  hl_chart_begin(&chart, &html, &spec);
  hl_chart_series(&chart, "none", HL_CHART_LINE);
  assert_false(hl_chart_end(&chart));
  assert_string_equal(text.data, "");
  hl_text_release(&text);
}

static void files_are_packed(void **state) {
  (void)state;
  static const struct {
    const char *given;
    char separator;
    const char *expected;
  } cases[] = {
      {"", '\n', "{\"separator\":\"\\n\",\"pieces\":[[\"\"]]}"},
      {"{\n \"k\": 1,\n \"l\": 2\n}\n{\n \"k\": 3,\n \"l\": 2\n}", '\n',
       "{\"separator\":\"\\n\",\"pieces\":[[\"{\"],[\" \\\"k\\\": 1,\"],[\" \\\"l\\\": "
       "2\"],-3,\"}\",-1,"
       "\"{\",-4,\"3,\",2]}"},
      {"a,b,c\n1,\"x,y\",3\n1,z,3\n", ',',
       "{\"separator\":\",\",\"pieces\":[-2,[\"a\"],[\"b\"],\"c\\n1\",\"\\\"x,y\\\"\",\"3\\n1\","
       "\"z\",\"3\\n\"]}"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    hl_html_pack(cases[i].given, cases[i].separator, &text);
    assert_string_equal(text.data, cases[i].expected);
    hl_text_release(&text);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_no_markup),
                                            cmocka_unit_test(elements_nest),
                                            cmocka_unit_test(json_ends_no_script),
                                            cmocka_unit_test(assets_are_there),
                                            cmocka_unit_test(markdown_becomes_elements),
                                            cmocka_unit_test(markdown_tables_keep_their_cells),
                                            cmocka_unit_test(charts_say_their_numbers),
                                            cmocka_unit_test(files_are_packed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
