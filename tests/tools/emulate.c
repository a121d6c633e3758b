/*
 * emulate - keeps the programs that an emulated one starts under the emulator, for tests.
 *
 *   qemu-x86_64 -cpu Nehalem -E LD_PRELOAD=emulate.so -E EMULATE="QEMU CPU LIBRARY" hotlap ...
 *
 * Loaded into the emulated program: its execv and execve start "QEMU -cpu CPU -E ... PROGRAM
 * ARGUMENTS", as without binfmt_misc the kernel would run the program itself, on the real
 * processor.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 32 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
  char qemu[PATH_MAX], cpu[64], library[PATH_MAX], preload[PATH_MAX + 16], program[PATH_MAX];
  char emulate[2 * PATH_MAX + 128];
  const char *text = getenv("EMULATE");
  if (!text || sscanf(text, "%4095s %63s %4095s", qemu, cpu, library) != 3 ||
      !realpath(path, program)) {
    errno = EINVAL;
    return -1;
  }
  snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
  snprintf(emulate, sizeof(emulate), "EMULATE=%s", text);
  char cpu_option[] = "-cpu", set_option[] = "-E";
  char *line[MOST] = {qemu, cpu_option, cpu, set_option, preload, set_option, emulate, program};
  int count = 8;
  for (int i = 1; arguments[0] && arguments[i] && count < MOST - 1; i++)
    line[count++] = arguments[i];
  return (int)syscall(SYS_execve, qemu, line, environment);
}

EXPORT int execv(const char *path, char *const arguments[]) {
  extern char **environ;
  return execve(path, arguments, environ);
}
