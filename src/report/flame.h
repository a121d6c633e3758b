/*
 * report/flame.h - where the time goes, as stacks: folded, and drawn as a flame graph.
 *
 *     status = hl_flame_folded(profile, &text, error);   // "forward;conv1+relu 1234567"
 *     status = hl_flame_svg(profile, &text, error);
 *
 * A frame is an operator or span within what lies around it (record/profile-nest.h); an operator
 * that lies in no span is put below its phase, what other threads ran below "thread 1". Numbers are
 * nanoseconds over all steps: of a folded line the time that is the frame's own, of the picture's
 * widths all of it. Time of steps outside of any call of the submitting thread is the frame
 * "(between operators)", unless steps are not known. Pure; thread-safe.
 */
#ifndef HL_REPORT_FLAME_H
#define HL_REPORT_FLAME_H

#include "base/text.h"
#include "record/profile.h"

/* Appends a line for each stack, as Brendan Gregg's flamegraph.pl, speedscope and inferno read it.
 * ';', line ends and other control characters in names become spaces and ':', bytes that are no
 * UTF-8 become U+FFFD. */
hl_status hl_flame_folded(const hl_profile *profile, hl_text *out, hl_error *error);

/* Appends an SVG of 1200 pixels' width without scripts: hovering shows a frame's name, time for a
 * step, share and calls. Frames below a fifth of a pixel, and those in more than 100 others, are
 * not drawn. Any bytes in names give valid XML. */
hl_status hl_flame_svg(const hl_profile *profile, hl_text *out, hl_error *error);

#endif
