// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The benches of PostgreSQL, in the order of main.cpp.

void bench_capture();
void bench_drain();
void bench_pods();
void bench_rebuild();
void bench_handler();
void bench_enrichment();
void bench_windows();
void bench_open_transaction();
void bench_writers();
void bench_lanes();
