// Words by number, found by a hash with a secret seed: nobody can choose words that collide.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace bayespa {

class WordTable {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  struct Key {
    const char* text;  // with `padding` readable bytes behind its first
    uint32_t length, tag;
    uint64_t head[2];  // the first bytes, padded with zeros
  };
  struct Word {
    union {
      uint64_t head[2];  // a short word
      uint64_t offset;   // where a longer one begins
    };
    uint32_t length;
    int32_t column;  // or one of those below
    uint32_t count;  // of a candidate
    uint32_t stamp;  // the journal that has noted it
  };
  static constexpr int32_t candidate = -1, left_out = -2;
  static constexpr uint32_t padding = 16;

  explicit WordTable(uint64_t seed) : seed_{seed, seed * 0x9e3779b97f4a7c15u + 1}, slots_(1024, Slot{0, none}) {}

  Key key(const char* text, uint32_t length) const;
  uint32_t find(const Key& key) const;
  // To find many keys, do these for all of them before: what `find` reads is all over the memory.
  void fetch_slot(const Key& key) const;
  void fetch_word(const Key& key) const;
  void fetch_text(const Key& key) const;
  uint32_t add(const Key& key);  // which is not in it
  std::string_view text(uint32_t id) const;
  uint32_t size() const { return static_cast<uint32_t>(words_.size()); }
  Word& operator[](uint32_t id) { return words_[id]; }
  const Word& operator[](uint32_t id) const { return words_[id]; }
  WordTable empty() const;

 private:
  struct Slot {
    uint32_t tag, id;
  };
  void put(uint32_t tag, uint32_t id);
  Slot slot_of(const Key& key) const { return slots_[key.tag & (slots_.size() - 1)]; }  // usually

  std::array<uint64_t, 2> seed_;
  std::vector<Slot> slots_;
  std::vector<Word> words_;
  std::vector<char> long_texts_;
};

// What is done for every word of a text stands here, to be inlined.

inline uint64_t load64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  return value;
}

// 16 bytes from place 16 - n have n ones, then zeros: they keep the first n bytes, whatever the order of bytes.
constexpr char keep_first[33] =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

inline uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline WordTable::Key WordTable::key(const char* text, uint32_t length) const {
  const char* mask = keep_first + 16 - std::min(length, 16u);
  Key key = {text, length, 0, {load64(text) & load64(mask), load64(text + 8) & load64(mask + 8)}};
  uint64_t hash = fold(key.head[0] ^ seed_[0], key.head[1] ^ seed_[1] ^ length);
  if (length > 16) {
    uint32_t at = 16;
    for (; at + 8 <= length; at += 8) hash = fold(hash ^ seed_[0], load64(text + at) ^ seed_[1]);
    if (at < length) {
      uint64_t rest = 0;
      std::memcpy(&rest, text + at, length - at);
      hash = fold(hash ^ seed_[0], rest ^ seed_[1]);
    }
  }
  key.tag = static_cast<uint32_t>(hash >> 32 ^ hash);
  return key;
}

inline uint32_t WordTable::find(const Key& key) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = key.tag & mask;; at = (at + 1) & mask) {
    const Slot slot = slots_[at];
    if (slot.id == none) return none;
    if (slot.tag != key.tag) continue;
    const Word& word = words_[slot.id];
    if (word.length != key.length) continue;
    const bool same = key.length <= 16 ? word.head[0] == key.head[0] && word.head[1] == key.head[1]
                                       : std::memcmp(&long_texts_[word.offset], key.text, key.length) == 0;
    if (same) return slot.id;
  }
}

inline void WordTable::fetch_slot(const Key& key) const {
  __builtin_prefetch(slots_.data() + (key.tag & (slots_.size() - 1)));
}

inline void WordTable::fetch_word(const Key& key) const {
  const Slot slot = slot_of(key);
  if (slot.tag == key.tag && slot.id != none) __builtin_prefetch(words_.data() + slot.id);
}

inline void WordTable::fetch_text(const Key& key) const {
  const Slot slot = slot_of(key);
  if (key.length > 16 && slot.tag == key.tag && slot.id != none && words_[slot.id].length > 16) {
    __builtin_prefetch(long_texts_.data() + words_[slot.id].offset);
  }
}

}  // namespace bayespa
