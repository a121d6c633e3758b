#include "run/said.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most_said = 64 << 10, shortest_rule = 20 };

char *hl_said_read(int fd) {
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) return NULL;
  off_t from = st.st_size > most_said ? st.st_size - most_said : 0;
  char *said = calloc(1, most_said + 1);
  if (!said) return NULL;
  ssize_t n = pread(fd, said, most_said, from);
  for (ssize_t i = 0; i < n; i++)
    if (said[i] == '\0') said[i] = ' ';
  return said;
}

/* A line of one punctuation mark. */
static bool is_rule(const char *line, size_t length) {
  return length >= shortest_rule && ispunct((unsigned char)line[0]) &&
         strspn(line, (const char[]){line[0], '\0'}) >= length;
}

static bool has_word(const char *line, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (isalnum((unsigned char)line[i])) return true;
  return false;
}

/* From `begin` to `end`, spaces and control characters as one space. */
static void copy_words(const char *begin, const char *end, char *out, size_t size) {
  size_t at = 0;
  for (const char *c = begin; c < end && at + 1 < size; c++) {
    bool space = (unsigned char)*c <= ' ';
    if (space && (at == 0 || out[at - 1] == ' ')) continue;
    out[at++] = space ? ' ' : *c;
  }
  while (at > 0 && out[at - 1] == ' ') at--;
  out[at] = '\0';
}

/* What stands behind the first rule, to the next one after a word. */
static bool find_paragraph(const char *said, const char **ret_begin, const char **ret_end) {
  const char *begin = NULL;
  bool any = false;
  for (const char *line = said; *line;) {
    size_t length = strcspn(line, "\n");
    bool rule = is_rule(line, length);
    if (begin && any && rule) {
      *ret_begin = begin;
      *ret_end = line;
      return true;
    }
    if (rule) begin = line + length;
    if (begin && !rule) any = any || has_word(line, length);
    line += length + (line[length] == '\n');
  }
  return false;
}

static void find_last_line(const char *said, const char **ret_begin, const char **ret_end) {
  *ret_begin = *ret_end = said;
  for (const char *line = said; *line;) {
    size_t length = strcspn(line, "\n");
    if (has_word(line, length)) {
      *ret_begin = line;
      *ret_end = line + length;
    }
    line += length + (line[length] == '\n');
  }
}

void hl_said_words(int fd, char *ret_words, size_t size) {
  char *said = hl_said_read(fd);
  ret_words[0] = '\0';
  if (!said) return;
  const char *begin = strstr(said, "Fatal Python error: "), *end = begin;
  if (begin)
    end = begin + strcspn(begin, "\n");
  else if (!find_paragraph(said, &begin, &end))
    find_last_line(said, &begin, &end);
  copy_words(begin, end, ret_words, size);
  free(said);
}
