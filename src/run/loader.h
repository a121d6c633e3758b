/*
 * run/loader.h - what a row says about the loading of its data (inside src/run only).
 */
#ifndef HL_RUN_LOADER_H
#define HL_RUN_LOADER_H

#include "run/session.h"

/* Sets data_verdict from the record's other words about its loader; nothing where the waiting is
 * not known. */
void hl_loader_judge(hl_record *record);

/* What the reply to configure says of a folder of pictures. */
void hl_loader_describe(const json_t *reply, const hl_configuration *configuration,
                        hl_record *record);

/* Of a row with pictures: a second or so of steps more, with pictures that are loaded meanwhile,
 * after all that the row measures else; notes where memory does not allow it. */
hl_status hl_session_feed(hl_session *session, hl_record *record, double max_time_s,
                          hl_error *error);

#endif
