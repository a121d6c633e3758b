/*
 * report/profile-texts.h - the text files and the roofline of a profile (inside src/report only).
 * All append to `out`; OUT_OF_MEMORY is the only failure of the texts.
 */
#ifndef HL_REPORT_PROFILE_TEXTS_H
#define HL_REPORT_PROFILE_TEXTS_H

#include "base/text.h"
#include "record/profile.h"

/* The operators with most time of their own. */
hl_status hl__profile_time_text(const hl_profile *profile, hl_text *out, hl_error *error);

/* The operators that write most in one call. */
hl_status hl__profile_memory_text(const hl_profile *profile, hl_text *out, hl_error *error);

/* All rows by operator, layer, kind and phase. */
hl_status hl__profile_breakdown_text(const hl_profile *profile, hl_text *out, hl_error *error);

/* What was measured and how the files in `directory` are looked at; `written` has their paths, one
 * a line, `notes` what is missing and why. */
hl_status hl__profile_summary_text(const hl_profile *profile, const char *directory,
                                   const char *written, const char *notes, hl_text *out,
                                   hl_error *error);

/* Operators under the machine's limits, a PNG. UNAVAILABLE where nothing can be drawn or there is
 * no gnuplot. */
hl_status hl__profile_roofline(const hl_profile *profile, const char *gnuplot, hl_text *ret_picture,
                               hl_error *error);

#endif
