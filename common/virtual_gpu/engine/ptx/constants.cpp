#include "constants.h"

namespace vgpu::ptx {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses and signs: deeper input is refused, not recursed into

struct BinaryOperator {
  char symbol;  // '<' stands for <<, '>' for >>
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {'|', 1}, {'^', 2}, {'&', 3}, {'<', 4}, {'>', 4}, {'+', 5}, {'-', 5}, {'*', 6}, {'/', 6},
};

const BinaryOperator* binary_operator_at(const TokenStream& tokens) {
  const Token& token = tokens.peek();
  if (token.kind != TokenKind::kPunctuation) return nullptr;
  const bool is_angle = token.punctuation == '<' || token.punctuation == '>';
  if (is_angle && !tokens.peek_second().is(token.punctuation)) return nullptr;
  for (const BinaryOperator& op : kBinaryOperators) {
    if (op.symbol == token.punctuation) return &op;
  }
  return nullptr;
}

Constant make_integer(uint64_t value, bool is_unsigned) {
  return {Constant::Kind::kInt, is_unsigned, value};
}

uint64_t divide(const Constant& a, const Constant& b, bool is_unsigned, int line) {
  if (b.value == 0) throw ParseError(line, "division by zero in a constant expression");
  if (is_unsigned) return a.value / b.value;
  if (b.value == UINT64_MAX) return -a.value;  // INT64_MIN / -1 overflows; wrap as the hardware does
  return static_cast<uint64_t>(static_cast<int64_t>(a.value) / static_cast<int64_t>(b.value));
}

uint64_t shift_right(const Constant& a, uint64_t count) {
  if (a.is_unsigned) return count > 63 ? 0 : a.value >> count;
  return static_cast<uint64_t>(static_cast<int64_t>(a.value) >> (count > 63 ? 63 : count));
}

Constant apply(char symbol, const Constant& a, const Constant& b, int line) {
  if (a.kind != Constant::Kind::kInt || b.kind != Constant::Kind::kInt) {
    throw ParseError(line, "arithmetic on floating-point constants is not supported: write the result");
  }
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  switch (symbol) {
    case '+':
      return make_integer(a.value + b.value, is_unsigned);
    case '-':
      return make_integer(a.value - b.value, is_unsigned);
    case '*':
      return make_integer(a.value * b.value, is_unsigned);
    case '/':
      return make_integer(divide(a, b, is_unsigned, line), is_unsigned);
    case '&':
      return make_integer(a.value & b.value, is_unsigned);
    case '^':
      return make_integer(a.value ^ b.value, is_unsigned);
    case '|':
      return make_integer(a.value | b.value, is_unsigned);
    case '<':
      return make_integer(b.value > 63 ? 0 : a.value << b.value, a.is_unsigned);
    default:
      return make_integer(shift_right(a, b.value), a.is_unsigned);
  }
}

Constant negate(const Constant& operand) {
  Constant result = operand;
  switch (operand.kind) {
    case Constant::Kind::kInt:
      result.value = -operand.value;
      break;
    case Constant::Kind::kFloat32:
      result.value ^= uint64_t{1} << 31;
      break;
    case Constant::Kind::kFloat64:
      result.value ^= uint64_t{1} << 63;
      break;
  }
  return result;
}

Constant parse_binary(TokenStream& tokens, int lowest_precedence, int depth);

Constant parse_unary(TokenStream& tokens, int depth) {
  if (depth > kMaxDepth) {
    throw ParseError(tokens.line(),
                     "constant expression nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  const Token& token = tokens.peek();
  switch (token.kind) {
    case TokenKind::kInteger: {
      const Token number = tokens.take();
      return make_integer(number.value, number.is_unsigned);
    }
    case TokenKind::kFloat32:
      return {Constant::Kind::kFloat32, false, tokens.take().value};
    case TokenKind::kFloat64:
      return {Constant::Kind::kFloat64, false, tokens.take().value};
    case TokenKind::kWord:
      if (token.text != "WARP_SZ") break;
      tokens.take();
      return make_integer(32, false);
    case TokenKind::kPunctuation:
      if (tokens.accept('(')) {
        const Constant inner = parse_binary(tokens, 1, depth + 1);
        tokens.expect(')', "after the constant expression");
        return inner;
      }
      if (tokens.accept('-')) return negate(parse_unary(tokens, depth + 1));
      if (tokens.accept('+')) return parse_unary(tokens, depth + 1);
      if (token.is('~') || token.is('!')) {
        const Token sign = tokens.take();
        const Constant operand = parse_unary(tokens, depth + 1);
        if (operand.kind != Constant::Kind::kInt) {
          throw ParseError(sign.line, "expected an integer after " + in_quotes(sign.text));
        }
        return make_integer(sign.is('~') ? ~operand.value : operand.value == 0, operand.is_unsigned);
      }
      break;
    default:
      break;
  }
  tokens.fail_expected("a constant");
}

Constant parse_binary(TokenStream& tokens, int lowest_precedence, int depth) {
  Constant left = parse_unary(tokens, depth);
  while (const BinaryOperator* op = binary_operator_at(tokens)) {
    if (op->precedence < lowest_precedence) break;
    const int line = tokens.take().line;
    if (op->symbol == '<' || op->symbol == '>') tokens.take();
    const Constant right = parse_binary(tokens, op->precedence + 1, depth + 1);
    left = apply(op->symbol, left, right, line);
  }
  return left;
}

}  // namespace

bool starts_constant(const TokenStream& tokens) {
  const Token& token = tokens.peek();
  switch (token.kind) {
    case TokenKind::kInteger:
    case TokenKind::kFloat32:
    case TokenKind::kFloat64:
      return true;
    case TokenKind::kPunctuation:
      return token.is('-') || token.is('+') || token.is('~') || token.is('(');
    case TokenKind::kWord: {
      if (token.text != "WARP_SZ") return false;
      const Token& next = tokens.peek_second();
      return next.kind == TokenKind::kPunctuation &&
             std::string_view("+-*/&|^<>").find(next.punctuation) != std::string_view::npos;
    }
    default:
      return false;
  }
}

Constant parse_constant(TokenStream& tokens) {
  return parse_binary(tokens, 1, 0);
}

uint64_t parse_integer_constant(TokenStream& tokens, const char* what) {
  const int line = tokens.line();
  const Constant constant = parse_constant(tokens);
  if (constant.kind != Constant::Kind::kInt) {
    throw ParseError(line,
                     std::string("expected an integer for ") + what + ", found a floating-point constant");
  }
  return constant.value;
}

}  // namespace vgpu::ptx
