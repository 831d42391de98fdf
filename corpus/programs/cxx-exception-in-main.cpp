// expect: error: main: uncaught exception `int`
int main() { throw 1; }
