// expect: error: abort
int main() { throw 1; }
