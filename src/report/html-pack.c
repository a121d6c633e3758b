#include "report/html-pack.h"

#include "base/hash.h"
#include "base/json-writer.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14 };

typedef struct piece {
  const char *text;
  size_t length, prefix; /* up to its value */
} piece;

typedef struct packer {
  piece *pieces;
  size_t count;
  size_t back;         /* to the piece that one is like; 0: none yet */
  size_t run;          /* equal ones that are not told yet */
  size_t slots[SLOTS]; /* 1 + the last piece with a prefix of this hash */
  hl_text scratch;
  hl_json json;
} packer;

static size_t prefix_of(const char *text, size_t length) {
  const char *colon = memmem(text, length, "\": ", 3);
  if (colon) return (size_t)(colon - text) + 3;
  size_t spaces = 0;
  while (spaces < length && text[spaces] == ' ') spaces++;
  return spaces;
}

/* A comma that is quoted ends no cell, so that a cell has one place in every row. */
static const char *end_of(const char *text, char separator) {
  bool quoted = false;
  for (; *text && (quoted || *text != separator); text++)
    if (separator == ',' && *text == '"') quoted = !quoted;
  return text;
}

static bool split(packer *p, const char *text, char separator) {
  size_t most = 1;
  for (const char *c = text; *c; c++) most += *c == separator;
  p->pieces = malloc(most * sizeof *p->pieces);
  if (!p->pieces) return false;
  for (const char *at = text;; at++) {
    const char *end = end_of(at, separator);
    size_t length = (size_t)(end - at);
    p->pieces[p->count++] = (piece){at, length, prefix_of(at, length)};
    at = end;
    if (!*at) return true;
  }
}

static bool same_prefix(const piece *a, const piece *b) {
  return a->prefix == b->prefix && memcmp(a->text, b->text, a->prefix) == 0;
}

static bool same(const piece *a, const piece *b) {
  return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void end_run(packer *p) {
  if (p->run) hl_json_int(&p->json, NULL, (int64_t)p->run);
  p->run = 0;
}

static void put_text(packer *p, const char *text, size_t length) {
  hl_text_clear(&p->scratch);
  hl_text_append_n(&p->scratch, text, length);
  hl_json_text(&p->json, NULL, p->scratch.data);
}

static size_t *slot_of(packer *p, const piece *now) {
  return &p->slots[hl_hash_bytes(HL_HASH_START, now->text, now->prefix) % SLOTS];
}

/* The way back to the last piece with this prefix, where the usual one leads to another: rows of
 * different length. Cells have no names; their way back is as long as a row, or there is none. */
static size_t look_back(packer *p, size_t i, char separator) {
  const piece *now = &p->pieces[i];
  size_t last = separator == ',' ? 0 : *slot_of(p, now);
  return last && same_prefix(now, &p->pieces[last - 1]) ? i + 1 - last : 0;
}

static void pack_piece(packer *p, size_t i, char separator) {
  const piece *now = &p->pieces[i];
  bool like = p->back && i >= p->back && same_prefix(now, &p->pieces[i - p->back]);
  size_t back = like ? p->back : look_back(p, i, separator);
  if (back && back != p->back) {
    end_run(p);
    p->back = back;
    hl_json_int(&p->json, NULL, -(int64_t)back);
  }
  *slot_of(p, now) = i + 1;
  if (back && same(now, &p->pieces[i - back])) {
    p->run++;
    return;
  }
  end_run(p);
  if (back) {
    put_text(p, now->text + now->prefix, now->length - now->prefix);
    return;
  }
  hl_json_array(&p->json, NULL);
  put_text(p, now->text, now->length);
  hl_json_end(&p->json);
}

/* The cells of the first line of a CSV file, less the one that is joined with the next line's. */
static size_t columns_of(const char *text) {
  size_t commas = 0;
  for (const char *end = strchr(text, '\n'); end && text < end; text++) {
    text = end_of(text, ',');
    if (text < end) commas++;
  }
  return commas;
}

void hl_html_pack(const char *text, char separator, hl_text *out) {
  const char name[] = {separator, '\0'};
  packer *p = calloc(1, sizeof *p);
  if (!p || !split(p, text, separator)) {
    out->failed = true;
    free(p);
    return;
  }
  p->scratch = (hl_text)HL_TEXT_INIT;
  hl_json_init(&p->json, out, HL_JSON_COMPACT);
  hl_json_object(&p->json, NULL);
  hl_json_text(&p->json, "separator", name);
  hl_json_array(&p->json, "pieces");
  if (separator == ',' && (p->back = columns_of(text)) != 0)
    hl_json_int(&p->json, NULL, -(int64_t)p->back);
  for (size_t i = 0; i < p->count; i++) pack_piece(p, i, separator);
  end_run(p);
  hl_json_end(&p->json);
  hl_json_end(&p->json);
  out->failed = out->failed || p->scratch.failed;
  hl_text_release(&p->scratch);
  free(p->pieces);
  free(p);
}
