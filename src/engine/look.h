/*
 * engine/look.h - what an engine says of itself, asked in a process of its own.
 *
 *     const hl_engine_question question = {.name = "openvino", .limit_s = 20};
 *     hl_engine_finding finding;
 *     hl_engine_look(&question, &finding);
 *     puts(finding.usable ? finding.version : finding.reason);
 *     hl_engine_finding_release(&finding);
 *
 * Opening an engine runs its code, and that of the library it stands on, which may crash, exit or
 * hang: then `reason` says so, and the caller goes on. Not thread-safe: it forks.
 */
#ifndef HL_ENGINE_LOOK_H
#define HL_ENGINE_LOOK_H

#include "base/text.h"

typedef struct hl_engine_question {
  const char *name;           /* NULL: whatever the one plug-in holds */
  const char *const *plugins; /* objects to look for it in before the built-in ones */
  size_t plugin_count;
  const char *library; /* as hl_host.library */
  const char
      *python;      /* interpreter of one that runs in Python, or NULL: hl_python_become finds it */
  bool tables_only; /* name, place, options and providers: its hooks are not called */
  double limit_s;   /* after that it is killed */
} hl_engine_question;

typedef enum hl_engine_fact_kind {
  HL_FACT_PLAIN = 'F',   /* what `inspect` tells: name, text */
  HL_FACT_OPTION = 'O',  /* key, values */
  HL_FACT_PROVIDER = 'X' /* name, "" */
} hl_engine_fact_kind;

typedef struct hl_engine_fact {
  hl_engine_fact_kind kind;
  const char *name, *text;
} hl_engine_fact;

typedef struct hl_engine_finding {
  bool usable;
  bool opened;                                 /* the object was opened and its table is right */
  bool tells_options;                          /* it has a table of options, which may be empty */
  const char *name, *version, *place, *reason; /* "" if unknown; reason: why it is not usable */
  hl_engine_fact *facts;
  size_t fact_count;
  char *words; /* what the strings point into */
} hl_engine_finding;

/* Asks; `ret_finding` is filled whatever happens. */
void hl_engine_look(const hl_engine_question *question, hl_engine_finding *ret_finding);
/* What the process that is asked does: answers into `fd` and ends. Where the engine is in Python
 * the process becomes its interpreter, which calls this again. */
void hl_engine_look_answer(const hl_engine_question *question, int fd);
void hl_engine_finding_release(hl_engine_finding *finding);

/* Whether `key` is among its options. */
bool hl_engine_finding_has_option(const hl_engine_finding *finding, const char *key);

#endif
