/*
 * search/settings-json.h - what a search found as JSON: the settings file, and the same with every
 * setting that was tried.
 */
#ifndef HL_SEARCH_SETTINGS_JSON_H
#define HL_SEARCH_SETTINGS_JSON_H

#include "base/text.h"
#include "search/search.h"

/* Schema hotlap.settings/1 (record/settings.h, docs/tuning.md). `tried`: also all settings. Presets
 * that were not found are left out and named under "not_found". */
void hl_search_write_json(const hl_search_options *options, const hl_search_result *result,
                          const hl_run_info *info, bool tried, hl_text *out);

#endif
