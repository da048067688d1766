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

#include "characters.h"
#include "run_filter.h"
#include "word_table.h"

namespace bayespa {

struct TextRules {
  int64_t max_words, max_runs, max_candidates;  // of max_words columns up to max_runs have runs of several words
  uint32_t min_count, min_run_count;
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

// Texts whose known words are counted, and whose other words are listed: they can be learned elsewhere.
struct SiftedTexts {
  TextCounts known;                 // of the columns that there were
  std::vector<int64_t> other_ends;  // row i has the others, in their order, from other_ends[i - 1] to other_ends[i]
  std::vector<int64_t> text_ends;   // other j is texts from text_ends[j - 1] to text_ends[j]
  std::vector<char> texts;          // with WordTable::padding behind
};

// A row of sifted texts.
struct SiftedRow {
  const int32_t *columns, *counts;
  size_t n_columns;
  const char* texts;
  const int64_t* text_ends;
  size_t first_other, end_other;
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

  // Before anything is learned: words of further columns, and words without one.
  void load(const Strings& words, const Strings& candidates, const std::vector<uint32_t>& counts);

  // Texts of more than ASCII need to know characters.
  void know(std::shared_ptr<const Characters> characters);
  bool knows_characters() const;

  TextCounts learn(const std::vector<TextView>& texts, int n_threads);
  TextCounts transform(const std::vector<TextView>& texts, int n_threads) const;

  // What `learn` does, in two parts: the first may be done by another vocabulary that has the first of the columns.
  SiftedTexts sift(const std::vector<TextView>& texts) const;
  TextCounts learn_sifted(const std::vector<SiftedRow>& rows);

  int64_t n_words() const;  // with runs
  int64_t n_runs() const;
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
  void tidy();
  bool is_run(const std::string_view& word) const;
  uint64_t hash_of_run(const std::string_view& run) const;
  void add_column(uint32_t id, bool run);
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
  int64_t n_runs_ = 0;                // of the columns
  RunFilter with_column_;             // which runs may have one
  uint64_t clock_ = 0;
  uint32_t n_stamps_ = 0;
  int64_t n_returns_ = 0;
  bool some_are_gone_ = false;
  std::vector<Journal> journals_;

  mutable Pool<Row> rows_;
  mutable Pool<std::vector<Shard>> shards_;
};

}  // namespace bayespa
