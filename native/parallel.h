// A fixed number of shards worked off by any number of threads.
//
// What a shard computes depends on the shard alone, and results are merged in shard order, so the number of threads
// changes the time and never the bits. Threads live for one call: no global pool, nothing that a fork could break.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bayespa {

// Calls work(shard) once for every shard in [0, n_shards). The first exception is thrown again in the caller.
template <class Work>
void parallel_for(int n_shards, int n_threads, Work&& work) {
  std::atomic<int> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto run = [&] {
    for (int shard; (shard = next.fetch_add(1)) < n_shards;) {
      try {
        work(shard);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(n_shards);
      }
    }
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < std::min(n_threads, n_shards); ++t) helpers.emplace_back(run);
  run();
  for (auto& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace bayespa
