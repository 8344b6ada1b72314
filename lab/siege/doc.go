// Package siege besieges the built server: people and bots buy in one sale over HTTP, from many loopback addresses and,
// through a trusted proxy's header, from addresses that no machine has at once. The sale's guards are exactly those
// that the console proposes for its stock and crowd. It counts who got the units, and which people a guard refused.
//
// Shares are what it measures, and no seconds: the machine that attacks is the one that defends itself. kinds.go says
// what people and bots are, each with its speed, its accounts and its addresses.
//
// CI runs a small siege, a host without tokens behind the address of buyers, and idle connections of one peer.
// make -C lab siege runs all kinds of bots against no guard, each guard alone and all, five times, and people who share
// addresses. make -C lab siege-asks measures how long people wait for a ticket while others ask for challenges and
// solve none: that is in seconds, and wants a machine that does nothing else. make -C lab siege-cuts compares what
// buyers who hang up leave to their neighbours with an earlier commit. With UPDATE=1 all write tables of
// lab/notes/siege.md.
package siege
