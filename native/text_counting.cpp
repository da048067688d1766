// Texts to counts: threads look up words, and one after the other meets those that are new.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "parallel.h"
#include "text.h"
#include "words_of.h"

namespace bayespa {

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

// Takes the words of a shard's documents. They are looked up some at a time, so that the memory is waited for once.
class TextVocabulary::Reading {
 public:
  Reading(const TextVocabulary& vocabulary, Shard& shard, bool learns)
      : table_(vocabulary.table_), with_column_(vocabulary.with_column_), n_grams_(vocabulary.rules_.n_grams),
        shard_(shard), learns_(learns), learns_runs_(learns && vocabulary.n_runs_ < vocabulary.rules_.max_runs) {
    words_.reserve(some);
    runs_.reserve(some * (n_grams_ - 1));
  }

  // The words stand one behind the other with spaces between, so that a run of them is one piece.
  void operator()(const char* text, uint32_t length) {
    if (words_.size() == some) look_up_words();
    const size_t needed = end_ + length + 1 + WordTable::padding;
    if (texts_.size() < needed) texts_.resize(2 * needed);
    words_.push_back({table_.key(text, length), WordTable::none});
    table_.fetch_slot(words_.back().key);
    std::memcpy(texts_.data() + end_, text, length);
    texts_[end_ + length] = ' ';
    end_ += length + 1;
  }

  void end_document() {
    look_up_words();
    words_.clear();
    n_before_ = end_ = 0;
    shard_.token_ends.push_back(shard_.tokens.size());
  }

 private:
  static constexpr size_t some = 64;
  struct Piece {
    WordTable::Key key;
    uint32_t id;       // of a word
    size_t n_words{};  // of a run: as many words stand up to its last one
  };

  void look_up_words() {
    const char* text = texts_.data();
    for (Piece& word : words_) {
      word.key.text = text;
      text += word.key.length + 1;
    }
    const auto first = words_.begin() + static_cast<std::ptrdiff_t>(n_before_);
    for (auto word = first; word != words_.end(); ++word) table_.fetch_word(word->key);
    for (auto word = first; word != words_.end(); ++word) table_.fetch_text(word->key);
    for (auto word = first; word != words_.end(); ++word) word->id = table_.find(word->key);
    if (n_grams_ > 1) look_up_runs();
    auto run = runs_.begin();
    for (size_t i = n_before_; i < words_.size(); ++i) {
      look_up(words_[i].key, words_[i].id, learns_);
      for (; run != runs_.end() && run->n_words == i + 1; ++run) look_up(run->key, table_.find(run->key), learns_runs_);
    }
    keep_last();
  }

  void look_up_runs() {
    leave_out();
    runs_.clear();
    for (size_t end = n_before_ + 1; end <= words_.size(); ++end) {
      const WordTable::Key& last = words_[end - 1].key;
      uint64_t hash = RunFilter::joined(0, last.tag);
      for (size_t n = 2; n <= static_cast<size_t>(n_grams_) && n <= end; ++n) {
        const WordTable::Key& word = words_[end - n].key;
        hash = RunFilter::joined(hash, word.tag);
        if (!learns_runs_ && !with_column_.may_have(hash)) continue;
        const uint32_t length = static_cast<uint32_t>(last.text + last.length - word.text);
        runs_.push_back({table_.key(word.text, length), WordTable::none, end});
        table_.fetch_slot(runs_.back().key);
      }
    }
    for (const Piece& run : runs_) table_.fetch_word(run.key);
    for (const Piece& run : runs_) table_.fetch_text(run.key);
  }

  // Words that are left out are in no run.
  void leave_out() {
    const auto is_left_out = [&](const Piece& word) {
      return word.id != WordTable::none && table_[word.id].column == WordTable::left_out;
    };
    if (std::none_of(words_.begin(), words_.end(), is_left_out)) return;
    words_.erase(std::remove_if(words_.begin(), words_.end(), is_left_out), words_.end());
    char* text = texts_.data();
    for (Piece& word : words_) {
      std::memmove(text, word.key.text, word.key.length);
      text[word.key.length] = ' ';
      word.key.text = text;
      text += word.key.length + 1;
    }
    end_ = static_cast<size_t>(text - texts_.data());
  }

  // The last words, with which runs may begin.
  void keep_last() {
    n_before_ = std::min(words_.size(), static_cast<size_t>(n_grams_ - 1));
    words_.erase(words_.begin(), words_.end() - static_cast<std::ptrdiff_t>(n_before_));
    const size_t begin = words_.empty() ? end_ : static_cast<size_t>(words_[0].key.text - texts_.data());
    end_ -= begin;
    if (begin > 0) std::memmove(texts_.data(), texts_.data() + begin, end_);
  }

  void look_up(const WordTable::Key& key, uint32_t id, bool learns) {
    const int32_t column = id == WordTable::none ? WordTable::candidate : table_[id].column;
    if (column >= 0) {
      shard_.tokens.push_back(column);
    } else if (learns && column == WordTable::candidate) {
      if (shard_.unknown.size() >= INT32_MAX) throw std::length_error("a text has too many new words");
      shard_.tokens.push_back(-1 - static_cast<int32_t>(shard_.unknown.size()));
      shard_.unknown.push_back({id, key.length, shard_.texts.size(), -1});
      if (id == WordTable::none) shard_.texts.insert(shard_.texts.end(), key.text, key.text + key.length);
    }
  }

  const WordTable& table_;
  const RunFilter& with_column_;
  const int n_grams_;
  Shard& shard_;
  const bool learns_, learns_runs_;
  std::vector<char> texts_;
  size_t end_ = 0;       // of the texts
  std::vector<Piece> words_, runs_;
  size_t n_before_ = 0;  // of the words: were looked up already
};

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
  tidy();
}

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

SiftedTexts TextVocabulary::sift(const std::vector<TextView>& texts) const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  SiftedTexts all = {};
  all.known.n_words = static_cast<int64_t>(of_column_.size());
  Shard shard;
  std::unique_ptr<Row> row = rows_.take();
  row->make_room(of_column_.size());
  Reading reading(*this, shard, all.known.n_words < rules_.max_words);
  for (const TextView& text : texts) {
    shard.start(0, 1);
    for_each_word(text, ascii_, characters_.get(), rules_, reading);
    reading.end_document();
    for (const int32_t found : shard.tokens) {
      if (found >= 0) {
        row->add(found);
        continue;
      }
      const Shard::Unknown& other = shard.unknown[-1 - found];
      const std::string_view word = other.id == WordTable::none
                                        ? std::string_view(shard.texts.data() + other.offset, other.length)
                                        : table_.text(other.id);
      all.texts.insert(all.texts.end(), word.begin(), word.end());
      all.text_ends.push_back(static_cast<int64_t>(all.texts.size()));
    }
    row->take_out(all.known.columns, all.known.counts);
    all.known.ends.push_back(static_cast<int64_t>(all.known.columns.size()));
    all.other_ends.push_back(static_cast<int64_t>(all.text_ends.size()));
  }
  rows_.give(std::move(row));
  all.texts.resize(all.texts.size() + WordTable::padding);
  return all;
}

TextCounts TextVocabulary::learn_sifted(const std::vector<SiftedRow>& rows) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  TextCounts all = {{}, {}, {}, 0};
  size_t n_columns = 0;
  for (const SiftedRow& one : rows) n_columns += one.n_columns;
  all.ends.reserve(rows.size());
  all.columns.reserve(n_columns);
  all.counts.reserve(n_columns);
  std::unique_ptr<Row> row = rows_.take();
  for (const SiftedRow& one : rows) {
    all.columns.insert(all.columns.end(), one.columns, one.columns + one.n_columns);
    all.counts.insert(all.counts.end(), one.counts, one.counts + one.n_columns);
    for (size_t i = one.first_other; i < one.end_other; ++i) {
      const int64_t begin = i == 0 ? 0 : one.text_ends[i - 1];
      const WordTable::Key key = table_.key(one.texts + begin, static_cast<uint32_t>(one.text_ends[i] - begin));
      const int32_t column = meet(key, table_.find(key));
      row->make_room(of_column_.size());
      if (column >= 0) row->add(column);
    }
    // These columns are newer than those of the known words, so they come behind them.
    if (one.first_other < one.end_other) row->take_out(all.columns, all.counts);
    all.ends.push_back(static_cast<int64_t>(all.columns.size()));
  }
  rows_.give(std::move(row));
  tidy();
  all.n_words = static_cast<int64_t>(of_column_.size());
  return all;
}

// The workspace is known here alone.

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

}  // namespace bayespa
