#include "formats/import-internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Days since 1970 of a date of the Gregorian calendar (H. Hinnant, days_from_civil). */
static int64_t days_of(int year, int month, int day) {
  int64_t y = year - (month <= 2);
  int64_t era = y / 400, year_of_era = y - era * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

static bool write_utc(int64_t seconds, char ret_utc[32]) {
  struct tm tm;
  time_t time = (time_t)seconds;
  if (seconds < 0 || seconds >= 253402300800 || !gmtime_r(&time, &tm))
    return false; /* year 10000 */
  return strftime(ret_utc, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

/* "+02:00", "+0200", "Z" or nothing. */
static bool read_zone(const char *text, int64_t *ret_seconds, bool *ret_zoned) {
  int hours = 0, minutes = 0, used = 0;
  *ret_seconds = 0;
  *ret_zoned = true;
  if (strcmp(text, "Z") == 0) return true;
  if (text[0] == '\0') {
    *ret_zoned = false;
    return true;
  }
  if (text[0] != '+' && text[0] != '-') return false;
  bool whole = (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) == 2 ||
                sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &used) == 2) &&
               text[1 + used] == '\0';
  if (!whole || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
  *ret_seconds = (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

bool hl__import_time(const char *text, char ret_utc[32], bool *ret_zoned) {
  int year, month, day, hour, minute, second, used = 0;
  if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second,
             &used) != 6 &&
      sscanf(text, "%4d/%2d/%2d-%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second,
             &used) != 6)
    return false;
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
      minute < 0 || minute > 59 || second < 0 || second > 60)
    return false;
  const char *rest = text + used;
  if (*rest == '.') rest += 1 + strspn(rest + 1, "0123456789");
  int64_t zone;
  if (!read_zone(rest, &zone, ret_zoned)) return false;
  int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  return write_utc(seconds - zone, ret_utc);
}

bool hl__import_time_ms(double ms, char ret_utc[32]) {
  return ms >= 0 && ms < 253402300800e3 && write_utc((int64_t)(ms / 1000), ret_utc);
}
