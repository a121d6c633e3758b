/*
 * plan/operand-file.h - a file of operands, one a line: the simplest form of a plan.
 *
 *     # before the change
 *     resnet50 batch=1
 *     resnet50 batch=8 engine=native
 *
 *     hl_operand_file file;
 *     hl_status status = hl_operand_file_read("A.txt", &file, error);
 *     for (size_t i = 0; i < file.count; i++) puts(file.lines[i].text);
 *     hl_operand_file_release(&file);
 *
 * Empty lines and those whose first character is '#' are no operands; spaces around a line are
 * dropped. What a line says is read by plan/operand.h.
 */
#ifndef HL_PLAN_OPERAND_FILE_H
#define HL_PLAN_OPERAND_FILE_H

#include "base/error.h"

enum { HL_OPERAND_LINES = 256, HL_OPERAND_FILE_BYTES = 1 << 20 };

typedef struct hl_operand_line {
  char *text;
  size_t number; /* of the line, from 1: what a message names */
} hl_operand_line;

typedef struct hl_operand_file {
  hl_operand_line *lines;
  size_t count; /* 1..HL_OPERAND_LINES */
} hl_operand_file;

/* NOT_FOUND, IO; LIMIT and BAD_DATA name FILE:LINE, also of a file without operands; OUT_OF_MEMORY.
 */
hl_status hl_operand_file_read(const char *path, hl_operand_file *ret_file, hl_error *error);
void hl_operand_file_release(hl_operand_file *file);

#endif
