// JSON in the two directions the engine needs: reading its data files, writing its reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::json {

// A parsed document. Asking a value for what it is not throws std::runtime_error.
class Value {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  double number() const;
  const std::string& string() const;
  const std::vector<Value>& array() const;
  const std::map<std::string, Value>& object() const;
  // A member of an object, or nullptr.
  const Value* get(const std::string& key) const;

 private:
  friend class Parser;
  void expect(Kind kind) const;

  Kind kind_ = Kind::kNull;
  double number_ = 0;
  std::string string_;
  std::vector<Value> array_;
  std::map<std::string, Value> object_;
};

// Throws std::runtime_error that says what was expected and at which line and column.
Value parse(std::string_view text);
// The same for a file; the error begins with the path.
Value parse_file(const std::string& path);

// Builds a document from left to right; commas and escapes are the writer's business.
class Writer {
 public:
  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }
  Writer& key(std::string_view name);
  Writer& value(std::string_view text);
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(bool yes);
  Writer& value(double number);  // null when not finite: JSON has no other word for it
  Writer& value(int64_t number);
  Writer& value(uint64_t number);
  Writer& value(int number) { return value(static_cast<int64_t>(number)); }
  Writer& value(uint32_t number) { return value(static_cast<uint64_t>(number)); }
  template <class T>
  Writer& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  std::string take() { return std::move(out_); }

 private:
  Writer& open(char bracket);
  Writer& close(char bracket);
  void separate();
  void quote(std::string_view text);

  std::string out_;
  bool first_ = true;  // nothing stands before the next element of this container
};

}  // namespace vgpu::json
