// Texts as somebody has them in memory, and what their code points are. bayespa.reference.text is the twin.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace bayespa {

enum class TextForm : uint8_t { one_byte, two_bytes, four_bytes, utf8 };  // of a code point

// A text in the memory of somebody else, who has checked that UTF-8 is what it says.
struct TextView {
  const void* data;
  int64_t length;  // in units: bytes, or code points of 2 or 4 bytes
  TextForm form;
};

bool is_ascii(const TextView& text);

// Returns the first byte that is not UTF-8 as Python decodes it, or -1: no surrogates, no overlong forms.
int64_t utf8_error(const uint8_t* bytes, int64_t length);

// Writes a code point in UTF-8, and returns the end.
inline char* append_utf8(char* out, uint32_t c) {
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xc0 | c >> 6);
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *out++ = static_cast<char>(0xe0 | c >> 12);
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  } else {
    *out++ = static_cast<char>(0xf0 | c >> 18);
    *out++ = static_cast<char>(0x80 | (c >> 12 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  }
  return out;
}

// What each code point is, and its lower case.
class Characters {
 public:
  static constexpr int32_t n_code_points = 0x110000;
  // The lowest bits of a property; above them stands, signed, what to add for the lower case.
  static constexpr int32_t word = 1, lower_is_word = 2, special = 4, cased = 8, ignorable = 16, shift = 8;
  struct Lower {
    uint32_t code_point;
    std::array<uint32_t, 3> lower;  // 0: no more
  };

  // Takes a property for each code point, and the lower cases of those that are `special`: of several code points. The
  // capital sigma is special without such: its lower case depends on what stands around it.
  Characters(const int32_t* properties, std::vector<Lower> several);

  int32_t of(uint32_t code_point) const {
    return code_point < n_code_points ? pages_[page_of_[code_point >> 8] * 256 + (code_point & 255)] : 0;
  }
  const std::array<uint32_t, 3>& several(uint32_t code_point) const;

 private:
  std::vector<uint16_t> page_of_;
  std::vector<int32_t> pages_;  // each once: most are alike
  std::vector<Lower> several_;
};

}  // namespace bayespa
