#include "link.h"
#include "module_parser.h"

namespace vgpu::ptx {

Module parse(const std::string& text) {
  return ModuleParser(text).parse();
}

LinkUnit parse_for_linking(const std::string& text) {
  ModuleParser parser(text);
  Module module = parser.parse();
  return {std::move(module), parser.linkage()};
}

}  // namespace vgpu::ptx
