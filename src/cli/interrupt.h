/* cli/interrupt.h - SIGINT and SIGTERM as a readable file descriptor. */
#ifndef HL_CLI_INTERRUPT_H
#define HL_CLI_INTERRUPT_H

#include <stdbool.h>

/* Catches both signals from now on; the descriptor becomes readable at the first one, and a second
 * half a second later or more ends the process at once. -1 without descriptors. */
int hl_interrupt_catch(void);

/* Whether one was caught. */
bool hl_interrupt_caught(void);

#endif
