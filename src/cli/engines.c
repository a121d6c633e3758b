#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/knowledge.h"
#include "engine/registry.h"
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap engines [--plugin PATH] [--engine-library ENGINE=PATH] [--json]\n"
    "\n"
    "Lists the engines: version, place, library, providers, devices and options, or why one\n"
    "cannot be used; then, but for --json, the GPUs. Each is asked in a process of its own.\n";

static const double gpus_s = 5; /* a driver may hang */
enum { text_column = 21, fact_column = 34, line_width = 100 };

/* "key=values, key=values" of the options, or the names of providers. */
static void list_facts(const hl_engine_finding *f, hl_engine_fact_kind kind, hl_text *out) {
  for (size_t i = 0; i < f->fact_count; i++) {
    const hl_engine_fact *fact = &f->facts[i];
    if (fact->kind != kind) continue;
    hl_text_format(out, "%s%s%s%s", out->length ? ", " : "", fact->name, fact->text[0] ? "=" : "",
                   fact->text);
  }
}

static void show_fact(const char *name, const char *text, hl_text *out) {
  if (!text[0]) return;
  hl_text_format(out, "%*s%-12s ", text_column, "", name);
  hl_text_wrap(out, text, fact_column, fact_column, line_width);
  hl_text_char(out, '\n');
}

static void show_list(const hl_engine_finding *f, hl_engine_fact_kind kind, const char *name,
                      hl_text *out) {
  hl_text list = HL_TEXT_INIT;
  list_facts(f, kind, &list);
  show_fact(name, list.data, out);
  hl_text_release(&list);
}

static void show(const hl_engine_finding *f, hl_text *out) {
  hl_text_format(out, "%-12s %-7s ", f->name, f->usable ? "usable" : "no");
  hl_text_wrap(out, f->usable ? f->version : f->reason, text_column, text_column, line_width);
  hl_text_char(out, '\n');
  if (!f->usable) return;
  show_fact("engine", f->place, out);
  for (size_t i = 0; i < f->fact_count; i++)
    if (f->facts[i].kind == HL_FACT_PLAIN) show_fact(f->facts[i].name, f->facts[i].text, out);
  show_list(f, HL_FACT_PROVIDER, "--provider", out);
  show_list(f, HL_FACT_OPTION, "options", out);
}

static void write_json(const hl_engine_finding *f, hl_json *json) {
  hl_json_object(json, NULL);
  hl_json_text(json, "engine", f->name);
  hl_json_bool(json, "usable", f->usable);
  hl_json_text(json, "version", f->version[0] ? f->version : NULL);
  hl_json_text(json, "place", f->place[0] ? f->place : NULL);
  hl_json_object(json, "facts");
  for (size_t i = 0; i < f->fact_count; i++)
    if (f->facts[i].kind == HL_FACT_PLAIN) hl_json_text(json, f->facts[i].name, f->facts[i].text);
  hl_json_end(json);
  hl_json_array(json, "provider_names");
  for (size_t i = 0; i < f->fact_count; i++)
    if (f->facts[i].kind == HL_FACT_PROVIDER) hl_json_text(json, NULL, f->facts[i].name);
  hl_json_end(json);
  hl_json_object(json, "options");
  for (size_t i = 0; i < f->fact_count; i++)
    if (f->facts[i].kind == HL_FACT_OPTION) hl_json_text(json, f->facts[i].name, f->facts[i].text);
  hl_json_end(json);
  hl_json_text(json, "reason", f->usable ? NULL : f->reason);
  hl_json_end(json);
}

/* Asks all engines: the built-in ones, then the plug-ins. Returns the exit status. */
static int list(const hl_options *options, hl_json *json, hl_text *out) {
  int exit_status = HL_EXIT_OK;
  size_t builtins = 0, plugins = 0;
  while (hl_engine_builtin(builtins)) builtins++;
  while (hl_options_at(options, HL_OPTION_PLUGIN, plugins)) plugins++;
  for (size_t i = 0; i < builtins + plugins; i++) {
    const char *name = hl_engine_builtin(i);
    const char *plugin =
        i < builtins ? NULL : hl_options_at(options, HL_OPTION_PLUGIN, i - builtins);
    const hl_engine_question question = {.name = name,
                                         .plugins = &plugin,
                                         .plugin_count = plugin != NULL,
                                         .library = hl_cli_library_of(options, name),
                                         .python = hl_options_get(options, HL_OPTION_PYTHON),
                                         .limit_s = HL_CLI_LOOK_S};
    hl_engine_finding f;
    hl_engine_look(&question, &f);
    if (json)
      write_json(&f, json);
    else
      show(&f, out);
    if (plugin && !f.usable) exit_status = HL_EXIT_USAGE; /* it was asked for */
    hl_engine_finding_release(&f);
  }
  return exit_status;
}

/* Where engines could run beside the processor. */
static void show_gpus(hl_text *out) {
  hl_gpu_set gpus;
  hl_gpu_list(NULL, gpus_s, &gpus);
  hl_text_char(out, '\n');
  hl_cli_view_gpus(&gpus, out);
}

int hl_cli_engines(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int exit_status = hl_cli_options('E', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  if (options.positional_count) {
    hl_error_set(&error, HL_INVALID_ARGUMENT,
                 "engines takes no '%s'; a plug-in is named with --plugin", options.positionals[0]);
  } else {
    hl_cli_check_libraries(&options, &error);
  }
  if (error.status != HL_OK) {
    hl_options_release(&options);
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  }
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  bool as_json = hl_options_on(&options, HL_OPTION_JSON);
  if (as_json) hl_json_array(&json, NULL);
  exit_status = list(&options, as_json ? &json : NULL, &text);
  if (as_json) {
    hl_json_end(&json);
    hl_text_char(&text, '\n');
  }
  if (!as_json) show_gpus(&text);
  fputs(text.data, stdout);
  hl_text_release(&text);
  hl_options_release(&options);
  return exit_status;
}
