// Package main lets bots besiege a sale: 5,000 people and bots of several kinds want 500 units, and the report says who got
// them, with no guard, with the guard that is meant for the kind, and with all (make siege).
//
// It is a model: people, bots, telephones and networks are assumed, and time is simulated, so that a siege of minutes takes a
// second and its seed repeats it. Tickets, moments and the difficulty of challenges are the real ones, each
// with the simulated clock, and each instance with its own. The script is reduced to first come, first served, one to a user,
// inside the window; internal/redisstore/model_test.go holds the script to that. Work is charged, not burnt: each actor has
// so many tries of a challenge a second, and hands its solution in after that time. Fifty actors really solve theirs, and their
// solutions are checked.
//
// That instances tell each other what callers have spent is left out: a siege is over within seconds, and bots gain by it.
//
// report.go lists all assumptions with the figures.
package main
