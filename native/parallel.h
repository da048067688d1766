// A fixed number of shards worked off by any number of threads.
//
// What a shard computes depends on the shard alone, and results are merged in shard order, so the number of threads
// changes the time and never the bits. Threads live for one call: no global pool, nothing that a fork could break.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace bayespa {

// The most threads of a call, whatever it asks for: a process that has one processor of many to itself lowers it.
inline std::atomic<int> most_threads{std::numeric_limits<int>::max()};

// Calls work(shard) once for every shard in [0, n_shards). If any throw, the exception of the lowest such shard is
// thrown again in the caller: shards start in order and finish what they started, so any number of threads finds it.
template <class Work>
void parallel_for(int n_shards, int n_threads, Work&& work) {
  std::atomic<int> next{0};
  std::exception_ptr error;
  int error_shard = n_shards;
  std::mutex error_mutex;
  const auto run = [&] {
    for (int shard; (shard = next.fetch_add(1)) < n_shards;) {
      try {
        work(shard);
      } catch (...) {
        next.store(n_shards);
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (shard < error_shard) {
          error = std::current_exception();
          error_shard = shard;
        }
      }
    }
  };
  const int n_helpers = std::max(0, std::min({n_threads, n_shards, most_threads.load()}) - 1);
  std::vector<std::thread> helpers;
  helpers.reserve(n_helpers);
  try {
    for (int t = 0; t < n_helpers; ++t) helpers.emplace_back(run);
  } catch (...) {
    // The system has no more threads to give: those that started, and this one, do the work.
  }
  run();
  for (auto& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

// Calls work(begin, end) on as many consecutive pieces of [0, n) as there are threads.
template <class Work>
void parallel_blocks(int64_t n, int n_threads, Work&& work) {
  const int n_blocks = static_cast<int>(std::min<int64_t>(n, n_threads));
  parallel_for(n_blocks, n_threads, [&](int block) { work(n * block / n_blocks, n * (block + 1) / n_blocks); });
}

// Calls work(begin, end) on consecutive pieces of [0, n), for work that treats every element alone.
template <class Work>
void parallel_ranges(int64_t n, int n_threads, Work&& work) {
  constexpr int64_t size = 4096;  // tens of microseconds: small beside n, large beside handing out a shard
  parallel_for(static_cast<int>((n + size - 1) / size), n_threads, [&](int shard) {
    const int64_t begin = shard * size;
    work(begin, std::min(n, begin + size));
  });
}

}  // namespace bayespa
