// expect: tso=safe pso=safe
// In C++, static and not.
#include <thread>
#include <cassert>
int x; int l;
void __VERIFIER_assume(int);
extern "C" void __VERIFIER_atomic_lock(){ while(l) ; l=1; }
static int __VERIFIER_atomic_cas(int*p,int o,int n){ if(*p==o){*p=n;return 1;} return 0; }
void inc(){ for(;;){ int v=x; if(__VERIFIER_atomic_cas(&x,v,v+1)) break; } }
int main(){ std::thread a(inc), b(inc); a.join(); b.join(); assert(x==2); }
