#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "characters.h"
#include "json_lines.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

PyObject* checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return made;
}

nb::object to_str(std::string_view text) {
  return nb::steal(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr)));
}

nb::object to_number(const JsonValue& value) {
  const std::string digits(value.text);
  if (value.kind == JsonValue::Kind::integer) return nb::int_(std::stoll(digits));
  const double number = PyOS_string_to_double(digits.c_str(), nullptr, nullptr);
  if (number == -1. && PyErr_Occurred()) throw nb::python_error();
  return nb::float_(number);
}

nb::object to_python(const JsonValue& value, const std::vector<std::string_view>& texts) {
  using Kind = JsonValue::Kind;
  switch (value.kind) {
    case Kind::text: return to_str(value.text);
    case Kind::no: return nb::bool_(false);
    case Kind::yes: return nb::bool_(true);
    case Kind::integer:
    case Kind::fraction: return to_number(value);
    case Kind::texts: {
      nb::object list = nb::steal(checked(PyList_New(static_cast<Py_ssize_t>(value.end - value.begin))));
      for (size_t i = value.begin; i < value.end; ++i) {
        PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i - value.begin), to_str(texts[i]).release().ptr());
      }
      return list;
    }
    default: return nb::none();
  }
}

nb::object to_python(const JsonLine& line) {
  nb::object found = nb::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(line.values().size()))));
  Py_ssize_t place = 0;
  for (const JsonValue& value : line.values()) {
    PyTuple_SET_ITEM(found.ptr(), place++, to_python(value, line.texts()).release().ptr());
  }
  return found;
}

nb::object json_lines(const nb::bytes& block, const std::vector<nb::bytes>& names) {
  const std::string_view all(block.c_str(), block.size());
  const TextView view = {all.data(), static_cast<int64_t>(all.size()), TextForm::utf8};
  if (all.find('\0') != std::string_view::npos ||
      (!is_ascii(view) && utf8_error(static_cast<const uint8_t*>(view.data), view.length) >= 0)) {
    return nb::none();
  }
  std::vector<std::string> fields;
  for (const nb::bytes& name : names) fields.emplace_back(name.c_str(), name.size());
  JsonLine line(std::move(fields));
  nb::list found;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size() - 1) + 1;
    const std::string_view own = all.substr(begin, end - begin);
    found.append(line.read(own) ? to_python(line) : to_str(own));
    begin = end;
  }
  return found;
}

}  // namespace

void bayespa::bind_json(nb::module_& m) { m.def("json_lines", &json_lines, "block"_a, "names"_a); }
