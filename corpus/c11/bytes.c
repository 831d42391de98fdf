// expect: safe
// Neighbours in one word do not race, also where the word is read as a whole before.
#include <pthread.h>
#include <string.h>
static struct { char a, b, c, d; } bytes;
static void *one(void *arg) { (void)arg; bytes.a = 1; return 0; }
static void *two(void *arg) { (void)arg; bytes.b = 2; return 0; }
int main(void)
{
    pthread_t a, b;
    memset(&bytes, 0, sizeof bytes);
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return bytes.a + bytes.b != 3;
}
