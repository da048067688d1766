#include "characters.h"

#include <map>
#include <stdexcept>
#include <utility>

namespace bayespa {

bool is_ascii(const TextView& text) {
  const auto none_above = [&](const auto* units) {
    uint32_t any = 0;
    for (int64_t i = 0; i < text.length; ++i) any |= units[i];
    return any < 0x80;
  };
  if (text.form == TextForm::two_bytes) return none_above(static_cast<const uint16_t*>(text.data));
  if (text.form == TextForm::four_bytes) return none_above(static_cast<const uint32_t*>(text.data));
  return none_above(static_cast<const uint8_t*>(text.data));
}

int64_t utf8_error(const uint8_t* bytes, int64_t length) {
  for (int64_t at = 0; at < length;) {
    const uint32_t first = bytes[at];
    if (first < 0x80) {
      ++at;
      continue;
    }
    // The second byte has bounds of its own: against overlong forms, surrogates, and what is beyond U+10FFFF.
    uint32_t low = 0x80, high = 0xbf;
    int n_more = 0;
    if (first >= 0xc2 && first <= 0xdf) {
      n_more = 1;
    } else if (first >= 0xe0 && first <= 0xef) {
      n_more = 2;
      if (first == 0xe0) low = 0xa0;
      if (first == 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
      n_more = 3;
      if (first == 0xf0) low = 0x90;
      if (first == 0xf4) high = 0x8f;
    } else {
      return at;
    }
    for (int i = 1; i <= n_more; ++i) {
      if (at + i >= length || bytes[at + i] < low || bytes[at + i] > high) return at;
      low = 0x80, high = 0xbf;
    }
    at += n_more + 1;
  }
  return -1;
}

Characters::Characters(const int32_t* properties, std::vector<Lower> several)
    : page_of_(n_code_points / 256), several_(std::move(several)) {
  std::map<std::vector<int32_t>, uint16_t> known;
  for (size_t page = 0; page < page_of_.size(); ++page) {
    std::vector<int32_t> content(properties + 256 * page, properties + 256 * (page + 1));
    const auto [place, is_new] = known.try_emplace(std::move(content), static_cast<uint16_t>(known.size()));
    page_of_[page] = place->second;
    if (is_new) pages_.insert(pages_.end(), place->first.begin(), place->first.end());
  }
}

const std::array<uint32_t, 3>& Characters::several(uint32_t code_point) const {
  for (const Lower& one : several_) {
    if (one.code_point == code_point) return one.lower;
  }
  throw std::logic_error("a special character without a lower case");
}

}  // namespace bayespa
