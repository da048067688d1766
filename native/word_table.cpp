#include "word_table.h"

#include <stdexcept>

namespace bayespa {

uint32_t WordTable::add(const Key& key) {
  if (2 * (words_.size() + 1) > slots_.size()) {
    std::vector<Slot> before(2 * slots_.size(), Slot{0, none});
    slots_.swap(before);
    for (const Slot slot : before) {
      if (slot.id != none) put(slot.tag, slot.id);
    }
  }
  const uint32_t id = size();
  if (id == none) throw std::length_error("there are too many words");
  Word word = {};
  if (key.length <= 16) {
    word.head[0] = key.head[0];
    word.head[1] = key.head[1];
  } else {
    word.offset = long_texts_.size();
    long_texts_.insert(long_texts_.end(), key.text, key.text + key.length);
  }
  word.length = key.length;
  word.column = candidate;
  words_.push_back(word);
  put(key.tag, id);
  return id;
}

void WordTable::put(uint32_t tag, uint32_t id) {
  const size_t mask = slots_.size() - 1;
  size_t at = tag & mask;
  while (slots_[at].id != none) at = (at + 1) & mask;
  slots_[at] = {tag, id};
}

std::string_view WordTable::text(uint32_t id) const {
  const Word& word = words_[id];
  const char* begin = word.length <= 16 ? reinterpret_cast<const char*>(word.head) : &long_texts_[word.offset];
  return {begin, word.length};
}

WordTable WordTable::empty() const {
  WordTable other(seed_[0]);
  return other;
}

}  // namespace bayespa
