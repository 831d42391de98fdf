// Starts functions, each on a thread of its own, and waits until they have returned.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

typedef void *function(void *);

static void run(int threads, function *const *functions)
{
    pthread_t thread[8];

    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, functions[i], NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}
