// SPDX-License-Identifier: Apache-2.0
// Hot loops that are compiled twice, for the baseline of the architecture and for AVX2, and chosen
// when the program runs: one executable serves all machines.
//
// The loop is a RNGDSIM_INLINE template; a plain function and one marked RNGDSIM_AVX2 call it. Both
// give the same bits: AVX2 brings wider registers but no fused multiply-add, and no compiler may
// reorder floating point operations here.
#pragma once

#if defined(__GNUC__) && defined(__x86_64__)
#define RNGDSIM_AVX2 __attribute__((target("avx2")))
#else
#define RNGDSIM_AVX2
#endif
#if defined(__GNUC__)
#define RNGDSIM_INLINE __attribute__((always_inline)) inline
#else
#define RNGDSIM_INLINE inline
#endif

namespace rngdsim {

// Which of the two to call. kBaseline exists for tests, which compare the two.
enum class VectorTarget { kBaseline, kBest };

inline bool use_avx2(VectorTarget target) {
#if defined(__GNUC__) && defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  return target == VectorTarget::kBest && kHasAvx2;
#else
  static_cast<void>(target);
  return false;
#endif
}

}  // namespace rngdsim
