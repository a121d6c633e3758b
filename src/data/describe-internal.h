/* Shared by the files that describe data: what is said of each kind of it. */
#ifndef HL_DATA_DESCRIBE_INTERNAL_H
#define HL_DATA_DESCRIBE_INTERNAL_H

#include "base/json-writer.h"
#include "base/text.h"

/* A folder of pictures. */
hl_status hl__describe_images(const char *path, hl_text *text, hl_error *error);
hl_status hl__describe_images_json(const char *path, hl_json *json, hl_error *error);

/* A TIFF, or a folder of them. */
hl_status hl__describe_tiff(const char *path, bool is_folder, hl_text *text, hl_error *error);
hl_status hl__describe_tiff_json(const char *path, bool is_folder, hl_json *json, hl_error *error);

#endif
