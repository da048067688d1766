// The words of a text, one by one: runs of word characters, in lower case if asked for. One file reads texts, so all
// of it is its own, to be inlined.
#pragma once

#include <array>
#include <cstdint>

#include "characters.h"
#include "text.h"
#include "word_table.h"

#if defined(__SSE2__)  // every x86-64 has it
#include <emmintrin.h>
#endif

namespace bayespa {
namespace {

constexpr int longest_word = 128;  // code points: what is longer is no word, and would make the memory unbounded
constexpr uint32_t capital_sigma = 0x3a3, small_sigma = 0x3c3, final_sigma = 0x3c2;

// Reading a text: `next` and `before` move over a code point.

template <class Unit>
struct FixedReader {
  const Unit* units;
  int64_t length;

  explicit FixedReader(const TextView& text) : units(static_cast<const Unit*>(text.data)), length(text.length) {}
  uint32_t next(int64_t& at) const { return units[at++]; }
  uint32_t before(int64_t& at) const { return units[--at]; }
};

struct Utf8Reader {
  const uint8_t* units;
  int64_t length;

  explicit Utf8Reader(const TextView& text) : units(static_cast<const uint8_t*>(text.data)), length(text.length) {}

  // It is UTF-8, as was checked. If somebody has changed it since, this is no letter, but stays inside the text.
  uint32_t next(int64_t& at) const {
    const uint32_t first = units[at++];
    if (first < 0x80) return first;
    const int n_more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    uint32_t code_point = first & (0x3f >> n_more);
    for (int i = 0; i < n_more && at < length; ++i) code_point = code_point << 6 | (units[at++] & 0x3f);
    return code_point;
  }

  uint32_t before(int64_t& at) const {
    do --at;
    while (at > 0 && (units[at] & 0xc0) == 0x80);
    int64_t begin = at;
    return next(begin);
  }
};

// Returns the lower case of the capital sigma at `at`: the final one if a letter with case stands before it and none
// behind, where what is ignorable is passed over. Each side is looked through once, whatever the text.
template <class Reader>
uint32_t lower_sigma(const Reader& text, int64_t at, const Characters& characters) {
  int64_t place = at;
  bool cased = false;
  while (place > 0) {
    const int32_t property = characters.of(text.before(place));
    if (property & Characters::ignorable) continue;
    cased = property & Characters::cased;
    break;
  }
  if (!cased) return small_sigma;
  place = at;
  text.next(place);
  while (place < text.length) {
    const int32_t property = characters.of(text.next(place));
    if (property & Characters::ignorable) continue;
    return property & Characters::cased ? small_sigma : final_sigma;
  }
  return final_sigma;
}

// Collects a word, in UTF-8, and hands it over at its end if it is neither too short nor too long.
template <class Take>
class WordBuffer {
 public:
  WordBuffer(int min_length, Take& take) : min_length_(min_length), take_(take) {}

  void add_ascii(char c) {
    if (length_ < longest_word) *end_++ = c;
    ++length_;
  }

  void add(uint32_t code_point) {
    if (length_ < longest_word) end_ = append_utf8(end_, code_point);
    ++length_;
  }

  // Adds the word characters that 16 bytes begin with, which are ASCII; returns how many.
  int add_ascii_run([[maybe_unused]] const uint8_t* bytes, [[maybe_unused]] bool lowercase) {
#if defined(__SSE2__)
    const auto between = [](__m128i c, char low, char high) {  // signed, so bytes above ASCII are below all
      return _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8(low - 1)), _mm_cmplt_epi8(c, _mm_set1_epi8(high + 1)));
    };
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m128i upper = between(c, 'A', 'Z');
    const __m128i letter = _mm_or_si128(upper, between(c, 'a', 'z'));
    const __m128i other = _mm_or_si128(between(c, '0', '9'), _mm_cmpeq_epi8(c, _mm_set1_epi8('_')));
    const unsigned is_word = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(letter, other)));
    const int n = __builtin_ctz(~is_word);  // 16 at most: the bits above are 0
    if (length_ + n <= longest_word) {      // otherwise it is no word, whatever it is
      const __m128i to_lower = _mm_and_si128(upper, _mm_set1_epi8(lowercase ? 'a' - 'A' : 0));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(end_), _mm_or_si128(c, to_lower));
      end_ += n;
    }
    length_ += n;
    return n;
#else
    return 0;
#endif
  }

  void end_word() {
    if (length_ == 0) return;
    if (length_ >= min_length_ && length_ <= longest_word) take_(text_, static_cast<uint32_t>(end_ - text_));
    end_ = text_;
    length_ = 0;
  }

 private:
  const int64_t min_length_;
  Take& take_;
  int64_t length_ = 0;  // code points
  char text_[4 * longest_word + WordTable::padding] = {};
  char* end_ = text_;
};

template <class Reader, class Take>
void for_each_word(const Reader& text, const std::array<char, 128>& ascii, const Characters* characters,
                   const TextRules& rules, Take&& take) {
  WordBuffer<Take> word(rules.min_length, take);
  for (int64_t at = 0; at < text.length;) {
    if constexpr (sizeof(text.units[0]) == 1) {
      while (at + 16 <= text.length) {
        const int n = word.add_ascii_run(text.units + at, rules.lowercase);
        at += n;
        if (n < 16) break;
      }
      if (at == text.length) break;
    }
    const uint32_t unit = text.units[at];
    if (unit < 0x80) {
      ++at;
      const char c = ascii[unit];
      if (c != 0) word.add_ascii(c);
      else word.end_word();
      continue;
    }
    const int64_t begin = at;
    const uint32_t code_point = text.next(at);
    const int32_t property = characters->of(code_point);
    const auto add = [&](uint32_t c, bool is_word) {
      if (is_word) word.add(c);
      else word.end_word();
    };
    if (!rules.lowercase) {
      add(code_point, property & Characters::word);
    } else if (!(property & Characters::special)) {
      add(code_point + static_cast<uint32_t>(property >> Characters::shift), property & Characters::lower_is_word);
    } else if (code_point == capital_sigma) {
      add(lower_sigma(text, begin, *characters), true);
    } else {
      for (const uint32_t c : characters->several(code_point)) {
        if (c != 0) add(c, characters->of(c) & Characters::word);
      }
    }
  }
  word.end_word();
}

template <class Take>
void for_each_word(const TextView& text, const std::array<char, 128>& ascii, const Characters* characters,
                   const TextRules& rules, Take&& take) {
  switch (text.form) {
    case TextForm::one_byte: return for_each_word(FixedReader<uint8_t>(text), ascii, characters, rules, take);
    case TextForm::two_bytes: return for_each_word(FixedReader<uint16_t>(text), ascii, characters, rules, take);
    case TextForm::four_bytes: return for_each_word(FixedReader<uint32_t>(text), ascii, characters, rules, take);
    case TextForm::utf8: return for_each_word(Utf8Reader(text), ascii, characters, rules, take);
  }
}

}  // namespace
}  // namespace bayespa
