// A reader of simple JSON objects. It stops at the first byte that it does not expect.
#include "json_lines.h"

#include <algorithm>
#include <cstdint>

#include "characters.h"

namespace bayespa {
namespace {

bool ends_piece(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// Returns the first quote, backslash or control character, or the end.
const char* end_of_piece(const char* at, const char* end) {
  for (; end - at >= 32; at += 32) {
    unsigned found = 0;
    for (int i = 0; i < 32; ++i) found |= ends_piece(at[i]);
    if (found != 0) break;
  }
  return std::find_if(at, end, ends_piece);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

bool JsonLine::read(std::string_view line) {
  at_ = line.data();
  end_ = at_ + line.size();
  std::fill(values_.begin(), values_.end(), JsonValue());
  texts_.clear();
  plain_.clear();
  plain_.reserve(line.size());  // a text is never longer than what stands for it, so its bytes stay where they are
  pass_space();
  if (!read_object()) return false;
  pass_space();
  return at_ == end_ && std::none_of(values_.begin(), values_.end(), [](const JsonValue& value) {
           return value.kind == JsonValue::Kind::missing;
         });
}

bool JsonLine::read_object() {
  if (!take('{')) return false;
  pass_space();
  if (take('}')) return true;
  for (;;) {
    std::string_view name;
    if (!read_text(&name)) return false;
    pass_space();
    if (!take(':')) return false;
    pass_space();
    const auto field = std::find(names_.begin(), names_.end(), name);
    if (!read_value(field == names_.end() ? nullptr : &values_[static_cast<size_t>(field - names_.begin())])) {
      return false;
    }
    pass_space();
    if (take('}')) return true;
    if (!take(',')) return false;
    pass_space();
  }
}

bool JsonLine::read_value(JsonValue* value) {
  using Kind = JsonValue::Kind;
  const auto is = [value](Kind kind) {
    if (value != nullptr) value->kind = kind;
    return true;
  };
  if (at_ == end_) return false;
  switch (*at_) {
    case '"': return is(Kind::text) && read_text(value == nullptr ? nullptr : &value->text);
    case '[': return is(Kind::texts) && read_list(value);
    case 'n': return is(Kind::null) && read_word("null");
    case 'f': return is(Kind::no) && read_word("false");
    case 't': return is(Kind::yes) && read_word("true");
    default: return read_number(value);
  }
}

bool JsonLine::read_list(JsonValue* value) {
  const size_t begin = texts_.size();
  take('[');
  pass_space();
  if (!take(']')) {
    for (;;) {
      std::string_view text;
      if (!read_text(value == nullptr ? nullptr : &text)) return false;
      if (value != nullptr) texts_.push_back(text);
      pass_space();
      if (take(']')) break;
      if (!take(',')) return false;
      pass_space();
    }
  }
  if (value != nullptr) {
    value->begin = begin;
    value->end = texts_.size();
  }
  return true;
}

bool JsonLine::read_number(JsonValue* value) {
  const char* begin = at_;
  const auto pass_digits = [this] {
    const char* first = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != first;
  };
  take('-');
  if (!take('0') && !pass_digits()) return false;
  bool whole = true;
  if (take('.')) {
    whole = false;
    if (!pass_digits()) return false;
  }
  if (take('e') || take('E')) {
    whole = false;
    if (!take('+')) take('-');
    if (!pass_digits()) return false;
  }
  const std::string_view digits(begin, static_cast<size_t>(at_ - begin));
  if (value != nullptr) {
    value->kind = whole ? JsonValue::Kind::integer : JsonValue::Kind::fraction;
    value->text = digits;
  }
  return digits.size() <= longest_number;
}

bool JsonLine::read_text(std::string_view* text) {
  if (!take('"')) return false;
  const char* begin = at_;
  at_ = end_of_piece(at_, end_);
  if (take('"')) {
    if (text != nullptr) *text = {begin, static_cast<size_t>(at_ - begin) - 1};
    return true;
  }
  const size_t first = plain_.size();
  for (;;) {
    plain_.append(begin, at_);
    if (take('"')) break;
    if (!take('\\') || !read_escape()) return false;
    begin = at_;
    at_ = end_of_piece(at_, end_);
  }
  if (text != nullptr) *text = std::string_view(plain_).substr(first);
  return true;
}

bool JsonLine::read_escape() {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  if (at_ == end_) return false;
  const char letter = *at_++;
  if (letter != 'u') {
    const size_t place = letters.find(letter);
    if (place == std::string_view::npos) return false;
    plain_.push_back(meanings[place]);
    return true;
  }
  if (end_ - at_ < 4) return false;
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(*at_++);
    if (digit < 0) return false;
    code = 16 * code + static_cast<uint32_t>(digit);
  }
  if (code >= 0xd800 && code < 0xe000) return false;
  char bytes[4];
  plain_.append(bytes, append_utf8(bytes, code));
  return true;
}

bool JsonLine::read_word(std::string_view word) {
  if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

bool JsonLine::take(char c) {
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

void JsonLine::pass_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
}

}  // namespace bayespa
