/* Whatever a client sends as target, Host or Cookie: a reason, or texts that are UTF-8 without
 * control characters, and no part of a path that leads out of it. */
#include "driver.h"

#include "base/text.h"
#include "web/target.h"
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text) {
  if (!hl_utf8_valid(text)) abort();
  for (const char *c = text; *c; c++)
    if (hl_text_control(c)) abort();
}

static void check_target(const char *uri) {
  hl_web_target target;
  const char *reason = NULL;
  if (!hl_web_target_parse(uri, &target, &reason)) {
    if (!reason || !reason[0]) abort();
    return;
  }
  if (target.segment_count > HL_WEB_SEGMENTS || target.parameter_count > HL_WEB_PARAMETERS) abort();
  for (size_t i = 0; i < target.segment_count; i++) {
    check_text(target.segments[i]);
    if (!target.segments[i][0] || strcmp(target.segments[i], "..") == 0) abort();
  }
  for (size_t i = 0; i < target.parameter_count; i++) {
    check_text(target.parameters[i].name);
    check_text(target.parameters[i].value);
    const char *found = hl_web_parameter(&target, target.parameters[i].name);
    if (target.parameters[i].value[0] ? found != target.parameters[i].value : found != NULL)
      abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1), name[64];
  const char *value;
  size_t length = 0;
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  check_target(text);
  if (hl_web_host_parse(text, name, sizeof name)) {
    if (!name[0] || strlen(name) >= sizeof name) abort();
    check_text(name);
  }
  if (hl_web_cookie_find(text, "hotlap-1", &value, &length) && memchr(value, ';', length)) abort();
  if (hl_web_secret_same(text, strlen(text), "0123456789abcdef") !=
      (strcmp(text, "0123456789abcdef") == 0))
    abort();
  free(text);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char *const seeds[] = {
      "/runs?model=mlp&page=2",
      "/runs/20261129T100000Z-1a2b/events",
      "/a%20b/%C3%A9?x=1+2&y=%26",
      "localhost:8080",
      "[::1]:8080",
      "a=b; hotlap-1=0123456789abcdef; c=d",
      "0123456789abcdef",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
