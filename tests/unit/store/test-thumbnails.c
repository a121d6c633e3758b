/* Small pictures of a row: made of what it reconstructed, kept once for rows that look alike, and
 * refused where somebody changed them. */
#include "store/store.h"
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/hotlap-thumbnails-XXXXXX";

static int setup(void **state) {
  (void)state;
  strcpy(path + sizeof path - 7, "XXXXXX");
  int file = mkstemp(path);
  if (file >= 0) close(file);
  return file >= 0 ? unlink(path) : -1;
}

static int teardown(void **state) {
  (void)state;
  static const char *const ends[] = {"", "-wal", "-shm"};
  for (size_t i = 0; i < 3; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", path, ends[i]);
    unlink(name);
  }
  return 0;
}

/* ---- made ---- */

/* 2 covered pixels a line: i, and twice that turned by a quarter; nothing is known of the truth. */
static hl_reconstruction *reconstruction(int64_t side) {
  hl_reconstruction *r = calloc(1, sizeof *r);
  r->side = side;
  r->pixels = calloc((size_t)(2 * side * side), sizeof *r->pixels);
  r->weights = calloc((size_t)(side * side), sizeof *r->weights);
  for (int64_t row = 1; row < side; row++)
    for (int64_t column = 1; column < 3; column++) {
      int64_t at = row * side + column;
      r->weights[at] = 1;
      r->pixels[2 * at + (column == 2)] = (float)(column == 2 ? 2 * row : row);
    }
  return r;
}

static hl_imaging_pictures *pictures(int64_t side) {
  hl_imaging_pictures *p = calloc(1, sizeof *p);
  size_t count = (size_t)(side * side);
  p->side = side;
  p->truth = calloc(count, sizeof *p->truth);
  p->measured = calloc(count, sizeof *p->measured);
  p->reconstruction = calloc(count, sizeof *p->reconstruction);
  p->mask = calloc(count, 1);
  for (size_t i = 0; i < count; i++) {
    p->truth[i] = (float)(i % (size_t)side) / (float)(side - 1);
    p->measured[i] = i == 0 ? 4 : 1;
    p->reconstruction[i] = i % 2 ? 7 : (float)NAN;
    p->mask[i] = i % 3 == 0;
  }
  return p;
}

static void a_pipeline_has_amplitude_and_phase(void **state) {
  (void)state;
  hl_record record;
  hl_record_init(&record);
  assert_null(hl_thumbnails_make(&record));
  record.reconstruction = reconstruction(5);
  hl_thumbnails *t = hl_thumbnails_make(&record);
  assert_int_equal(t->count, 2);
  assert_string_equal(hl_thumbnail_name(t->items[0].kind), "amplitude");
  assert_int_equal(t->items[0].height, 4); /* what is covered */
  assert_int_equal(t->items[0].width, 2);
  assert_true(t->items[0].low == 1 && t->items[0].high == 8);
  static const uint8_t amplitude[] = {0, 36, 36, 109, 73, 182, 109, 255};
  assert_memory_equal(t->items[0].grey, amplitude, sizeof amplitude);
  assert_string_equal(hl_thumbnail_title(t->items[1].kind), "Reconstruction: phase, rad");
  static const uint8_t phase[] = {0, 255, 0, 255, 0, 255, 0, 255};
  assert_memory_equal(t->items[1].grey, phase, sizeof phase);
  hl_thumbnails_free(t);
  hl_record_release(&record);
}

static void progressive_imaging_has_four(void **state) {
  (void)state;
  hl_record record;
  hl_record_init(&record);
  record.pictures = pictures(500);
  record.object_size = 4;
  hl_thumbnails *t = hl_thumbnails_make(&record);
  assert_int_equal(t->count, 4);
  assert_int_equal(t->items[0].width, 4);   /* the object, in the middle */
  assert_int_equal(t->items[2].width, 167); /* every third of 500 */
  assert_true(t->items[1].low == 0 && t->items[1].high == 1);
  assert_int_equal(t->items[1].grey[0], 0);                   /* no number */
  assert_int_equal(t->items[1].grey[1], 255);                 /* above white */
  assert_true(t->items[2].low == 1 && t->items[2].high == 2); /* of the square root */
  assert_int_equal(t->items[2].grey[0], 255);
  assert_int_equal(t->items[3].grey[0], 255);
  hl_thumbnails_free(t);
  hl_record_release(&record);
}

/* ---- kept ---- */

static void add(hl_store *store, int position, const char *engine, hl_reconstruction *r) {
  hl_record record;
  hl_record_init(&record);
  HL_CLEANUP(hl_free_pointer) char *key = hl_format("row %d", position);
  hl_record_set_text(&record.model, "m");
  hl_record_set_text(&record.engine, engine);
  hl_record_set_text(&record.outcome, "PASSED");
  record.reconstruction = r;
  assert_int_equal(hl_store_row_add(store, "r1", key, position, &record, NULL), HL_OK);
  hl_record_release(&record);
}

static hl_store *open_store(void) {
  hl_store *store = NULL;
  hl_error error = {0};
  if (hl_store_open(path, HL_STORE_WRITE, &store, &error) != HL_OK) fail_msg("%s", error.msg);
  return store;
}

static hl_status load(hl_records *records, hl_error *error) {
  hl_run_info info;
  hl_store *store = open_store();
  hl_status status = hl_store_run_load(store, "r1", &info, records, error);
  if (status == HL_OK) hl_run_info_release(&info);
  hl_store_free(store);
  return status;
}

static void rows_keep_them_once(void **state) {
  (void)state;
  hl_store *store = open_store();
  hl_run_info info;
  hl_run_info_init(&info);
  info.id = hl_strdup("r1");
  info.created = hl_strdup("2026-11-29T00:00:00Z");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  hl_run_info_release(&info);
  add(store, 0, "a", NULL);
  add(store, 1, "a", reconstruction(9));
  add(store, 2, "a", reconstruction(9)); /* looks the same */
  add(store, 3, "b", reconstruction(9));
  hl_store_free(store);
  hl_records records = {0};
  assert_int_equal(load(&records, NULL), HL_OK);
  assert_int_equal(records.count, 4);
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(records.items[i].thumbnails != NULL, i == 1 || i == 3);
  hl_record made;
  hl_record_init(&made);
  made.reconstruction = reconstruction(9);
  hl_thumbnails *expected = hl_thumbnails_make(&made), *found = records.items[3].thumbnails;
  assert_int_equal(found->count, expected->count);
  for (size_t i = 0; i < found->count; i++) {
    const hl_thumbnail *x = &found->items[i], *y = &expected->items[i];
    assert_true(x->kind == y->kind && x->height == y->height && x->width == y->width &&
                x->low == y->low && x->high == y->high);
    assert_memory_equal(x->grey, y->grey, (size_t)(x->height * x->width));
  }
  hl_thumbnails_free(expected);
  hl_record_release(&made);
  hl_records_release(&records);
}

static void changed_ones_are_refused(void **state) {
  (void)state;
  static const char *const changes[] = {
      "UPDATE thumbnails SET height = 193",    "UPDATE thumbnails SET height = -8, width = -2",
      "UPDATE thumbnails SET data = x'00'",    "UPDATE thumbnails SET kind = 'portrait'",
      "UPDATE thumbnails SET width = 1 << 62", "UPDATE thumbnails SET height = 0, data = x''"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    hl_records records = {0};
    hl_error error = {0};
    sqlite3 *db = NULL;
    teardown(NULL);
    rows_keep_them_once(NULL);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(load(&records, &error), HL_BAD_DATA);
    assert_non_null(strstr(error.msg, "a picture of a row is damaged"));
    hl_records_release(&records);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pipeline_has_amplitude_and_phase),
      cmocka_unit_test(progressive_imaging_has_four),
      cmocka_unit_test_setup_teardown(rows_keep_them_once, setup, teardown),
      cmocka_unit_test_setup_teardown(changed_ones_are_refused, setup, teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
