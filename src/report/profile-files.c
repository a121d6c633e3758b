#include "report/profile-files.h"

#include "base/file.h"
#include "formats/chrome-trace.h"
#include "formats/tensorboard.h"
#include "report/flame.h"
#include "report/profile-texts.h"
#include <string.h>

typedef struct writer {
  const hl_profile *profile;
  const hl_profile_files *files;
  hl_text *written, *notes;
  hl_status status; /* the first failure */
  hl_error *error;
} writer;

static void keep(writer *w, hl_status status, const hl_error *error) {
  if (status == HL_OK || w->status != HL_OK) return;
  w->status = status;
  if (w->error) *w->error = *error;
}

static void done(writer *w, const char *path, hl_status status, const hl_error *error) {
  keep(w, status, error);
  if (status == HL_OK) hl_text_line(w->written, "%s", path);
}

/* A file whose text is known. */
static void put_text(writer *w, const char *name, const hl_text *content, hl_status status,
                     hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", w->files->directory, name);
  if (status == HL_OK && (!path || content->failed))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  if (status == HL_OK) status = hl_file_write(path, content->data, content->length, error);
  done(w, path, status, error);
}

/* A file that writes itself piece by piece. */
static void put_streamed(writer *w, const char *name,
                         hl_status (*write)(const hl_profile *profile, int fd, hl_error *error)) {
  hl_error error = {0};
  hl_new_file file;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", w->files->directory, name);
  hl_status status = path ? hl_file_begin(path, &file, &error)
                          : hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  if (status == HL_OK) {
    status = write(w->profile, file.fd, &error);
    status = hl_file_end(&file, status, &error);
  }
  done(w, path, status, &error);
}

/* The events, and the trace beside them where torch_tb_profiler looks. */
static void put_tensorboard(writer *w) {
  const hl_profile_files *f = w->files;
  hl_error error = {0};
  hl_text name = HL_TEXT_INIT;
  HL_CLEANUP(hl_free_pointer) char *directory = hl_format("%s/tensorboard", f->directory);
  hl_status status = directory ? hl_directory_make(directory, &error)
                               : hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for a name");
  keep(w, status, &error);
  if (status != HL_OK) return;
  hl_text_append(&name, "tensorboard/");
  hl_tensorboard_event_name(w->profile, f->host, f->pid, &name);
  put_streamed(w, name.data, hl_tensorboard_write);
  hl_text_clear(&name);
  hl_text_append(&name, "tensorboard/");
  hl_tensorboard_trace_name(w->profile, f->host, f->pid, &name);
  put_streamed(w, name.data, hl_chrome_trace_write);
  hl_text_release(&name);
}

/* A file that `make` appends to a text. */
static void put_made(writer *w, const char *name,
                     hl_status (*make)(const hl_profile *profile, hl_text *out, hl_error *error)) {
  hl_error error = {0};
  hl_text text = HL_TEXT_INIT;
  hl_status status = make(w->profile, &text, &error);
  put_text(w, name, &text, status, &error);
  hl_text_release(&text);
}

/* A profile without the picture is still one: its lack is a note, unless it could not be kept. */
static void put_roofline(writer *w) {
  hl_error error = {0};
  hl_text picture = HL_TEXT_INIT;
  hl_status status = hl__profile_roofline(w->profile, w->files->gnuplot, &picture, &error);
  if (status == HL_OK)
    put_text(w, "roofline.png", &picture, status, &error);
  else
    hl_text_line(w->notes, "roofline.png: %s", error.msg);
  hl_text_release(&picture);
}

/* What is here and how to look at it; the last, since it names the others. */
static void put_summary(writer *w) {
  hl_error error = {0};
  hl_text text = HL_TEXT_INIT;
  hl_status status = hl__profile_summary_text(w->profile, w->files->directory, w->written->data,
                                              w->notes->data, &text, &error);
  put_text(w, "profiling_summary.txt", &text, status, &error);
  hl_text_release(&text);
}

hl_status hl_profile_write_all(const hl_profile *profile, const hl_profile_files *files,
                               hl_text *ret_written, hl_text *ret_notes, hl_error *error) {
  hl_status status = hl_directory_make(files->directory, error);
  if (status != HL_OK) return status;
  hl_text written = HL_TEXT_INIT, notes = HL_TEXT_INIT;
  writer w = {.profile = profile,
              .files = files,
              .written = &written,
              .notes = &notes,
              .status = HL_OK,
              .error = error};
  bool cuda = strncmp(profile->device, "cuda", 4) == 0;
  put_streamed(&w, "trace.json", hl_chrome_trace_write);
  put_tensorboard(&w);
  put_made(&w, "flame.svg", hl_flame_svg);
  put_made(&w, "stacks.folded", hl_flame_folded);
  put_roofline(&w);
  put_made(&w, "cpu_time_summary.txt", hl__profile_time_text);
  put_made(&w, cuda ? "cuda_memory_summary.txt" : "memory_summary.txt", hl__profile_memory_text);
  put_made(&w, "detailed_breakdown.txt", hl__profile_breakdown_text);
  put_summary(&w);
  if (ret_written) hl_text_append_n(ret_written, written.data, written.length);
  if (ret_notes) hl_text_append_n(ret_notes, notes.data, notes.length);
  hl_text_release(&written);
  hl_text_release(&notes);
  return w.status;
}
