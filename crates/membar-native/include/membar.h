/* membar.h: what a test can tell membar, in C and C++.
 *
 *   membar_choose(n)    any number from 0 to n - 1: each of them is explored (n from 1 to 65535)
 *   membar_assume(c)    executions in which c does not hold count for nothing
 *
 * `membar verify` and `membar cc` find this file by themselves. Without membar the program compiles and runs all the same:
 * every choice is 0, and nothing is assumed. For that the functions behind the macros are weak: they have no address.
 */
#ifndef MEMBAR_H
#define MEMBAR_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) unsigned __membar_choose(unsigned outcomes);
__attribute__((weak)) void __membar_assume(int condition);

#ifdef __cplusplus
}
#endif

#define membar_choose(n) (__membar_choose ? __membar_choose(n) : 0u)
#define membar_assume(c) ((void)(__membar_assume ? (__membar_assume(!!(c)), 0) : 0))

#endif
