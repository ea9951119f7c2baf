// Links the modules of separately compiled files (nvcc -rdc=true) into one.
#pragma once

#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "ast.h"

namespace vgpu::ptx {

// Names of a module that other modules can see (.visible, .weak, .common, .extern), and which of them may be
// defined in several modules: the first definition counts.
struct Linkage {
  std::unordered_set<std::string> shared, weak;
};

struct LinkUnit {
  Module module;
  Linkage linkage;
};

struct LinkError : std::runtime_error {
  LinkError(std::string name, const std::string& problem)
      : std::runtime_error(problem), symbol(std::move(name)) {}
  std::string symbol;  // mangled; the problem reads on after it
};

// Between the name of a private symbol and the number that tells it from another file's.
constexpr char kFileMark = '@';

LinkUnit parse_for_linking(const std::string& text);  // throws ParseError

// Declarations meet their definitions; what a module keeps to itself stays apart from the others' symbols of
// the same name. What no module defines stays a declaration. Throws LinkError.
Module link(std::vector<LinkUnit> units);

}  // namespace vgpu::ptx
