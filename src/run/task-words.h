/*
 * run/task-words.h - the command line of a task.
 *
 *     char *text;
 *     hl_status status = hl_task_entry("python train.py experiment={experiment} {overrides}", &row,
 *                                      &text, error);
 *     ... text is "python train.py experiment='im2im/segmentation' 'data.num_workers=4'"
 *
 * Values of a row are quoted, so that a shell cannot take them for anything else.
 */
#ifndef HL_RUN_TASK_WORDS_H
#define HL_RUN_TASK_WORDS_H

#include "base/text.h"
#include "plan/task-file.h"

/* The user's own command with the row's values in the places of {branch}, {experiment}, {trainer},
 * {max_epochs}, {batch_size}, {checkpoint_path}, {data_path} and {overrides}; overrides that have
 * no place come at the end. free() it. INVALID_ARGUMENT for a place that nobody knows, one inside
 * quotes, and a value that the row lacks. */
hl_status hl_task_entry(const char *entry, const hl_task_row *row, char **ret_text,
                        hl_error *error);

/* Appends a word, quoted where it has to be, behind a space. */
void hl_task_word(hl_text *text, const char *word);

#endif
