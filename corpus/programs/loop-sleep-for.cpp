// expect: tso=safe pso=safe
// classes: 25
#include <atomic>
#include <cassert>
#include <chrono>
#include <thread>
std::atomic<int> flag; int data;
int main(){
  auto wait=[]{ while(!flag) std::this_thread::sleep_for(std::chrono::milliseconds(1)); assert(data==1); };
  std::thread p(wait), q(wait), r([]{ data=1; flag=1; });
  p.join(); q.join(); r.join();
}
