// Package measures has the measurements of the benchmark, one file each, and the plan of a run. Measurements return
// plain results (lab/bench/result) and do not know how these are reported.
//
// Candidates take turns: plain Gin, the designs of lab/bench/stages, and the service itself as a child process with
// real settings. Each trial has a fresh schema, fresh keys and a fresh process. Every request is a purchase by a
// different user, with that user's token, over connections that stay open. The stock never runs out, so all measured
// purchases are accepted ones. Three figures are kept apart: how many are accepted per second, how many are recorded
// per second, and how long recording goes on after the last acceptance. At half load requests are sent when they are
// due, whether earlier ones are answered or not, so that a slow answer cannot hide delays.
//
// After each trial lab/bench/audit compares rows, stock in SQL, stock in Redis and the counted answers; a benchmark
// whose counts do not add up fails. Mistakes of a candidate are shown separately from its speed: by a short sale in
// which every user sends four requests at once, and by a SIGKILL in the middle of a sale.
//
// The figures to quote are ratios. Two cores, shared by the load generator, the candidate, Redis and the database, and
// noise from outside, tie absolute figures to this machine and this minute. So the report quotes the ratio of two
// candidates within one round: its median over the rounds, with the lowest and the highest.
//
// All measurements share the trials and their settings, so they are one package of many files.
package measures
