#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "text.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

// Texts in the memory of Python, which they hold on to: str as it is there, bytes as UTF-8.
class Texts {
 public:
  explicit Texts(const nb::sequence& texts) : held_(nb::tuple(texts)) {
    views_.reserve(held_.size());
    for (const nb::handle text : held_) {
      if (PyUnicode_Check(text.ptr())) add_str(text.ptr());
      else if (PyBytes_Check(text.ptr())) add_bytes(text.ptr());
      else throw nb::type_error(("texts[" + std::to_string(views_.size()) + "] is neither str nor bytes").c_str());
    }
  }

  const std::vector<TextView>& views() const { return views_; }
  bool all_ascii() const { return all_ascii_; }

 private:
  void add_str(PyObject* text) {
#if PY_VERSION_HEX < 0x030c0000
    if (PyUnicode_READY(text) < 0) throw nb::python_error();
#endif
    const int kind = PyUnicode_KIND(text);
    const TextForm form = kind == PyUnicode_1BYTE_KIND   ? TextForm::one_byte
                          : kind == PyUnicode_2BYTE_KIND ? TextForm::two_bytes
                                                         : TextForm::four_bytes;
    views_.push_back({PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), form});
    all_ascii_ = all_ascii_ && PyUnicode_IS_ASCII(text);
  }

  void add_bytes(PyObject* text) {
    const TextView view = {PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), TextForm::utf8};
    const bool ascii = is_ascii(view);
    const int64_t error = ascii ? -1 : utf8_error(static_cast<const uint8_t*>(view.data), view.length);
    if (error >= 0) {
      throw nb::value_error(("byte " + std::to_string(error + 1) + " of texts[" + std::to_string(views_.size()) +
                             "] is not utf-8")
                                .c_str());
    }
    views_.push_back(view);
    all_ascii_ = all_ascii_ && ascii;
  }

  nb::tuple held_;
  std::vector<TextView> views_;
  bool all_ascii_ = true;
};

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

nb::tuple to_python(TextCounts&& counts) {
  return nb::make_tuple(to_numpy(std::move(counts.ends)), to_numpy(std::move(counts.columns)),
                        to_numpy(std::move(counts.counts)), counts.n_words);
}

// Words are UTF-8 of letters; a model file may hold others, even halves of surrogate pairs.
nb::list to_python(const std::vector<std::string>& words) {
  nb::list found;
  for (const std::string& word : words) {
    PyObject* text = PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "surrogatepass");
    if (text == nullptr) throw nb::python_error();
    found.append(nb::steal(text));
  }
  return found;
}

TextVocabulary::Strings views_of(const std::vector<nb::bytes>& words) {
  TextVocabulary::Strings views;
  for (const nb::bytes& word : words) views.emplace_back(word.c_str(), word.size());
  return views;
}

TextVocabulary* make(int64_t max_words, uint32_t min_count, int64_t max_candidates, bool lowercase, int min_length,
                     int n_grams, uint32_t min_run_count, int64_t max_runs, const std::vector<nb::bytes>& left_out,
                     uint64_t seed) {
  require(max_words >= 1 && max_words <= INT32_MAX && min_count >= 1 && max_candidates >= 1 && min_length >= 1 &&
              min_run_count >= 1 && max_runs >= 1,
          "sizes must be at least 1, and there are at most 2^31 - 1 columns");
  require(n_grams >= 1 && n_grams <= 8, "n_grams must be from 1 to 8");
  const TextRules rules = {max_words, max_runs, max_candidates, min_count, min_run_count, min_length, n_grams, lowercase};
  return new TextVocabulary(rules, views_of(left_out), seed);
}

nb::tuple candidates(const TextVocabulary& vocabulary, int64_t mark) {
  TextVocabulary::Candidates found;
  {
    const nb::gil_scoped_release release;
    found = mark < 0 ? vocabulary.candidates() : vocabulary.candidates(mark);
  }
  return nb::make_tuple(found.n_words, to_python(found.texts), found.counts);
}

using Count = TextCounts (*)(TextVocabulary&, const std::vector<TextView>&, int);

template <Count count>
nb::tuple counted(TextVocabulary& vocabulary, const Texts& texts, int n_threads) {
  require(n_threads >= 1, "n_threads must be at least 1");
  TextCounts counts;
  {
    const nb::gil_scoped_release release;
    require(texts.all_ascii() || vocabulary.knows_characters(), "texts of more than ASCII need to know characters");
    counts = count(vocabulary, texts.views(), n_threads);
  }
  return to_python(std::move(counts));
}

TextCounts learn(TextVocabulary& vocabulary, const std::vector<TextView>& texts, int n_threads) {
  return vocabulary.learn(texts, n_threads);
}

TextCounts transform(TextVocabulary& vocabulary, const std::vector<TextView>& texts, int n_threads) {
  return vocabulary.transform(texts, n_threads);
}

using Sifted = std::tuple<In<int64_t, 1>, In<int32_t, 1>, In<int32_t, 1>, int64_t, In<int64_t, 1>, In<int64_t, 1>,
                          In<uint8_t, 1>>;

nb::tuple sift(const TextVocabulary& vocabulary, const Texts& texts) {
  SiftedTexts sifted;
  {
    const nb::gil_scoped_release release;
    require(texts.all_ascii() || vocabulary.knows_characters(), "texts of more than ASCII need to know characters");
    sifted = vocabulary.sift(texts.views());
  }
  TextCounts& known = sifted.known;
  const int64_t n_words = known.n_words;
  std::vector<uint8_t> others(sifted.texts.begin(), sifted.texts.end());
  return nb::make_tuple(to_numpy(std::move(known.ends)), to_numpy(std::move(known.columns)),
                        to_numpy(std::move(known.counts)), n_words, to_numpy(std::move(sifted.other_ends)),
                        to_numpy(std::move(sifted.text_ends)), to_numpy(std::move(others)));
}

// Where row `row` of cumulated ends begins, and where it ends.
std::pair<size_t, size_t> range(const In<int64_t, 1>& ends, int64_t row, size_t n) {
  const int64_t begin = row == 0 ? 0 : ends(row - 1), end = ends(row);
  require(0 <= begin && begin <= end && end <= static_cast<int64_t>(n), "ends must increase, up to what there is");
  return {static_cast<size_t>(begin), static_cast<size_t>(end)};
}

nb::tuple learn_sifted(TextVocabulary& vocabulary, const std::vector<Sifted>& pieces, In<int64_t, 2> places) {
  require(places.shape(1) == 2, "places must be (n, 2)");
  const int64_t n_words = [&] {
    const nb::gil_scoped_release release;
    return vocabulary.n_words();
  }();
  for (const auto& [ends, columns, counts, n_known, other_ends, text_ends, texts] : pieces) {
    require(columns.shape(0) == counts.shape(0) && ends.shape(0) == other_ends.shape(0), "shapes must fit");
    require(n_known <= n_words, "words were taken back since texts were sifted");
    require(texts.shape(0) >= WordTable::padding, "texts must be padded");
  }
  std::vector<SiftedRow> rows;
  rows.reserve(places.shape(0));
  for (size_t i = 0; i < places.shape(0); ++i) {
    const int64_t piece = places(i, 0), row = places(i, 1);
    require(0 <= piece && piece < static_cast<int64_t>(pieces.size()), "there is no such piece");
    const auto& [ends, columns, counts, n_known, other_ends, text_ends, texts] = pieces[piece];
    require(0 <= row && row < static_cast<int64_t>(ends.shape(0)), "there is no such row");
    const auto [begin, end] = range(ends, row, columns.shape(0));
    const auto [first_other, end_other] = range(other_ends, row, text_ends.shape(0));
    for (size_t j = first_other; j < end_other; ++j) {
      range(text_ends, static_cast<int64_t>(j), texts.shape(0) - WordTable::padding);
    }
    rows.push_back({columns.data() + begin, counts.data() + begin, end - begin,
                    reinterpret_cast<const char*>(texts.data()), text_ends.data(), first_other, end_other});
  }
  TextCounts counts;
  {
    const nb::gil_scoped_release release;
    counts = vocabulary.learn_sifted(rows);
  }
  return to_python(std::move(counts));
}

nb::list words(const TextVocabulary& vocabulary, int64_t begin, int64_t end) {
  require(begin >= 0, "begin must be at least 0");
  std::vector<std::string> found;
  {
    const nb::gil_scoped_release release;
    found = vocabulary.words(begin, end);
  }
  return to_python(found);
}

// A mutex is only ever waited for without the lock of the interpreter, which its holder may need.
template <class Result, class... Argument>
auto released(Result (TextVocabulary::*member)(Argument...)) {
  return [member](TextVocabulary& vocabulary, Argument... arguments) {
    const nb::gil_scoped_release release;
    return (vocabulary.*member)(arguments...);
  };
}

template <class Result>
auto released(Result (TextVocabulary::*member)() const) {
  return [member](const TextVocabulary& vocabulary) {
    const nb::gil_scoped_release release;
    return (vocabulary.*member)();
  };
}

}  // namespace

void bayespa::bind_text(nb::module_& m) {
  nb::class_<Characters>(m, "Characters")
      .def(
          "__init__",
          [](Characters* self, In<int32_t, 1> properties, In<uint32_t, 2> several) {
            require(properties.shape(0) == Characters::n_code_points && several.shape(1) == 4,
                    "properties must be (0x110000,), several (n, 4)");
            std::vector<Characters::Lower> lower;
            for (size_t i = 0; i < several.shape(0); ++i) {
              lower.push_back({several(i, 0), {several(i, 1), several(i, 2), several(i, 3)}});
            }
            new (self) Characters(properties.data(), std::move(lower));
          },
          array_arg("properties"), array_arg("several"));
  nb::class_<Texts>(m, "Texts")
      .def(nb::init<const nb::sequence&>(), "texts"_a)
      .def("__len__", [](const Texts& texts) { return texts.views().size(); })
      .def_prop_ro("all_ascii", &Texts::all_ascii);
  nb::class_<TextVocabulary>(m, "TextVocabulary")
      .def(nb::new_(&make), "max_words"_a, "min_count"_a, "max_candidates"_a, "lowercase"_a, "min_length"_a,
           "n_grams"_a, "min_run_count"_a, "max_runs"_a, "left_out"_a, "seed"_a)
      .def(
          "load",
          [](TextVocabulary& vocabulary, const std::vector<nb::bytes>& words, const std::vector<nb::bytes>& others,
             const std::vector<uint32_t>& counts) { vocabulary.load(views_of(words), views_of(others), counts); },
          "words"_a, "candidates"_a, "counts"_a)
      .def(
          "know",
          [](TextVocabulary& vocabulary, std::shared_ptr<Characters> characters) {
            const nb::gil_scoped_release release;
            vocabulary.know(std::move(characters));
          },
          "characters"_a)
      .def("learn", &counted<learn>, "texts"_a, "n_threads"_a = 1)
      .def("transform", &counted<transform>, "texts"_a, "n_threads"_a = 1)
      .def("sift", &sift, "texts"_a)
      .def("learn_sifted", &learn_sifted, "pieces"_a, "places"_a)
      .def_prop_ro("n_words", released(&TextVocabulary::n_words))
      .def_prop_ro("n_runs", released(&TextVocabulary::n_runs))
      .def_prop_ro("n_returns", released(&TextVocabulary::n_returns))
      .def("words", &words, "begin"_a, "end"_a)
      .def("candidates", &candidates, "mark"_a = -1)
      .def("mark", released(&TextVocabulary::mark))
      .def("forget", released(&TextVocabulary::forget), "mark"_a)
      .def("back_to", released(&TextVocabulary::back_to), "mark"_a);
}
