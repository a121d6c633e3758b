#include "machine/gpu.h"

#include "base/clock.h"
#include "machine/nvml.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void ask(const char *path, hl_gpu_set *gpus) {
  hl_nvml *nvml = NULL;
  hl_error error = {0};
  if (hl_nvml_open(path, &nvml, &error) != HL_OK) {
    snprintf(gpus->reason, sizeof gpus->reason, "%.255s", error.msg);
    return;
  }
  snprintf(gpus->driver, sizeof gpus->driver, "%s", hl_nvml_driver(nvml));
  for (unsigned i = 0; i < hl_nvml_count(nvml) && gpus->count < HL_GPU_MOST; i++)
    if (hl_nvml_describe(nvml, i, &gpus->items[gpus->count])) gpus->count++;
  if (gpus->count == 0)
    snprintf(gpus->reason, sizeof gpus->reason, "NVIDIA's driver is here, but lists no GPU");
  hl_nvml_close(nvml);
}

/* Reads all of an answer before the deadline; false at its end or if the writer ends early. */
static bool read_answer(int fd, void *answer, size_t size, uint64_t deadline_ns) {
  size_t got = 0;
  while (got < size) {
    uint64_t now = hl_clock_ns();
    if (now >= deadline_ns) return false;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = poll(&wait, 1, (int)((deadline_ns - now) / 1000000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t n = read(fd, (char *)answer + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

static void answer_and_end(int fd, const char *path) {
  static hl_gpu_set gpus; /* large for a stack */
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDOUT_FILENO); /* what a driver prints is no part of a result */
  ask(path, &gpus);
  const char *at = (const char *)&gpus;
  for (size_t left = sizeof gpus; left > 0;) {
    ssize_t n = write(fd, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += n;
    left -= (size_t)n;
  }
  _exit(0);
}

void hl_gpu_list(const char *path, double timeout_s, hl_gpu_set *ret_gpus) {
  static hl_gpu_set answer;
  int fds[2];
  *ret_gpus = (hl_gpu_set){0};
  if (pipe2(fds, O_CLOEXEC) != 0) {
    snprintf(ret_gpus->reason, sizeof ret_gpus->reason, "no pipe to ask NVIDIA's driver through");
    return;
  }
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) answer_and_end(fds[1], path);
  close(fds[1]);
  uint64_t deadline_ns = hl_clock_ns() + (uint64_t)(timeout_s * 1e9);
  bool answered = pid > 0 && read_answer(fds[0], &answer, sizeof answer, deadline_ns);
  bool late = !answered && hl_clock_ns() >= deadline_ns;
  close(fds[0]);
  if (pid > 0) {
    if (!answered) kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  if (answered)
    *ret_gpus = answer;
  else if (pid < 0)
    snprintf(ret_gpus->reason, sizeof ret_gpus->reason, "no process to ask NVIDIA's driver in");
  else
    snprintf(ret_gpus->reason, sizeof ret_gpus->reason,
             late ? "NVIDIA's driver did not answer within %.0f s"
                  : "NVIDIA's driver crashed when it was asked for GPUs",
             timeout_s);
}

static bool shows(const hl_gpu_set *gpus, const char *word, size_t length) {
  char text[96];
  if (length == 0 || length >= sizeof text) return false;
  memcpy(text, word, length);
  text[length] = '\0';
  if (text[0] >= '0' && text[0] <= '9') return strtoul(text, NULL, 10) < (unsigned long)gpus->count;
  if (strncmp(text, "MIG-", 4) == 0) return true; /* a part of a GPU: listed by CUDA only */
  for (int i = 0; i < gpus->count; i++)
    if (strncmp(gpus->items[i].uuid, text, length) == 0) return true;
  return false;
}

int hl_gpu_visible(const hl_gpu_set *gpus, const char *visible) {
  if (!visible) return gpus->count;
  int count = 0;
  for (const char *word = visible + strspn(visible, " "); count < gpus->count;) {
    size_t length = strcspn(word, ", ");
    if (!shows(gpus, word, length)) break;
    count++;
    word += length;
    word += strspn(word, ", ");
  }
  return count;
}
