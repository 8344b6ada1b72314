// Package siege besieges the built server: people and bots buy in one sale over HTTP, from many loopback addresses and,
// through a trusted proxy's header, from addresses that no machine has at once. The sale's guards are exactly those
// that the console proposes for its stock and crowd. It counts who got the units, and which people a guard refused.
//
// Shares are what it measures, and never seconds: the machine that attacks is the one that defends itself. What people
// and bots are is written down in kinds.go, each with its speed, its accounts and its addresses.
//
// make -C lab siege runs all kinds of bots against no guard, each guard alone and all, five times; with UPDATE=1 it
// writes the tables of docs/guards.md. QUICK=1 runs what shows that it works, in a minute; CI runs that.
package siege
