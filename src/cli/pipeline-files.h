/*
 * cli/pipeline-files.h - the images of pipelines, as files that numpy reads.
 */
#ifndef HL_CLI_PIPELINE_FILES_H
#define HL_CLI_PIPELINE_FILES_H

#include "base/text.h"
#include "record/record.h"

/* Writes reconstruction.npz into the directory, of the last row that has an image: `object`
 * complex64 (side, side), `weights`, and `x` and `y`, where its first pixel lies. Appends its path
 * to `written`. Nothing where no row has one. IO, OUT_OF_MEMORY. */
hl_status hl_cli_write_image(const hl_records *records, const char *directory, hl_text *written,
                             hl_error *error);

#endif
