/* picture-tool FILE SIDE: the picture as float32 on standard output, what was done to it, or why
 * not, on standard error. */
#include <stdio.h>
#include <stdlib.h>

#include "data/picture.h"

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  hl_error error = {0};
  hl_text notes = HL_TEXT_INIT;
  float *picture = NULL;
  long long side = strtoll(argv[2], NULL, 10);
  hl_status status = hl_picture_read(argv[1], side, &picture, &notes, &error);
  fprintf(stderr, "%s\n", status == HL_OK ? notes.data : error.msg);
  if (status == HL_OK) fwrite(picture, sizeof *picture, (size_t)(side * side), stdout);
  free(picture);
  hl_text_release(&notes);
  return status == HL_OK ? 0 : 1;
}
