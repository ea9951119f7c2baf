#include "initialisers.h"

#include <cstring>

#include "constants.h"

namespace vgpu::ptx {
namespace {

constexpr uint64_t kMaxInitialisedBytes = uint64_t{256} << 20;  // of one module

class InitialiserParser {
 public:
  InitialiserParser(TokenStream& tokens, const Declarator& declarator, const ModuleSymbols& symbols,
                    Variable& variable, uint64_t& initialised_bytes)
      : tokens_(tokens),
        dimensions_(declarator.dimensions),
        symbols_(symbols),
        variable_(variable),
        initialised_bytes_(initialised_bytes) {}

  void parse() {
    const int line = tokens_.line();
    if (variable_.type.cls == TypeClass::kFloat && variable_.type.bits == 16) {
      throw ParseError(line, "a variable of type .f16 cannot have an initial value: declare it as .b16");
    }
    if (dimensions_.empty()) {
      parse_element(0);
    } else {
      parse_braces(0, 0, element_stride(0));
    }
    if (variable_.bytes == 0) variable_.bytes = variable_.init.size();
    reserve_up_to(variable_.bytes, line);
    variable_.init.resize(variable_.bytes);
    initialised_bytes_ += variable_.bytes;
  }

 private:
  // Bytes between neighbours along `level`.
  uint64_t element_stride(size_t level) const {
    uint64_t stride = variable_.type.bytes();
    for (size_t inner = level + 1; inner < dimensions_.size(); ++inner) stride *= dimensions_[inner];
    return stride;
  }

  // Recursion is bounded by the number of dimensions, which the declaration limits.
  void parse_braces(size_t level, uint64_t offset, uint64_t stride) {
    tokens_.expect('{', "before the initial values of an array");
    const bool is_innermost = level + 1 == dimensions_.size();
    const uint64_t inner_stride = is_innermost ? 0 : element_stride(level + 1);
    const uint64_t most = dimensions_[level];  // 0: as many as come
    uint64_t count = 0;
    if (!tokens_.peek().is('}')) {
      do {
        if (most != 0 && count == most) {
          throw ParseError(tokens_.line(), "more initial values than the " + std::to_string(most) +
                                               " elements of " + in_quotes(variable_.name));
        }
        if (is_innermost) {
          parse_element(offset);
        } else {
          parse_braces(level + 1, offset, inner_stride);
        }
        offset += stride;
        ++count;
      } while (tokens_.accept(','));
    }
    tokens_.expect('}', "after the initial values");
    if (most == 0) {
      reserve_up_to(offset, tokens_.line());
      variable_.init.resize(offset);
    }
  }

  void parse_element(uint64_t offset) {
    if (tokens_.peek().kind == TokenKind::kWord) {
      parse_address(offset);
      return;
    }
    const int line = tokens_.line();
    if (!starts_constant(tokens_)) tokens_.fail_expected("a constant or the name of a variable or function");
    const Constant constant = parse_constant(tokens_);
    if (tokens_.peek().is('(')) {
      throw ParseError(line, "a masked address such as 0xff(symbol) is not supported as an initial value");
    }
    const uint64_t bits = element_bits(constant, line);
    store(offset, bits, line);
  }

  // symbol, generic(symbol), either with +offset
  void parse_address(uint64_t offset) {
    const int line = tokens_.line();
    Relocation relocation;
    relocation.offset = offset;
    Token symbol = tokens_.take();
    if (symbol.text == "generic" && tokens_.accept('(')) {
      relocation.generic = true;
      symbol = tokens_.expect_word("the name of a variable or function");
      tokens_.expect(')', "after generic(symbol");
    }
    if (find_symbol(symbols_, symbol.text) == nullptr) {
      throw ParseError(
          line, "initial value names " + in_quotes(symbol.text) + ", which is not declared before this line");
    }
    if (variable_.type.bits != 64 || variable_.type.cls == TypeClass::kFloat) {
      throw ParseError(line, "the address of " + in_quotes(symbol.text) +
                                 " needs a 64-bit integer type; narrower addresses are not supported");
    }
    relocation.symbol = symbol.text;
    if (tokens_.accept('+')) {
      relocation.addend = static_cast<int64_t>(parse_integer_constant(tokens_, "the offset of an address"));
    }
    store(offset, 0, line);
    variable_.relocations.push_back(std::move(relocation));
  }

  uint64_t element_bits(const Constant& constant, int line) const {
    const Type& type = variable_.type;
    const bool wants_float = type.cls == TypeClass::kFloat;
    if (constant.kind == Constant::Kind::kInt) {
      if (wants_float) {
        throw ParseError(line, "expected a floating-point initial value (1.0, 0f3F800000), found an integer");
      }
      if (type.bits > 64) throw ParseError(line, "initial values of 128-bit variables are not supported");
      check_integer_fits(constant, line);
      return constant.value;
    }
    const bool takes_float = wants_float || type.cls == TypeClass::kBits;
    if (takes_float && type.bits == 32) return constant_as_float32(constant);
    if (takes_float && type.bits == 64) return constant_as_float64(constant);
    throw ParseError(line, "expected an integer initial value, found a floating-point constant");
  }

  void check_integer_fits(const Constant& constant, int line) const {
    const int bits = variable_.type.bits;
    if (bits == 64) return;
    const auto as_signed = static_cast<int64_t>(constant.value);
    const bool fits_unsigned = constant.value >> bits == 0;
    const bool fits_signed =
        !constant.is_unsigned && as_signed < 0 && as_signed >= -(int64_t{1} << (bits - 1));
    if (!fits_unsigned && !fits_signed) {
      throw ParseError(line,
                       "initial value does not fit in the " + std::to_string(bits) + " bits of an element");
    }
  }

  static uint64_t constant_as_float32(const Constant& constant) {
    if (constant.kind == Constant::Kind::kFloat32) return constant.value;
    double wide;
    std::memcpy(&wide, &constant.value, sizeof wide);
    const float narrow = static_cast<float>(wide);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }

  static uint64_t constant_as_float64(const Constant& constant) {
    if (constant.kind == Constant::Kind::kFloat64) return constant.value;
    const auto narrow_bits = static_cast<uint32_t>(constant.value);
    float narrow;
    std::memcpy(&narrow, &narrow_bits, sizeof narrow);
    const double wide = narrow;
    uint64_t bits;
    std::memcpy(&bits, &wide, sizeof bits);
    return bits;
  }

  void reserve_up_to(uint64_t end, int line) const {
    if (end > kMaxInitialisedBytes - initialised_bytes_) {
      throw ParseError(line, "the initial values of this module exceed " +
                                 std::to_string(kMaxInitialisedBytes >> 20) +
                                 " MiB: copy such data to the device at run time");
    }
  }

  // PTX and the hosts we run on are both little-endian.
  void store(uint64_t offset, uint64_t bits, int line) {
    const uint64_t bytes = variable_.type.bytes();
    reserve_up_to(offset + bytes, line);
    if (variable_.init.size() < offset + bytes) variable_.init.resize(offset + bytes);
    std::memcpy(variable_.init.data() + offset, &bits, bytes);
  }

  TokenStream& tokens_;
  const std::vector<uint64_t>& dimensions_;
  const ModuleSymbols& symbols_;
  Variable& variable_;
  uint64_t& initialised_bytes_;
};

}  // namespace

void parse_initialiser(TokenStream& tokens, const Declarator& declarator, const ModuleSymbols& symbols,
                       Variable& variable, uint64_t& initialised_bytes) {
  InitialiserParser(tokens, declarator, symbols, variable, initialised_bytes).parse();
}

}  // namespace vgpu::ptx
