// expect: tso=safe pso=safe
// What is written in pieces is read in others.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
static void *other(void *p)
{
    FILE *file = tmpfile();
    assert(file);
    int fd = fileno(file);
    char a[] = "abc", b[] = "defgh", to[9] = "", rest[5] = "";
    struct iovec out[] = { { a, 3 }, { b, 0 }, { b, 5 } };
    assert(writev(fd, out, 3) == 8);
    assert(lseek(fd, 0, SEEK_SET) == 0);
    struct iovec in[] = { { to, 2 }, { to + 2, 6 } };
    assert(readv(fd, in, 2) == 8 && strcmp(to, "abcdefgh") == 0);
    assert(pwritev(fd, out, 1, 4) == 3);
    assert(preadv(fd, in, 2, 1) == 7 && memcmp(to, "bcdabch", 7) == 0);
    assert(pread(fd, rest, 4, 4) == 4 && strcmp(rest, "abch") == 0);
    assert(pwrite(fd, "xy", 2, 0) == 2 && pread(fd, rest, 4, 0) == 4 && strcmp(rest, "xycd") == 0);
    assert(readv(-1, in, 2) == -1 && writev(-1, out, 3) == -1);
    fclose(file);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);
}
