// SPDX-License-Identifier: Apache-2.0
// The main of every test executable. libsystemc has a main of its own that calls sc_main, and does
// not link without an sc_main; tests start from GoogleTest and never enter it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern "C" int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
