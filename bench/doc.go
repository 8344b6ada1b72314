// Bench measures the service against its limits and against the stages that lead to it, in one run on one machine:
//
//	go run ./test/services -- go run ./bench            the comparison
//	go run ./test/services -- go run ./bench -limits    limits and curves
//
// Contestants take turns: the stages of bench/stages, the bare handler among them, and the service itself as a child
// process with real settings. Each turn has a fresh schema, fresh keys and a fresh process. Every request is another
// user's purchase, with his own token, over connections that stay open; the stock never runs out, so nothing but
// accepted purchases is measured. Three numbers are kept apart: how many are accepted each second, how many are
// recorded each second, and how long recording goes on after the last acceptance. At half load requests come when they
// are due, answered or not, so that a slow answer hides nothing.
//
// After each turn the books are checked: rows, stock in SQL, stock in Redis and the answers that were counted must add
// up, and every order must be another user's. A benchmark whose books do not balance fails: speed without them is
// worth nothing. What a stage gets wrong is shown apart from what it is measured for: by a short sale at which
// everybody presses four times, and by a SIGKILL in the middle of one.
//
// What the figures are: ratios. Two cores, shared by the load generator, the contestant, Redis and the database, and
// noise from outside, make absolute figures those of this machine and this minute; the ratio of two contestants within
// one round is what is quoted, its median over the rounds, with the lowest and the highest.
package main
