/*
 * run/custom-python.h - metrics of a Python file (hotlap/metric.py), as a table of hotlap/metric.h.
 *
 *     const hl_custom_metric *const *list;
 *     if (hl_custom_python_open(path, python, row, &list, error) == HL_OK)
 *       list[0]->compute(...);
 *
 * For the process that asks one plug-in and ends: it keeps one interpreter for good. Where the
 * interpreter dies before it has said a value, this process dies alike. Not thread-safe.
 */
#ifndef HL_RUN_CUSTOM_PYTHON_H
#define HL_RUN_CUSTOM_PYTHON_H

#include "record/record.h"
#include <hotlap/metric.h>

/* Starts the interpreter (`python`, NULL: hl_python_run finds one) with the row's facts (NULL: its
 * metrics are asked for only). `ret_list` is valid until the process ends; its functions want to be
 * called once each, in order. BAD_DATA with what the file or the interpreter said. */
hl_status hl_custom_python_open(const char *path, const char *python, const hl_record *record,
                                const hl_custom_metric *const **ret_list, hl_error *error);

#endif
