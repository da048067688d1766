// Fields of JSON objects, one in a line, if the line is simple. bayespa.reference.json_lines is the twin.
//
// A line is simple if it is an object of texts, lists of texts, short numbers, true, false and null, in which a
// backslash stands for no half of a surrogate pair. Whatever else there is, Python's json reads, and says what is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bayespa {

struct JsonValue {
  enum class Kind { missing, null, no, yes, integer, fraction, text, texts };
  Kind kind = Kind::missing;
  std::string_view text;       // of a text, or the digits of a number
  size_t begin = 0, end = 0;   // of a list: places in JsonLine::texts
};

class JsonLine {
 public:
  static constexpr size_t longest_number = 15;  // characters: an integer fits, whatever it is

  explicit JsonLine(std::vector<std::string> names) : names_(std::move(names)), values_(names_.size()) {}

  // Reads a line of UTF-8; returns whether it is simple and has all fields. What was read refers to the line.
  bool read(std::string_view line);

  const std::vector<JsonValue>& values() const { return values_; }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  bool read_object();
  bool read_value(JsonValue* value);  // nullptr: it is passed over
  bool read_list(JsonValue* value);
  bool read_number(JsonValue* value);
  bool read_text(std::string_view* text);
  bool read_escape();
  bool read_word(std::string_view word);
  bool take(char c);
  void pass_space();

  const std::vector<std::string> names_;
  std::vector<JsonValue> values_;
  std::vector<std::string_view> texts_;
  std::string plain_;  // texts that had a backslash
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace bayespa
