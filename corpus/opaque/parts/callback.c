void twice(void (*f)(void *), void *with) { f(with); f(with); }
