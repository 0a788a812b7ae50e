// SPDX-License-Identifier: MIT
#pragma once

#include <string>

/// \file
/// The benches of SQLite, in the order of main.cpp.

void bench_capture();
void bench_images();
void bench_drain();
void bench_rebuild();
void bench_handler();
void bench_enrichment();
void bench_allocations();
void bench_wake();

/// The other process of `bench_wake`: follows the database at `path` until its standard input ends.
void follow(const std::string& path);
