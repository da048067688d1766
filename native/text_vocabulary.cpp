// A vocabulary that grows: columns, candidates, and taking back what was learned.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text.h"

namespace bayespa {

void TextVocabulary::load(const Strings& words, const Strings& candidates, const std::vector<uint32_t>& counts) {
  const std::lock_guard<std::mutex> learning(learning_);
  const std::unique_lock<std::shared_mutex> lock(state_);
  if (n_candidates_ > 0 || candidates.size() != counts.size()) {
    throw std::invalid_argument("candidates are loaded last, and each has a count");
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
    add_column(add(word), is_run(word));
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

// A word has no space in it.
bool TextVocabulary::is_run(const std::string_view& word) const {
  return rules_.n_grams > 1 && word.find(' ') != std::string_view::npos;
}

// As `Reading` has it.
uint64_t TextVocabulary::hash_of_run(const std::string_view& run) const {
  uint64_t hash = 0;
  std::string padded;
  for (size_t begin, end = run.size();; end = begin - 1) {
    begin = run.rfind(' ', end - 1) + 1;  // 0 if there is none
    padded.assign(run.substr(begin, end - begin));
    padded.append(WordTable::padding, '\0');
    hash = RunFilter::joined(hash, table_.key(padded.data(), static_cast<uint32_t>(end - begin)).tag);
    if (begin == 0) return hash;
  }
}

// Gives a word or a run the next column.
void TextVocabulary::add_column(uint32_t id, bool run) {
  table_[id].column = static_cast<int32_t>(of_column_.size());
  of_column_.push_back(id);
  if (!run) return;
  if (!with_column_.is_small(++n_runs_)) return with_column_.add(hash_of_run(table_.text(id)));
  with_column_.grow();
  for (const uint32_t other : of_column_) {
    if (is_run(table_.text(other))) with_column_.add(hash_of_run(table_.text(other)));
  }
}

// Returns the column of a word that had none when it was looked up, or -1 if it still has none.
int32_t TextVocabulary::meet(const WordTable::Key& key, uint32_t id) {
  if (id != WordTable::none && table_[id].column >= 0) return table_[id].column;
  const bool run = is_run(id == WordTable::none ? std::string_view(key.text, key.length) : table_.text(id));
  if (static_cast<int64_t>(of_column_.size()) == rules_.max_words || (run && n_runs_ == rules_.max_runs)) return -1;
  const uint32_t count = (id == WordTable::none ? 0 : table_[id].count) + 1;
  const bool admitted = count >= (run ? rules_.min_run_count : rules_.min_count);
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
    add_column(id, run);
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

// Gives back memory, after some were met.
void TextVocabulary::tidy() {
  if (candidates_.size() > 2 * static_cast<size_t>(n_candidates_) + 1024) {
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                     [&](uint32_t id) { return table_[id].count == 0; }),
                      candidates_.end());
  }
  if (some_are_gone_) compact();
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
    n_runs_ -= is_run(table_.text(of_column_[column]));
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

int64_t TextVocabulary::n_runs() const {
  const std::shared_lock<std::shared_mutex> lock(state_);
  return n_runs_;
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
