#include "plan/operand-file.h"

#include "base/file.h"
#include "base/text.h"
#include "plan/operand.h"
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static hl_status add_line(hl_operand_file *file, const char *path, const char *text, size_t length,
                          size_t number, hl_error *error) {
  while (length && is_space(text[length - 1])) length--;
  for (; length && is_space(*text); length--) text++;
  if (!length || *text == '#') return HL_OK;
  if (memchr(text, '\0', length))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s:%zu: a zero byte; a plan is text, an operand a line", path, number);
  if (length > HL_OPERAND_BYTES)
    return hl_error_set(error, HL_LIMIT, "%s:%zu: an operand is longer than %d bytes", path, number,
                        HL_OPERAND_BYTES);
  if (file->count == HL_OPERAND_LINES)
    return hl_error_set(error, HL_LIMIT, "%s:%zu: more than %d operands", path, number,
                        HL_OPERAND_LINES);
  char *copy = strndup(text, length);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", path);
  file->lines[file->count++] = (hl_operand_line){copy, number};
  return HL_OK;
}

hl_status hl_operand_file_read(const char *path, hl_operand_file *ret_file, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(path, HL_OPERAND_FILE_BYTES, &mapping, error);
  if (status != HL_OK) return status;
  hl_operand_file file = {.lines = calloc(HL_OPERAND_LINES, sizeof *file.lines)};
  if (!file.lines) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", path);
  const char *at = (const char *)mapping.data, *end = at + mapping.bytes;
  for (size_t number = 1; at < end && status == HL_OK; number++) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end) line_end = end;
    status = add_line(&file, path, at, (size_t)(line_end - at), number, error);
    at = line_end + (line_end < end);
  }
  hl_file_unmap(&mapping);
  if (status == HL_OK && !file.count)
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s: no operand; a plan has one a line: resnet50 batch=8", path);
  if (status != HL_OK)
    hl_operand_file_release(&file);
  else
    *ret_file = file;
  return status;
}

void hl_operand_file_release(hl_operand_file *file) {
  for (size_t i = 0; i < file->count; i++) free(file->lines[i].text);
  free(file->lines);
  *file = (hl_operand_file){0};
}
