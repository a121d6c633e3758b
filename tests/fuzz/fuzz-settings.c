/* Whatever the bytes of a settings file: an error that says something, or presets with an engine, a
 * type, and numbers within their limits. */
#include "driver.h"

#include "base/text.h"
#include "record/settings.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_settings settings;
  const hl_preset *first;
  hl_error error = {0};
  hl_status status = hl_settings_parse((const char *)data, size, "input", &settings, &error);
  if (status != HL_OK) {
    if (error.status != status || !error.msg[0]) abort();
    return 0;
  }
  if (!settings.count || settings.count > HL_SETTINGS_PRESETS || !settings.model) abort();
  for (size_t i = 0; i < settings.count; i++) {
    const hl_preset *p = &settings.items[i];
    if (!p->name || !p->engine || !p->dtype || p->batch_size < 1 || p->threads < 1) abort();
    if (p->preprocess_batch != HL_INT_NULL && p->preprocess_batch < 1) abort();
  }
  if (hl_settings_find(&settings, NULL, &first, NULL) != HL_OK) abort();
  if (first != &settings.items[0]) abort();
  hl_settings_release(&settings);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char *const seeds[] = {
      "{\"schema\":\"hotlap.settings/"
      "1\",\"model\":\"mlp\",\"machine\":{\"id\":\"a\",\"cpu\":\"b\"},"
      "\"presets\":{\"fast\":{\"engine\":\"native\",\"dtype\":\"float32\",\"device\":\"cpu\","
      "\"threads\":2,"
      "\"batch_size\":8,\"preprocess_batch\":4,\"reassemble_batch\":16,\"objective\":\"x\","
      "\"expected\":{\"throughput_ips\":1.5,\"throughput_ci\":[1,2],\"memory_mb\":null},"
      "\"reproduce\":\"hotlap sweep\"},\"slow\":{\"engine\":\"n\",\"dtype\":\"f\",\"threads\":1,"
      "\"batch_size\":1}}}",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
