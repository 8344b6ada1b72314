// Package measures holds what the benchmark measures, a file for each, and the plan of a run. Measurements return plain
// results (lab/bench/result) and do not know how those are reported.
//
// Candidates take turns: plain Gin, the designs of lab/bench/stages, and the service itself as a child
// process with real settings. Each trial has a fresh schema, fresh keys and a fresh process. Every request is another
// user's purchase, with the user's own token, over connections that stay open; the stock never runs out, so nothing but
// accepted purchases is measured. Three numbers are kept apart: how many are accepted each second, how many are
// recorded each second, and how long recording goes on after the last acceptance. At half load requests are sent when
// they are due, answered or not, so that a slow answer hides nothing.
//
// After each trial lab/bench/audit compares rows, stock in SQL, stock in Redis and the answers that were counted; a
// benchmark whose counts do not add up fails. What a candidate gets wrong is shown apart from its speed: by a short
// sale at which every user sends four requests at once, and by a SIGKILL in the middle of a sale.
//
// What the figures are: ratios. Two cores, shared by the load generator, the candidate, Redis and the database, and
// noise from outside, make absolute figures those of this machine and this minute; the ratio of two candidates within
// one round is what is quoted, its median over the rounds, with the lowest and the highest.
//
// A measurement shares the trials and their settings with all others, so they are one package of many files and not
// many packages.
package measures
