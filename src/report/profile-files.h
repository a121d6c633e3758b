/*
 * report/profile-files.h - everything a profile can be looked at with, in one directory.
 *
 *     hl_profile_files files = {.directory = "reports", .host = "node1", .pid = getpid()};
 *     hl_text written = HL_TEXT_INIT, notes = HL_TEXT_INIT;
 *     status = hl_profile_write_all(profile, &files, &written, &notes, error);
 *
 *     trace.json                            timeline (formats/chrome-trace.h)
 *     flame.svg, stacks.folded              flame graph, and its stacks (report/flame.h)
 *     roofline.png                          operators under the machine's limits, by gnuplot
 *     cpu_time_summary.txt                  operators with most time of their own
 *     memory_summary.txt                    operators that write most; on a GPU of CUDA
 *                                           cuda_memory_summary.txt
 *     detailed_breakdown.txt                all rows by operator, layer, kind and phase
 *     profiling_summary.txt                 phases, and how to look at the others
 *     tensorboard/events.out.tfevents.*     scalars and pictures (formats/tensorboard.h)
 *     tensorboard/HOST_PID.MS.pt.trace.json the timeline, for TensorBoard's profiler
 *
 * Names in tensorboard/ hold the profile's start, so that those of another profile stay:
 * TensorBoard shows both.
 */
#ifndef HL_REPORT_PROFILE_FILES_H
#define HL_REPORT_PROFILE_FILES_H

#include "base/text.h"
#include "record/profile.h"

typedef struct hl_profile_files {
  const char *directory; /* made where it is not there */
  const char *host;      /* names TensorBoard's files; NULL or "": "localhost" */
  int64_t pid;           /* likewise */
  const char *gnuplot;   /* NULL: "gnuplot" */
} hl_profile_files;

/* Appends the paths of the files, one a line, to `ret_written`, and to `ret_notes` a line for what
 * is missing and why; both may be NULL. Files of other names are left alone. One that cannot be
 * written does not keep the others from being written: the first failure is returned. A profile
 * that is not complete, or empty, gives valid files. */
hl_status hl_profile_write_all(const hl_profile *profile, const hl_profile_files *files,
                               hl_text *ret_written, hl_text *ret_notes, hl_error *error);

#endif
