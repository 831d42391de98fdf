// package: libgtest-dev
// flags: -O0 -lgtest -lgtest_main
// expect: error: Expected equality of these values
// `main` comes from an archive that is not instrumented; gtest's message is shown with the failing execution.
#include <gtest/gtest.h>
#include <thread>
static int counter;
TEST(Counter, CountsTwice) {
  std::thread other([] { counter++; });
  counter++;
  other.join();
  EXPECT_EQ(counter, 2);
}
