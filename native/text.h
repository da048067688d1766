// Texts to counts: case, words, runs of words, and a vocabulary that grows. bayespa.reference.text is the twin.
//
// A text is cut into runs of word characters, in lower case if asked for. What a word character is, and what its lower
// case is, a table says that the caller gives: languages know different versions of Unicode.
//
// A vocabulary depends on the order of the words alone. Threads look up words that are known; those that are not are
// met afterwards, one by one in their order, so any number of threads gives the same columns.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
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

struct TextRules {
  int64_t max_words, max_candidates;
  uint32_t min_count;
  int min_length;
  int n_grams;  // runs of up to this many words
  bool lowercase;
};

// Rows of counts: row i has the columns, increasing, from ends[i - 1] to ends[i].
struct TextCounts {
  std::vector<int64_t> ends;
  std::vector<int32_t> columns, counts;
  int64_t n_words;  // when they were counted
};

// Words by number, found by a hash with a secret seed: nobody can choose words that collide.
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

  std::array<uint64_t, 2> seed_;
  std::vector<Slot> slots_;
  std::vector<Word> words_;
  std::vector<char> long_texts_;
};

// Workspace that is kept from call to call: memory that is new to a process costs as much as looking up words.
template <class T>
class Pool {
 public:
  std::unique_ptr<T> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> one = std::move(free_.back());
    free_.pop_back();
    return one;
  }

  void give(std::unique_ptr<T> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

class TextVocabulary {
 public:
  using Strings = std::vector<std::string_view>;

  TextVocabulary(const TextRules& rules, const Strings& left_out, uint64_t seed);
  ~TextVocabulary();

  // Before anything is learned: the words of the columns, and words without one.
  void load(const Strings& words, const Strings& candidates, const std::vector<uint32_t>& counts);

  // Texts of more than ASCII need to know characters.
  void know(std::shared_ptr<const Characters> characters);
  bool knows_characters() const;

  TextCounts learn(const std::vector<TextView>& texts, int n_threads);
  TextCounts transform(const std::vector<TextView>& texts, int n_threads) const;

  int64_t n_words() const;
  std::vector<std::string> words(int64_t begin, int64_t end) const;

  // To take back what was learned. A mark that is forgotten throws std::out_of_range.
  int64_t mark();
  void forget(int64_t mark);
  void back_to(int64_t mark);
  int64_t n_returns() const;  // calls of back_to: as long as there is none, words keep their columns

  struct Candidates {
    int64_t n_words;
    std::vector<std::string> texts;  // in the order in which they became candidates
    std::vector<uint32_t> counts;
  };
  Candidates candidates() const;
  Candidates candidates(int64_t mark) const;

 private:
  struct Note {
    uint32_t id, count;  // as it was; 0: no candidate
    uint64_t since;
  };
  struct Journal {
    int64_t number, n_words;
    uint32_t stamp;
    bool replaced = false;             // all candidates have lost one
    std::vector<Note> notes, replacing;  // what changed before that, and all candidates then
  };
  struct Shard;
  struct Row;
  class Reading;

  TextCounts count(const std::vector<TextView>& texts, int n_threads, TextVocabulary* learner) const;
  void meet_all(Shard* begin, Shard* end);
  int32_t meet(const WordTable::Key& key, uint32_t id);
  void note(uint32_t id);
  void lose_one();
  size_t find_journal(int64_t mark) const;
  void undo(const Journal& journal);
  void order_candidates();
  void compact();

  const TextRules rules_;
  std::array<char, 128> ascii_;  // lower case of a word character, 0 of others
  std::shared_ptr<const Characters> characters_;

  std::mutex learning_;               // one learns at a time
  mutable std::shared_mutex state_;   // what follows: read by many, changed by who learns
  WordTable table_;
  std::vector<uint64_t> since_;       // when a word became a candidate
  std::vector<uint32_t> of_column_;   // number of its word
  std::vector<uint32_t> candidates_;  // in order; those that have a column by now are passed over
  int64_t n_candidates_ = 0;
  uint64_t clock_ = 0;
  uint32_t n_stamps_ = 0;
  int64_t n_returns_ = 0;
  bool some_are_gone_ = false;
  std::vector<Journal> journals_;

  mutable Pool<Row> rows_;
  mutable Pool<std::vector<Shard>> shards_;
};

}  // namespace bayespa
