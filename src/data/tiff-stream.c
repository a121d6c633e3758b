/* libtiff without its printing, its memory maps and its trust in sizes. */
#include "data/tiff-internal.h"

#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int keep_message(TIFF *tiff, void *context, const char *module, const char *format,
                        va_list arguments) {
  hl__tiff_message *message = context;
  (void)tiff;
  (void)module;
  if (message->text[0]) return 1; /* the first is the cause */
  vsnprintf(message->text, sizeof message->text, format, arguments);
  hl_text_blank(message->text, "");
  return 1;
}

static int ignore_warning(TIFF *tiff, void *context, const char *module, const char *format,
                          va_list arguments) {
  (void)tiff;
  (void)context;
  (void)module;
  (void)format;
  (void)arguments;
  return 1;
}

TIFFOpenOptions *hl__tiff_options(hl__tiff_message *message, uint64_t max_alloc_bytes) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options) return NULL;
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, message);
  TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, NULL);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)max_alloc_bytes);
  return options;
}

static tmsize_t read_stream(thandle_t handle, void *to, tmsize_t bytes) {
  hl__tiff_stream *s = handle;
  uint64_t left = s->at < s->bytes ? s->bytes - s->at : 0;
  size_t wanted = (uint64_t)bytes < left ? (size_t)bytes : (size_t)left, done = 0;
  if (s->fd < 0) {
    memcpy(to, s->data + (wanted ? s->at : 0), wanted);
    done = wanted;
  }
  while (done < wanted) {
    ssize_t n = pread(s->fd, (char *)to + done, wanted - done, (off_t)(s->at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  s->at += done;
  return (tmsize_t)done;
}

static tmsize_t write_stream(thandle_t handle, void *from, tmsize_t bytes) {
  (void)handle;
  (void)from;
  (void)bytes;
  return -1;
}

static toff_t seek_stream(thandle_t handle, toff_t offset, int whence) {
  hl__tiff_stream *s = handle;
  uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : s->bytes;
  s->at = base + offset; /* wraps for a negative offset, as libtiff casts it */
  return s->at;
}

static int close_stream(thandle_t handle) {
  (void)handle;
  return 0;
}

static toff_t size_stream(thandle_t handle) {
  return ((hl__tiff_stream *)handle)->bytes;
}

TIFF *hl__tiff_open_stream(hl__tiff_stream *stream, const char *name, TIFFOpenOptions *options) {
  /* m: without a map, which a file that shrinks meanwhile would turn into a crash. */
  return TIFFClientOpenExt(name, "rm", stream, read_stream, write_stream, seek_stream, close_stream,
                           size_stream, NULL, NULL, options);
}
