// expect: error: chooses one of no numbers
unsigned membar_choose(unsigned);
int main(){ return membar_choose(0); }
