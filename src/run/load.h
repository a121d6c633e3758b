/*
 * run/load.h - a load test in a worker that has loaded its model: one run at a rate, or the search
 * for the largest rate.
 */
#ifndef HL_RUN_LOAD_H
#define HL_RUN_LOAD_H

#include "run/session.h"

/* Runs what session->configuration->load asks for and fills the record's numbers. */
hl_status hl_load_measure(const hl_row_context *context, hl_session *session, hl_record *record,
                          hl_error *error);

#endif
