#include "source_locations.h"

#include <climits>

namespace vgpu::ptx {
namespace {

constexpr uint64_t kMaxFiles = 65535;
// Names are shown to people; each location has its own copy, so one endless string must not be multiplied.
constexpr size_t kMaxFunctionName = 4096;

int data_bytes(std::string_view directive) {
  if (directive == ".b8") return 1;
  if (directive == ".b16") return 2;
  if (directive == ".b32") return 4;
  if (directive == ".b64") return 8;
  return 0;
}

// A label, or a section named for its start.
bool is_address(const Token& token) {
  return token.kind == TokenKind::kWord || token.kind == TokenKind::kDirective;
}

}  // namespace

size_t SourceLocations::KeyHash::operator()(const Key& key) const {
  uint64_t hash = std::hash<std::string_view>()(key.label);
  for (uint64_t part :
       {static_cast<uint64_t>(key.file), static_cast<uint64_t>(key.line), static_cast<uint64_t>(key.column),
        static_cast<uint64_t>(key.inlined_at), key.offset}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

SourceLocations::SourceLocations(Module& module) : module_(module) {
  module_.locs.emplace_back();
  module_.files.emplace_back();
  names_.emplace_back();
}

void SourceLocations::parse_file(TokenStream& tokens) {
  tokens.take();
  const uint64_t index = tokens.expect_count(kMaxFiles, "a file number");
  const Token name = tokens.expect_string("the file name in quotes");
  if (tokens.accept(',')) {
    tokens.expect_count(UINT64_MAX, "the file's time stamp");
    tokens.expect(',', "between the file's time stamp and its size");
    tokens.expect_count(UINT64_MAX, "the file's size");
  }
  if (module_.files.size() <= index) module_.files.resize(index + 1);
  module_.files[index] = name.text;
}

Loc SourceLocations::parse_place(TokenStream& tokens) const {
  Loc place;
  place.file = static_cast<int>(tokens.expect_count(kMaxFiles, "a file number"));
  place.line = static_cast<int>(tokens.expect_count(INT_MAX, "a line number"));
  place.column = static_cast<int>(tokens.expect_count(INT_MAX, "a column"));
  return place;
}

SourceLocations::NameReference SourceLocations::parse_name_reference(TokenStream& tokens) const {
  const Token label = tokens.expect_word("a label in .debug_str");
  NameReference name{label.text, 0, label.line};
  if (tokens.accept('+')) name.offset = tokens.expect_count(UINT64_MAX, "an offset into .debug_str");
  return name;
}

int SourceLocations::parse_loc(TokenStream& tokens) {
  tokens.take();
  Loc loc = parse_place(tokens);
  NameReference name;
  while (tokens.accept(',')) {
    const Token attribute = tokens.expect_word("function_name or inlined_at");
    if (attribute.text == "function_name") {
      name = parse_name_reference(tokens);
    } else if (attribute.text == "inlined_at") {
      loc.inlined_at = call_site(parse_place(tokens));
    } else {
      throw ParseError(attribute.line,
                       "expected function_name or inlined_at, found " + in_quotes(attribute.text));
    }
  }
  const int index = intern(loc, name);
  latest_at_place_[{loc.file, loc.line, loc.column, 0, {}, 0}] = index;
  return index;
}

// The most recent location with this place, which may itself be inlined somewhere.
int SourceLocations::call_site(const Loc& place) {
  const auto [entry, is_new] =
      latest_at_place_.try_emplace({place.file, place.line, place.column, 0, {}, 0}, 0);
  if (is_new) entry->second = intern(place, {});
  return entry->second;
}

int SourceLocations::intern(const Loc& loc, const NameReference& name) {
  const Key key{loc.file, loc.line, loc.column, loc.inlined_at, name.label, name.offset};
  const auto [entry, is_new] = interned_.try_emplace(key, static_cast<int>(module_.locs.size()));
  if (is_new) {
    module_.locs.push_back(loc);
    names_.push_back(name);
  }
  return entry->second;
}

void SourceLocations::parse_section(TokenStream& tokens) {
  tokens.take();
  const Token name = tokens.expect_directive("a section name such as .debug_str");
  const bool is_debug_str = name.text == ".debug_str";
  tokens.expect('{', "before the contents of a section");
  while (!tokens.accept('}')) {
    if (tokens.peek().kind == TokenKind::kDirective) {
      parse_section_data(tokens, is_debug_str);
      continue;
    }
    const Token label = tokens.expect_word("a label, data such as .b8 1,2, or '}' in a section");
    tokens.expect(':', "after a label");
    if (is_debug_str) debug_str_labels_[label.text] = debug_str_.size();
  }
}

// `.b8 1,2,3`, `.b32 $L__a-$L__b`, `.b64 label+4`, `.b32 .debug_loc+62`. Only the bytes of .debug_str are
// kept; the rest is read for its form.
void SourceLocations::parse_section_data(TokenStream& tokens, bool is_debug_str) {
  const Token width = tokens.take();
  const int bytes = data_bytes(width.text);
  if (bytes == 0) {
    throw ParseError(width.line,
                     "expected .b8, .b16, .b32 or .b64 in a section, found " + in_quotes(width.text));
  }
  do {
    uint64_t value = 0;
    const bool is_negative = tokens.accept('-');
    if (tokens.peek().kind == TokenKind::kInteger) {
      value = tokens.take().value;
    } else if (!is_negative && is_address(tokens.peek())) {
      tokens.take();
      if (tokens.accept('-') || tokens.accept('+')) {
        const Token& offset = tokens.peek();
        if (offset.kind != TokenKind::kInteger && !is_address(offset))
          tokens.fail_expected("a label or an offset");
        tokens.take();
      }
    } else {
      tokens.fail_expected("a number or a label");
    }
    if (!is_debug_str) continue;
    if (is_negative) value = -value;
    for (int i = 0; i < bytes; ++i) debug_str_ += static_cast<char>(value >> (8 * i));
  } while (tokens.accept(','));
}

void SourceLocations::resolve_function_names() {
  for (size_t i = 0; i < names_.size(); ++i) {
    const NameReference& name = names_[i];
    if (name.label.empty()) continue;
    const auto label = debug_str_labels_.find(name.label);
    if (label == debug_str_labels_.end()) {
      throw ParseError(name.line, "function_name refers to " + in_quotes(name.label) +
                                      ", which is no label of section .debug_str");
    }
    const uint64_t available = debug_str_.size() - label->second;
    if (name.offset > available) {
      throw ParseError(name.line, "function_name points past the end of section .debug_str");
    }
    const size_t start = label->second + name.offset;
    const std::string_view longest = std::string_view(debug_str_).substr(start, kMaxFunctionName);
    module_.locs[i].function_name = longest.substr(0, longest.find('\0'));
  }
  // A .loc may name a file that no .file declares: consumers may still index `files` by it.
  for (const Loc& loc : module_.locs) {
    if (module_.files.size() <= static_cast<size_t>(loc.file)) module_.files.resize(loc.file + 1);
  }
}

}  // namespace vgpu::ptx
