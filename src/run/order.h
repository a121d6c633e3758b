/*
 * run/order.h - in which order the rows of a plan are measured.
 *
 *     hl_run_order(&plan, order);      // places[i]: the row that is measured as number i
 *
 * Where plan->shuffled, a block is what is to be compared over batch sizes: rows that follow each
 * other in the plan with the same entry, model and threads. Blocks stay in the order of the plan;
 * within one, batch sizes come in an order that plan->shuffle_seed decides. A machine that gets
 * slower while it is measured (heat, neighbours) then makes all sizes of a block uncertain, and
 * does not make the largest, which came last, look slow. Rows that are measured in turns stay
 * together.
 */
#ifndef HL_RUN_ORDER_H
#define HL_RUN_ORDER_H

#include "plan/configuration.h"

/* Fills ret_order with plan->count indices, each once. The same plan and seed give the same order,
 * which a resumed run depends on for nothing: rows that are done are left out. */
void hl_run_order(const hl_plan *plan, size_t *ret_order);

/* Whether two rows belong to a block. */
bool hl_run_same_block(const hl_configuration *a, const hl_configuration *b);

#endif
