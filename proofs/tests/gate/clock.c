/* A clock to set: preloaded into the gate, it moves CLOCK_REALTIME by the seconds in a file.
 *
 * libfaketime parses its file into globals that all threads share, so that now and then one of
 * them reads the true time (752 of 800,000 readings by four threads). Here the file is a mapped
 * 64-bit number: every reading sees the whole of the one that was written last. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *moved;

__attribute__((constructor)) static void open_hands(void) {
    const char *path = getenv("PROOF_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    /* Without its hands it would prove nothing. */
    if (page == MAP_FAILED) _exit(97);
    moved = page;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, which, time);
    if (!failed && which == CLOCK_REALTIME) time->tv_sec += *moved;
    return failed;
}
