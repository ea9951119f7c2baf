#include "device/profile.h"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "json.h"

namespace vgpu {
namespace {

struct Field {
  const char* name;
  std::variant<int Profile::*, double Profile::*> member;
};

// All are required: a forgotten one would quietly be another card's.
constexpr Field kFields[] = {
#define COUNT(name) {#name, &Profile::name},
#define FIGURE(name) {#name, &Profile::name},
#include "device/profile.def"
};

const json::Value& member(const json::Value& object, const std::string& name) {
  const json::Value* found = object.get(name);
  if (found == nullptr) throw std::runtime_error("\"" + name + "\" is missing");
  return *found;
}

std::string known_ids(const json::Value& profiles) {
  std::string ids;
  for (const auto& [id, unused] : profiles.object()) ids += (ids.empty() ? "" : ", ") + id;
  return ids;
}

Profile read_profile(const json::Value& entry, const std::string& id) {
  for (const auto& member : entry.object()) {
    const std::string& name = member.first;
    if (name != "name" && std::none_of(std::begin(kFields), std::end(kFields),
                                       [&](const Field& field) { return name == field.name; }))
      throw std::runtime_error("\"" + name + "\" is not known");
  }
  Profile profile;
  profile.id = id;
  profile.name = member(entry, "name").string();
  for (const Field& field : kFields) {
    const double number = member(entry, field.name).number();
    // A compute capability may end in .0; every other figure is a size, a count or a rate.
    const bool may_be_zero = std::string(field.name) == "cc_minor";
    if (number < 0 || number > 1e18 || (number == 0 && !may_be_zero))
      throw std::runtime_error(std::string("\"") + field.name + "\" must be positive");
    if (const auto* whole = std::get_if<int Profile::*>(&field.member)) {
      if (number > 2147483647) throw std::runtime_error(std::string("\"") + field.name + "\" is too large");
      profile.*(*whole) = static_cast<int>(number);
    } else {
      profile.*std::get<double Profile::*>(field.member) = number;
    }
  }
  return profile;
}

}  // namespace

Profile load_profile(const std::string& path, const std::string& id) {
  const json::Value document = path.empty() ? json::parse(kBuiltInProfiles) : json::parse_file(path);
  std::string wanted = id;
  try {
    if (wanted.empty()) wanted = member(document, "default").string();
    const json::Value& profiles = member(document, "profiles");
    const json::Value* entry = profiles.get(wanted);
    if (entry == nullptr)
      throw std::runtime_error("no device profile \"" + wanted + "\"; there are: " + known_ids(profiles));
    return read_profile(*entry, wanted);
  } catch (const std::runtime_error& error) {
    const std::string file = path.empty() ? "the built-in profiles.json" : path;
    throw std::runtime_error(file + ": profile \"" + wanted + "\": " + error.what());
  }
}

}  // namespace vgpu
