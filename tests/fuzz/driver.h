/*
 * driver.h - what a fuzz target defines.
 *
 * A target is one file with LLVMFuzzerTestOneInput and, optionally, hl_fuzz_seed. It is linked with
 * driver.c for the tests (deterministic, any compiler), or with clang's -fsanitize=fuzzer for long
 * runs, where hl_fuzz_seed is not used.
 */
#ifndef HL_TESTS_FUZZ_DRIVER_H
#define HL_TESTS_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* Gives the bytes to the code under test; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes well-formed input number `index` into ret_data of `capacity` bytes and returns its size;
 * 0 past the last. Optional: seeds can also be files named on the command line. */
__attribute__((weak)) size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity);

#endif
