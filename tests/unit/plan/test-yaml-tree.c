#include "plan/yaml-tree.h"

#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refused(const char *bytes, size_t count, hl_status status, const char *part) {
  hl_error error = {0};
  hl_yaml_file file;
  assert_int_equal(hl_yaml_parse(bytes, count, "p.yaml", &file, &error), status);
  assert_int_equal(error.status, status);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in: %s", part, error.msg);
}

static void refused_text(const char *text, hl_status status, const char *part) {
  refused(text, strlen(text), status, part);
}

static hl_yaml_file good(const char *text) {
  hl_error error = {0};
  hl_yaml_file file;
  if (hl_yaml_parse(text, strlen(text), "p.yaml", &file, &error) != HL_OK)
    fail_msg("%s", error.msg);
  return file;
}

static void values_are_text_with_places(void **unused) {
  (void)unused;
  hl_yaml_file file = good("# comment\nmodel: yes\nsizes: [1, 2e3, 'a: b']\n"
                           "map:\n  deep: {x: ~, y: \"\", z: null}\n");
  assert_int_equal(file.root->kind, HL_YAML_MAP);
  assert_int_equal(file.root->count, 3);
  const hl_yaml *sizes = hl_yaml_find(file.root, "sizes");
  assert_int_equal(sizes->kind, HL_YAML_LIST);
  assert_int_equal(sizes->count, 3);
  assert_string_equal(sizes->items[1]->text, "2e3");
  assert_string_equal(sizes->items[2]->text, "a: b");
  assert_int_equal(sizes->items[2]->line, 3);
  assert_int_equal(sizes->items[2]->column, 17);
  const hl_yaml *deep = hl_yaml_find(hl_yaml_find(file.root, "map"), "deep");
  assert_true(hl_yaml_is_null(hl_yaml_find(deep, "x")));
  assert_false(hl_yaml_is_null(hl_yaml_find(deep, "y"))); /* quoted: an empty text */
  assert_false(hl_yaml_is_null(hl_yaml_find(deep, "z"))); /* an engine has that name */
  assert_null(hl_yaml_find(deep, "w"));
  assert_null(hl_yaml_find(sizes, "x"));
  bool on = false;
  assert_true(hl_yaml_bool(hl_yaml_find(file.root, "model"), &on));
  assert_true(on);
  assert_false(hl_yaml_bool(sizes->items[0], &on));
  hl_yaml_release(&file);
}

static void aliases_and_merges(void **unused) {
  (void)unused;
  hl_yaml_file file = good("base: &b {x: 1, y: 2}\nother: &o {z: 3, y: 4}\n"
                           "one: {<<: *b, y: 5}\ntwo:\n  <<: [*o, *b]\n  w: 0\nsame: *b\n");
  const hl_yaml *one = hl_yaml_find(file.root, "one"), *two = hl_yaml_find(file.root, "two");
  assert_int_equal(one->count, 2);
  assert_string_equal(hl_yaml_find(one, "y")->text, "5");
  assert_string_equal(hl_yaml_find(one, "x")->text, "1");
  assert_int_equal(two->count, 4);
  assert_string_equal(hl_yaml_find(two, "y")->text, "4"); /* the first of the list */
  assert_string_equal(hl_yaml_find(hl_yaml_find(file.root, "same"), "x")->text, "1");
  hl_yaml_release(&file);
  refused_text("a: {<<: 3}\n", HL_BAD_DATA, "p.yaml:1:5: '<<' takes a mapping");
  refused_text("a: {<<: [3]}\n", HL_BAD_DATA, "'<<' takes mappings");
}

static void what_is_no_tree_is_refused(void **unused) {
  (void)unused;
  refused_text("", HL_BAD_DATA, "no value in it");
  refused_text("# nothing\n", HL_BAD_DATA, "no value in it");
  refused_text("a: 1\nb: 2\na: 3\n", HL_BAD_DATA,
               "p.yaml:3:1: key 'a' is given twice; first in line 1");
  refused_text("a: 1\n\tb: 2\n", HL_BAD_DATA, "p.yaml:2:1: a tab");
  refused_text("a: [1, 2\n", HL_BAD_DATA, "p.yaml:2:1: not YAML");
  refused_text("a: b: c\n", HL_BAD_DATA, "p.yaml:1:5: not YAML");
  refused_text("? [1]\n: 2\n", HL_BAD_DATA, "p.yaml:1:3: a key is a word");
  refused_text("a: *b\n", HL_BAD_DATA, "p.yaml:1:4: not YAML");
  refused_text("a: 1\n--- \nb: 2\n", HL_BAD_DATA, "p.yaml:2:1: a second document");
  refused_text("a: !!python/object:os.system x\n", HL_BAD_DATA, "p.yaml:1:4: tag '");
  refused_text("a: !thing x\n", HL_BAD_DATA, "tag '!thing'");
  refused_text("a: \"x\\0y\"\n", HL_BAD_DATA, "p.yaml:1:4: a control character");
  refused_text("a: \"x\\ey\"\n", HL_BAD_DATA, "p.yaml:1:4: a control character");
  refused_text("a: x\x1by\n", HL_BAD_DATA, "UTF-8 text without control characters");
  refused_text("ab: 1\ncd: \xff\xfe\n", HL_BAD_DATA, "p.yaml:2:5: invalid leading UTF-8 octet");
  static const char zero[] = "a: 1\0b";
  refused(zero, sizeof zero - 1, HL_BAD_DATA, "p.yaml:1:5:");
  static const char utf16[] = "\xff\xfe"
                              "a\0:\0 \0001\0";
  refused(utf16, sizeof utf16 - 1, HL_BAD_DATA, "p.yaml:1:1:");
}

/* "lol" nine times nine times over is 3.5e9 values, of 500 bytes. */
static void aliases_are_bounded(void **unused) {
  (void)unused;
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "l0: &l0 lol\n");
  for (int i = 1; i <= 10; i++) {
    hl_text_format(&text, "l%d: &l%d [", i, i);
    for (int k = 0; k < 9; k++) hl_text_format(&text, "%s*l%d", k ? ", " : "", i - 1);
    hl_text_append(&text, "]\n");
  }
  refused_text(text.data, HL_LIMIT, "more than 20000 values, aliases counted");
  hl_text_release(&text);
  refused_text("a: &a [*a]\n", HL_LIMIT, "an alias inside what it names");
  refused_text("a: &a {b: *a}\n", HL_LIMIT, "an alias inside what it names");
}

static char *repeated(const char *unit, size_t count) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < count; i++) hl_text_append(&text, unit);
  return hl_text_take(&text);
}

static void sizes_are_bounded(void **unused) {
  (void)unused;
  static const char *const deep[] = {"[", "{", "- ", "[a: ", "? "};
  for (size_t i = 0; i < HL_COUNT(deep); i++) { /* hours, were it read to its end */
    HL_CLEANUP(hl_free_pointer)
    char *open = repeated(deep[i], HL_YAML_BYTES / strlen(deep[i]));
    refused_text(open, HL_LIMIT, "p.yaml:1:");
  }
  char nested[64] = "a: ";
  memset(nested + 3, '[', HL_YAML_DEPTH - 2);
  memset(nested + 3 + HL_YAML_DEPTH - 2, ']', HL_YAML_DEPTH - 2);
  hl_yaml_file file = good(nested); /* the root, and 14 lists */
  hl_yaml_release(&file);
  memset(nested + 3, '[', HL_YAML_DEPTH + 1);
  memset(nested + 3 + HL_YAML_DEPTH + 1, ']', HL_YAML_DEPTH + 1);
  refused_text(nested, HL_LIMIT, "nested deeper than 16");
  HL_CLEANUP(hl_free_pointer) char *many = repeated("- 1\n", HL_YAML_VALUES - 1);
  file = good(many);
  assert_int_equal(file.root->count, HL_YAML_VALUES - 1);
  hl_yaml_release(&file);
  HL_CLEANUP(hl_free_pointer) char *more = repeated("- 1\n", HL_YAML_VALUES);
  refused_text(more, HL_LIMIT, "p.yaml:20000:3: more than 20000 values");
  HL_CLEANUP(hl_free_pointer) char *huge = repeated("# comment\n", HL_YAML_BYTES / 10 + 1);
  refused_text(huge, HL_LIMIT, "more than 262144 bytes");
  HL_CLEANUP(hl_free_pointer) char *anchors = repeated("- &a b\n", HL_YAML_ANCHORS + 1);
  refused_text(anchors, HL_LIMIT, "p.yaml:1001:3: more than 1000 anchors");
  HL_CLEANUP(hl_free_pointer) char *letters = repeated("x", HL_YAML_SCALAR_BYTES + 1);
  refused_text(letters, HL_LIMIT, "more than 8192 bytes");
  hl_text keys = HL_TEXT_INIT;
  for (int i = 0; i <= HL_YAML_KEYS; i++) hl_text_format(&keys, "k%d: 1\n", i);
  refused_text(keys.data, HL_LIMIT, "p.yaml:1001:1: more than 1000 keys");
  hl_text_release(&keys);
}

static void files_are_named(void **unused) {
  (void)unused;
  hl_error error = {0};
  hl_yaml_file file;
  assert_int_equal(hl_yaml_read("/nowhere/p.yaml", &file, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "/nowhere/p.yaml"));
  assert_int_equal(hl_yaml_read("/", &file, &error), HL_BAD_DATA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_text_with_places), cmocka_unit_test(aliases_and_merges),
      cmocka_unit_test(what_is_no_tree_is_refused),  cmocka_unit_test(aliases_are_bounded),
      cmocka_unit_test(sizes_are_bounded),           cmocka_unit_test(files_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
