// expect: tso=safe pso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char shared[64] = "abc";
static void *run(void *p)
{
    char b[64], *volatile s = shared;
    pthread_mutex_lock(&m);
    strncat(s, "defgh", 2);
    assert(strlen(s) == 5 || strlen(s) == 7);
    assert(strchr(s, 'd') == s + 3 && strchr(s, 'z') == 0 && strchr(s, 0) == s + strlen(s));
    assert(strrchr(s, 'd') == s + (strlen(s) == 5 ? 3 : 5) && memchr(s, 'c', 10) == s + 2 && memchr(s, 'z', 5) == 0);
    assert(mempcpy(b, s, 4) == b + 4 && stpcpy(b, s) == b + strlen(s) && strcmp(b, s) == 0);
    bcopy(s, b, 3);
    assert(memcmp(b, "abc", 3) == 0 && strncmp(b, "abx", 2) == 0 && strcmp("a", "b") < 0 && strcmp("b", "a") > 0);
    memmove(b + 1, b, 3);
    assert(strncmp(b, "aabc", 4) == 0);
    strncpy(b, "xy", 5);
    assert(b[4] == 0 && strnlen(b, 10) == 2);
    assert(strstr(s, "cd") == s + 2);
    pthread_mutex_unlock(&m);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
