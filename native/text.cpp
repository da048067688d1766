#include "text.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "parallel.h"

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

char* append_utf8(char* out, uint32_t c) {
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

uint64_t load64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  return value;
}

// 16 bytes from place 16 - n have n ones, then zeros: they keep the first n bytes, whatever the order of bytes.
constexpr char keep_first[33] =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

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

// The table of words.

WordTable::Key WordTable::key(const char* text, uint32_t length) const {
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

uint32_t WordTable::find(const Key& key) const {
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

// Counting.

// What a thread needs to count the words of a document: how often each column occurs, and which do, as bits of bits,
// so that they come out in order without being sorted.
struct TextVocabulary::Row {
  std::vector<int32_t> counts;
  std::vector<uint64_t> some, groups;  // bit c of `some`: column c; bit g of `groups`: word g of `some`

  void make_room(size_t n_columns) {
    if (counts.size() >= n_columns) return;
    n_columns = (2 * n_columns + 4095) / 4096 * 4096;
    counts.resize(n_columns);
    some.resize(n_columns / 64);
    groups.resize(n_columns / 4096);
  }

  void add(int32_t column) {
    if (counts[column]++ == 0) {
      some[column >> 6] |= uint64_t{1} << (column & 63);
      groups[column >> 12] |= uint64_t{1} << (column >> 6 & 63);
    }
  }

  void take_out(std::vector<int32_t>& out_columns, std::vector<int32_t>& out_counts) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (; groups[g] != 0; groups[g] &= groups[g] - 1) {
        uint64_t& bits = some[64 * g + __builtin_ctzll(groups[g])];
        const size_t first = 64 * (&bits - some.data());
        for (; bits != 0; bits &= bits - 1) {
          const size_t column = first + __builtin_ctzll(bits);
          out_columns.push_back(static_cast<int32_t>(column));
          out_counts.push_back(counts[column]);
          counts[column] = 0;
        }
      }
    }
  }
};

// Some documents, whose words one thread looks up.
struct TextVocabulary::Shard {
  struct Unknown {
    uint32_t id;  // of a candidate, or WordTable::none
    uint32_t length;
    size_t offset;  // of its text
    int32_t column;  // once it was met
  };

  size_t begin, end;
  std::vector<int32_t> tokens;  // columns, and -1 - i for an unknown word i
  std::vector<size_t> token_ends;
  std::vector<Unknown> unknown;
  std::vector<char> texts;  // of unknown words that are no candidates
  TextCounts counts;

  void start(size_t first, size_t last) {
    begin = first;
    end = last;
    tokens.clear();
    token_ends.clear();
    unknown.clear();
    texts.clear();
    counts.ends.clear();
    counts.columns.clear();
    counts.counts.clear();
  }
};

// Takes the words of a shard's documents.
class TextVocabulary::Reading {
 public:
  Reading(const TextVocabulary& vocabulary, Shard& shard, bool learns)
      : table_(vocabulary.table_), n_grams_(vocabulary.rules_.n_grams), shard_(shard), learns_(learns) {}

  void operator()(const char* text, uint32_t length) {
    const WordTable::Key key = table_.key(text, length);
    const uint32_t id = table_.find(key);
    if (n_grams_ == 1) return look_up(key, id);
    if (id != WordTable::none && table_[id].column == WordTable::left_out) return;
    look_up(key, id);
    add_to_runs(text, length);
  }

  void end_document() {
    shard_.token_ends.push_back(shard_.tokens.size());
    starts_.clear();
    run_end_ = 0;
  }

 private:
  void look_up(const WordTable::Key& key, uint32_t id) {
    const int32_t column = id == WordTable::none ? WordTable::candidate : table_[id].column;
    if (column >= 0) {
      shard_.tokens.push_back(column);
    } else if (learns_ && column == WordTable::candidate) {
      if (shard_.unknown.size() >= INT32_MAX) throw std::length_error("a text has too many new words");
      shard_.tokens.push_back(-1 - static_cast<int32_t>(shard_.unknown.size()));
      shard_.unknown.push_back({id, key.length, shard_.texts.size(), -1});
      if (id == WordTable::none) shard_.texts.insert(shard_.texts.end(), key.text, key.text + key.length);
    }
  }

  // The last words stand one behind the other with spaces between, so that a run of them is one piece.
  void add_to_runs(const char* text, uint32_t length) {
    if (starts_.size() >= 64) {
      const size_t first = starts_[starts_.size() - (n_grams_ - 1)];
      std::memmove(run_.data(), run_.data() + first, run_end_ - first);
      starts_.erase(starts_.begin(), starts_.end() - (n_grams_ - 1));
      for (size_t& start : starts_) start -= first;
      run_end_ -= first;
    }
    const size_t needed = run_end_ + length + 1 + WordTable::padding;
    if (run_.size() < needed) run_.resize(2 * needed);
    starts_.push_back(run_end_);
    std::memcpy(run_.data() + run_end_, text, length);
    run_end_ += length;
    for (size_t n = 2; n <= static_cast<size_t>(n_grams_) && n <= starts_.size(); ++n) {
      const size_t start = starts_[starts_.size() - n];
      const WordTable::Key key = table_.key(run_.data() + start, static_cast<uint32_t>(run_end_ - start));
      look_up(key, table_.find(key));
    }
    run_[run_end_++] = ' ';
  }

  const WordTable& table_;
  const int n_grams_;
  Shard& shard_;
  const bool learns_;
  std::vector<char> run_;
  std::vector<size_t> starts_;
  size_t run_end_ = 0;
};

TextCounts TextVocabulary::count(const std::vector<TextView>& texts, int n_threads, TextVocabulary* learner) const {
  // New words are pending until a block is over. So the first blocks, in which many are new, are small.
  constexpr int64_t shard_size = 1 << 16, largest_block = 1 << 22, few_words = 10'000;
  int64_t block_size = learner != nullptr && n_words() < few_words ? shard_size : largest_block;
  TextCounts all = {{}, {}, {}, 0};
  all.ends.reserve(texts.size());
  std::unique_ptr<std::vector<Shard>> workspace = shards_.take();
  std::vector<Shard>& shards = *workspace;
  for (size_t begin = 0; begin < texts.size();) {
    size_t n_shards = 0;
    int64_t size = 0;
    for (size_t end = begin; end < texts.size() && size < block_size; begin = end) {
      int64_t own = 0;
      for (; end < texts.size() && own < shard_size; ++end) own += texts[end].length + 1;
      if (n_shards == shards.size()) shards.emplace_back();
      shards[n_shards++].start(begin, end);
      size += own;
    }
    block_size = std::min(2 * block_size, largest_block);
    {
      const std::shared_lock<std::shared_mutex> lock(state_);
      const int64_t n_words = static_cast<int64_t>(of_column_.size());
      all.n_words = std::max(all.n_words, n_words);  // somebody may take words back meanwhile
      const bool learns = learner != nullptr && n_words < rules_.max_words;
      parallel_for(static_cast<int>(n_shards), n_threads, [&](int i) {
        Shard& shard = shards[i];
        Reading reading(*this, shard, learns);
        for (size_t row = shard.begin; row < shard.end; ++row) {
          for_each_word(texts[row], ascii_, characters_.get(), rules_, reading);
          reading.end_document();
        }
      });
    }
    if (learner != nullptr) {
      const std::unique_lock<std::shared_mutex> lock(state_);
      learner->meet_all(shards.data(), shards.data() + n_shards);
      all.n_words = static_cast<int64_t>(of_column_.size());
    }
    parallel_for(static_cast<int>(n_shards), n_threads, [&](int i) {
      Shard& shard = shards[i];
      std::unique_ptr<Row> row = rows_.take();
      row->make_room(static_cast<size_t>(all.n_words));
      size_t token = 0;
      for (const size_t token_end : shard.token_ends) {
        for (; token < token_end; ++token) {
          const int32_t found = shard.tokens[token];
          const int32_t column = found >= 0 ? found : shard.unknown[-1 - found].column;
          if (column >= 0) row->add(column);
        }
        row->take_out(shard.counts.columns, shard.counts.counts);
        shard.counts.ends.push_back(static_cast<int64_t>(shard.counts.columns.size()));
      }
      rows_.give(std::move(row));
    });
    for (size_t i = 0; i < n_shards; ++i) {
      const Shard& shard = shards[i];
      const int64_t before = static_cast<int64_t>(all.columns.size());
      for (const int64_t end : shard.counts.ends) all.ends.push_back(before + end);
      all.columns.insert(all.columns.end(), shard.counts.columns.begin(), shard.counts.columns.end());
      all.counts.insert(all.counts.end(), shard.counts.counts.begin(), shard.counts.counts.end());
    }
  }
  for (Shard& shard : shards) {
    if (shard.tokens.capacity() + shard.texts.capacity() > 8 * shard_size) shard = Shard();  // a text was very long
  }
  shards_.give(std::move(workspace));
  if (texts.empty()) all.n_words = n_words();
  return all;
}

TextCounts TextVocabulary::transform(const std::vector<TextView>& texts, int n_threads) const {
  return count(texts, n_threads, nullptr);
}

TextCounts TextVocabulary::learn(const std::vector<TextView>& texts, int n_threads) {
  const std::lock_guard<std::mutex> learning(learning_);
  return count(texts, n_threads, this);
}

// The vocabulary.

TextVocabulary::TextVocabulary(const TextRules& rules, const Strings& left_out, uint64_t seed)
    : rules_(rules), ascii_{}, table_(seed) {
  for (int i = 0; i < 128; ++i) {
    const char c = static_cast<char>(i);
    const bool upper = c >= 'A' && c <= 'Z';
    const bool is_word = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (is_word) ascii_[i] = upper && rules.lowercase ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  for (const std::string_view& word : left_out) {
    std::string padded(word);
    padded.append(WordTable::padding, '\0');
    const WordTable::Key key = table_.key(padded.data(), static_cast<uint32_t>(word.size()));
    if (table_.find(key) == WordTable::none) table_[table_.add(key)].column = WordTable::left_out;
  }
  since_.resize(table_.size());
}

TextVocabulary::~TextVocabulary() = default;

void TextVocabulary::load(const Strings& words, const Strings& candidates, const std::vector<uint32_t>& counts) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  if (!of_column_.empty() || n_candidates_ > 0 || candidates.size() != counts.size()) {
    throw std::invalid_argument("words are loaded once, and each candidate has a count");
  }
  std::string padded;
  const auto add = [&](const std::string_view& word) {
    padded.assign(word);
    padded.append(WordTable::padding, '\0');
    const WordTable::Key key = table_.key(padded.data(), static_cast<uint32_t>(word.size()));
    if (table_.find(key) != WordTable::none) throw std::invalid_argument("a word is there twice, or is left out");
    since_.push_back(clock_++);
    return table_.add(key);
  };
  for (const std::string_view& word : words) {
    const uint32_t id = add(word);
    table_[id].column = static_cast<int32_t>(of_column_.size());
    of_column_.push_back(id);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const uint32_t id = add(candidates[i]);
    table_[id].count = counts[i];
    candidates_.push_back(id);
  }
  n_candidates_ = static_cast<int64_t>(candidates.size());
}

void TextVocabulary::know(std::shared_ptr<const Characters> characters) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  characters_ = std::move(characters);
}

bool TextVocabulary::knows_characters() const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  return characters_ != nullptr;
}

void TextVocabulary::meet_all(Shard* begin, Shard* end) {
  for (Shard* one = begin; one != end; ++one) {
    Shard& shard = *one;
    shard.texts.resize(shard.texts.size() + WordTable::padding);
    for (Shard::Unknown& unknown : shard.unknown) {
      WordTable::Key key = {};
      uint32_t id = unknown.id;
      if (id == WordTable::none) {  // perhaps it was met since
        key = table_.key(shard.texts.data() + unknown.offset, unknown.length);
        id = table_.find(key);
      }
      unknown.column = meet(key, id);
    }
  }
  if (candidates_.size() > 2 * static_cast<size_t>(n_candidates_) + 1024) {
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                     [&](uint32_t id) { return table_[id].count == 0; }),
                      candidates_.end());
  }
  if (some_are_gone_) compact();
}

// Returns the column of a word that had none when it was looked up, or -1 if it still has none.
int32_t TextVocabulary::meet(const WordTable::Key& key, uint32_t id) {
  if (id != WordTable::none && table_[id].column >= 0) return table_[id].column;
  if (static_cast<int64_t>(of_column_.size()) == rules_.max_words) return -1;
  const uint32_t count = (id == WordTable::none ? 0 : table_[id].count) + 1;
  const bool admitted = count >= rules_.min_count;
  if (!admitted && count == 1 && n_candidates_ >= rules_.max_candidates) {
    lose_one();
    return -1;
  }
  if (id == WordTable::none) {
    id = table_.add(key);
    since_.push_back(0);
  }
  note(id);
  WordTable::Word& word = table_[id];
  if (admitted) {
    if (word.count > 0) --n_candidates_;
    word.count = 0;
    word.column = static_cast<int32_t>(of_column_.size());
    of_column_.push_back(id);
    return word.column;
  }
  if (count == 1) {
    ++n_candidates_;
    since_[id] = clock_++;
    candidates_.push_back(id);
  }
  word.count = count;
  return -1;
}

// Every candidate loses one occurrence, and those with none left are forgotten (Misra and Gries, 1982).
void TextVocabulary::lose_one() {
  Journal* journal = journals_.empty() ? nullptr : &journals_.back();
  const bool note_all = journal != nullptr && !journal->replaced;
  std::vector<uint32_t> left;
  left.reserve(candidates_.size());
  for (const uint32_t id : candidates_) {
    WordTable::Word& word = table_[id];
    if (word.count == 0) continue;
    if (note_all) journal->replacing.push_back({id, word.count, since_[id]});
    if (--word.count > 0) left.push_back(id);
  }
  if (note_all) journal->replaced = true;
  candidates_.swap(left);
  n_candidates_ = static_cast<int64_t>(candidates_.size());
  some_are_gone_ = true;
}

// Taking back.

// Notes a candidate's count before it changes for the first time.
void TextVocabulary::note(uint32_t id) {
  if (journals_.empty() || journals_.back().replaced || table_[id].stamp == journals_.back().stamp) return;
  table_[id].stamp = journals_.back().stamp;
  journals_.back().notes.push_back({id, table_[id].count, since_[id]});
}

int64_t TextVocabulary::mark() {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  const int64_t number = journals_.empty() ? 0 : journals_.back().number + 1;
  journals_.push_back({number, static_cast<int64_t>(of_column_.size()), ++n_stamps_, false, {}, {}});
  return number;
}

size_t TextVocabulary::find_journal(int64_t mark) const {
  for (size_t i = journals_.size(); i-- > 0;) {
    if (journals_[i].number == mark) return i;
  }
  throw std::out_of_range("the mark is forgotten");
}

void TextVocabulary::forget(int64_t mark) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  size_t kept = journals_.size();
  while (kept > 0 && journals_[kept - 1].number > mark) --kept;
  if (kept > 0) journals_.erase(journals_.begin(), journals_.begin() + static_cast<std::ptrdiff_t>(kept - 1));
}

void TextVocabulary::back_to(int64_t mark) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  const size_t place = find_journal(mark);
  ++n_returns_;
  bool changed = false;
  for (size_t i = journals_.size(); i-- > place;) {
    const Journal& journal = journals_[i];
    changed = changed || journal.replaced || !journal.notes.empty();
    undo(journal);
  }
  journals_.resize(place + 1);
  Journal& journal = journals_.back();
  journal = {journal.number, journal.n_words, ++n_stamps_, false, {}, {}};
  if (!changed) return;
  order_candidates();
  compact();
}

void TextVocabulary::undo(const Journal& journal) {
  for (size_t column = static_cast<size_t>(journal.n_words); column < of_column_.size(); ++column) {
    table_[of_column_[column]].column = WordTable::candidate;
  }
  of_column_.resize(static_cast<size_t>(journal.n_words));
  if (journal.replaced) {
    for (uint32_t id = 0; id < table_.size(); ++id) table_[id].count = 0;
  }
  for (const auto* notes : {&journal.replacing, &journal.notes}) {
    for (const Note& note : *notes) {
      table_[note.id].count = note.count;
      since_[note.id] = note.since;
    }
  }
}

void TextVocabulary::order_candidates() {
  candidates_.clear();
  for (uint32_t id = 0; id < table_.size(); ++id) {
    if (table_[id].count > 0) candidates_.push_back(id);
  }
  std::sort(candidates_.begin(), candidates_.end(), [&](uint32_t a, uint32_t b) { return since_[a] < since_[b]; });
  n_candidates_ = static_cast<int64_t>(candidates_.size());
}

// Gives back the memory of words that are neither candidates nor columns, if there are many.
void TextVocabulary::compact() {
  some_are_gone_ = false;
  std::vector<bool> used(table_.size());
  const auto use = [&](const std::vector<Note>& notes) {
    for (const Note& note : notes) used[note.id] = used[note.id] || note.count > 0;
  };
  for (const Journal& journal : journals_) {
    use(journal.notes);
    use(journal.replacing);
  }
  size_t n_used = 0;
  for (uint32_t id = 0; id < table_.size(); ++id) {
    used[id] = used[id] || table_[id].count > 0 || table_[id].column != WordTable::candidate;
    n_used += used[id];
  }
  if (table_.size() < 4096 || 2 * n_used > table_.size()) return;
  WordTable table = table_.empty();
  std::vector<uint64_t> since;
  std::vector<uint32_t> moved(table_.size(), WordTable::none);
  std::string padded;
  for (uint32_t id = 0; id < table_.size(); ++id) {
    if (!used[id]) continue;
    const std::string_view text = table_.text(id);
    padded.assign(text);
    padded.append(WordTable::padding, '\0');
    moved[id] = table.add(table.key(padded.data(), static_cast<uint32_t>(text.size())));
    table[moved[id]].column = table_[id].column;
    table[moved[id]].count = table_[id].count;
    table[moved[id]].stamp = table_[id].stamp;
    since.push_back(since_[id]);
  }
  for (Journal& journal : journals_) {
    for (auto* notes : {&journal.notes, &journal.replacing}) {
      notes->erase(std::remove_if(notes->begin(), notes->end(),
                                  [&](const Note& note) { return moved[note.id] == WordTable::none; }),
                   notes->end());
      for (Note& note : *notes) note.id = moved[note.id];
    }
  }
  for (uint32_t& id : of_column_) id = moved[id];
  table_ = std::move(table);
  since_ = std::move(since);
  order_candidates();
}

// Looking at it.

int64_t TextVocabulary::n_words() const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  return static_cast<int64_t>(of_column_.size());
}

int64_t TextVocabulary::n_returns() const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  return n_returns_;
}

std::vector<std::string> TextVocabulary::words(int64_t begin, int64_t end) const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  end = std::min(end, static_cast<int64_t>(of_column_.size()));
  std::vector<std::string> found;
  for (int64_t column = begin; column < end; ++column) found.emplace_back(table_.text(of_column_[column]));
  return found;
}

TextVocabulary::Candidates TextVocabulary::candidates() const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  Candidates found = {static_cast<int64_t>(of_column_.size()), {}, {}};
  for (const uint32_t id : candidates_) {
    if (table_[id].count == 0) continue;
    found.texts.emplace_back(table_.text(id));
    found.counts.push_back(table_[id].count);
  }
  return found;
}

TextVocabulary::Candidates TextVocabulary::candidates(int64_t mark) const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  const size_t place = find_journal(mark);
  std::vector<Note> notes(table_.size());
  for (uint32_t id = 0; id < table_.size(); ++id) notes[id] = {id, table_[id].count, since_[id]};
  for (size_t i = journals_.size(); i-- > place;) {
    const Journal& journal = journals_[i];
    if (journal.replaced) {
      for (Note& note : notes) note.count = 0;
    }
    for (const Note& note : journal.replacing) notes[note.id] = note;
    for (const Note& note : journal.notes) notes[note.id] = note;
  }
  notes.erase(std::remove_if(notes.begin(), notes.end(), [](const Note& note) { return note.count == 0; }),
              notes.end());
  std::sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) { return a.since < b.since; });
  Candidates found = {journals_[place].n_words, {}, {}};
  for (const Note& note : notes) {
    found.texts.emplace_back(table_.text(note.id));
    found.counts.push_back(note.count);
  }
  return found;
}

}  // namespace bayespa
