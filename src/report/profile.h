/*
 * report/profile.h - profiles as tables for a terminal, and as JSON.
 *
 *     hl_report_profile_text(profile, HL_PROFILE_BY_OPERATOR, 20, &text, error);
 *     hl_report_profiles_json(profiles, count, &text, error);
 *
 * What the columns are: docs/profile.md. Pure. OUT_OF_MEMORY is the only failure.
 */
#ifndef HL_REPORT_PROFILE_H
#define HL_REPORT_PROFILE_H

#include "analyse/profile.h"
#include "base/text.h"

/* What was measured, the table with `most` rows (0: all), and what the numbers rest on. */
hl_status hl_report_profile_text(const hl_profile *profile, hl_profile_by by, size_t most,
                                 hl_text *out, hl_error *error);

/* Two profiles and more side by side, a row for each key that one of them has, largest first. */
hl_status hl_report_profiles_text(hl_profile *const *profiles, size_t count, hl_profile_by by,
                                  size_t most, hl_text *out, hl_error *error);

/* {"profiles": [...]}: each with all four tables. */
hl_status hl_report_profiles_json(hl_profile *const *profiles, size_t count, hl_text *out,
                                  hl_error *error);

#endif
