/*
 * data/scan-internal.h - parts of reading a scan.
 */
#ifndef HL_DATA_SCAN_INTERNAL_H
#define HL_DATA_SCAN_INTERNAL_H

#include "data/ptychography.h"

/* Fills probe and object of a scan whose patterns are read, or says in *_problem why not; what was
 * done is added to `notes`. OUT_OF_MEMORY. */
hl_status hl__scan_read_fields(hl_npz *npz, hl_scan *scan, hl_text *notes, hl_error *error);

#endif
