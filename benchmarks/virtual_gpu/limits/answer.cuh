// A line of the answers.
#pragma once

#include <cstdio>

inline void answer(const char* question, const char* said) {
  std::printf("%s: %s\n", question, said);
  std::fflush(stdout);
}
