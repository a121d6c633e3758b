#include "options.h"

#include "compile/switches.h"
#include "isa-option.h"
#include <string.h>

const hl_option_info hl_native_option_table[] = {
    {"winograd", "auto|on|off",
     "convolutions by Winograd's algorithm where that pays; on: also where a small batch loses "
     "by it, so that results do not depend on the batch"},
    {"algorithms", "auto|exact",
     "exact: each sum as its operator defines it, no Winograd; as --algorithms"},
    {"fusions", "on|off",
     "off: each operator of the network is a step of its own, as the file has it"},
    {"disable", "LIST", "passes and kernels to leave out, with commas; as --disable-pass"},
    {"isa", "auto|baseline|avx2|avx512", "the best instructions that are used, oneDNN's too"},
    {NULL, NULL, NULL}};

static hl_status read_winograd(hl_engine *engine, const char *value, hl_error *error) {
  engine->winograd_any_batch = strcmp(value, "on") == 0;
  if (strcmp(value, "off") == 0)
    engine->off |= HL_NATIVE_SWITCH_BIT(HL_NATIVE_WINOGRAD);
  else if (!engine->winograd_any_batch && strcmp(value, "auto") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "option winograd is auto, on or off, not '%s'",
                        value);
  return HL_OK;
}

static hl_status read_algorithms(hl_engine *engine, const char *value, hl_error *error) {
  if (strcmp(value, "exact") == 0)
    engine->off |= HL_NATIVE_SWITCH_BIT(HL_NATIVE_WINOGRAD);
  else if (strcmp(value, "auto") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "option algorithms is auto or exact, not '%s'",
                        value);
  return HL_OK;
}

static hl_status read_fusions(hl_engine *engine, const char *value, hl_error *error) {
  if (strcmp(value, "off") == 0)
    engine->off |= hl_native_switches_fusing();
  else if (strcmp(value, "on") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "option fusions is on or off, not '%s'", value);
  return HL_OK;
}

static hl_status read_option(hl_engine *engine, const hl_option *option, const char **isa,
                             hl_error *error) {
  if (strcmp(option->key, "winograd") == 0) return read_winograd(engine, option->value, error);
  if (strcmp(option->key, "algorithms") == 0) return read_algorithms(engine, option->value, error);
  if (strcmp(option->key, "fusions") == 0) return read_fusions(engine, option->value, error);
  if (strcmp(option->key, "disable") == 0)
    return hl_native_switches_read(option->value, &engine->off, error);
  if (strcmp(option->key, "isa") == 0) {
    *isa = option->value;
    return HL_OK;
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "the native engine has no option '%s'; it has winograd=auto|on|off, "
                      "algorithms=auto|exact, fusions=on|off, disable=LIST and "
                      "isa=auto|baseline|avx2|avx512",
                      option->key);
}

hl_status hl_native_options_read(hl_engine *engine, const hl_engine_config *config,
                                 hl_error *error) {
  if (config->threads < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "threads must be at least 1, not %d",
                        config->threads);
  if (config->device && strcmp(config->device, "cpu") != 0)
    return hl_error_set(error, HL_UNAVAILABLE, "the native engine runs on cpu, not '%s'",
                        config->device);
  engine->threads = config->threads;
  const char *isa = "auto";
  for (size_t i = 0; i < config->option_count; i++) {
    hl_status status = read_option(engine, &config->options[i], &isa, error);
    if (status != HL_OK) return status;
  }
  if (engine->winograd_any_batch && !hl_native_does(engine->off, HL_NATIVE_WINOGRAD))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "winograd=on asks for what another option leaves out "
                        "(algorithms=exact, or winograd in disable)");
  return hl_native_isa_choose(engine, isa, error);
}
