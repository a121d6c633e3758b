/* Whatever the bytes of a table of tasks: an error that names it, or rows with a branch and an
 * experiment each, or with what is wrong with them; and what is expected of a branch is bounded. */
#include "driver.h"

#include "plan/task-file.h"
#include "record/task-comparison.h"
#include <stdlib.h>
#include <string.h>

static void read_expected(const char *text, bool training) {
  hl_task_expected expected;
  hl_error error = {0};
  if (hl_task_expected_parse(text, training, &expected, &error) != HL_OK) {
    if (!error.msg[0]) abort();
    return;
  }
  if (expected.low > expected.high || expected.low <= -1) abort();
  if (!hl_task_has(training, expected.metric)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_task_file file;
  hl_error error = {0};
  hl_status status = hl_task_file_parse((const char *)data, size, "input", &file, &error);
  if (status != HL_OK) {
    if (error.status != status || !error.msg[0]) abort();
    return 0;
  }
  if (!file.count || file.count > HL_TASK_ROWS || file.column_count > HL_TASK_COLUMNS) abort();
  for (size_t i = 0; i < file.count; i++) {
    const hl_task_row *row = &file.rows[i];
    if (!row->branch || !row->experiment) abort();
    if (!row->fault && (!row->branch[0] || !row->experiment[0])) abort();
    for (size_t k = 0; k < file.column_count; k++)
      if (!row->cells[k]) abort();
    for (size_t k = 0; k < row->override_count; k++)
      if (!row->overrides[k][0]) abort();
    if (row->max_epochs == 0 || row->batch_size == 0) abort();
    if (row->expected) read_expected(row->expected, file.training);
  }
  hl_task_file_release(&file);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static const char *const seeds[] = {
      "branch,experiment,trainer,max_epochs,batch_size,overrides,expected\n"
      "main,im2im/seg,cpu,5,8,\"a=1,b=[1,2],c='x,y'\",10-30% speedup in first_epoch\r\n"
      "# a remark\n\nx,\"a \"\"b\"\"\",,,,,20% less\n",
      "\xEF\xBB\xBF"
      "branch,experiment,checkpoint_path,data_path\nmain,a,b,\n",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
