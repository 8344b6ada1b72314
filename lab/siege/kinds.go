package siege

import (
	"fmt"
	"time"
)

// The crowd of a sale, and what is for sale. Six times as many people come as there are units.
const (
	units  = 50
	people = 300
	// accounts is how many each kind of bot has.
	accounts = 600
)

// kind is how a kind of buyers comes.
type kind struct {
	name     string
	accounts int
	// address is from where the ith of them comes; direct: over a connection from it, else named by a trusted proxy.
	address func(i int) string
	direct  bool
	// reaction is how long after the start the ith presses, and line how long each request takes to arrive.
	reaction, line func(random float64) time.Duration
	old            bool // the accounts are a year old, else a day
	try            time.Duration
	oneTicket      bool // all send the ticket of the first
}

func fixed(d time.Duration) func(float64) time.Duration {
	return func(float64) time.Duration { return d }
}

func between(least, most time.Duration) func(float64) time.Duration {
	return func(random float64) time.Duration { return least + time.Duration(random*float64(most-least)) }
}

// honest are people with telephones, so many behind one address: they press 0.2 s to 1.5 s after the start, a request
// takes 20 ms to 80 ms to arrive, and a try at a challenge 12.8 ms (docs/guards.md).
func honest(perAddress int) kind {
	return kind{
		name: fmt.Sprintf("%d people an address", perAddress), accounts: people,
		address:  func(i int) string { return fmt.Sprintf("100.64.%d.%d", i/perAddress/250, 1+i/perAddress%250) },
		reaction: between(200*time.Millisecond, 1500*time.Millisecond),
		line:     between(20*time.Millisecond, 80*time.Millisecond), old: true, try: 12800 * time.Microsecond,
	}
}

// bots are all kinds of them. They press at once, over fast lines, and solve challenges on all processors.
func bots() []kind {
	bot := kind{accounts: accounts, reaction: fixed(0), line: fixed(0)}
	with := func(name string, change func(*kind)) kind {
		k := bot
		k.name = name
		change(&k)
		return k
	}
	many := func(i int) string { return fmt.Sprintf("198.18.%d.%d", i%256, 1+i/256) } // each in a /24 of its own
	return []kind{
		with("one address", func(k *kind) {
			k.direct, k.address = true, func(int) string { return "127.9.0.1" }
		}),
		with("a /24", func(k *kind) {
			k.direct, k.address = true, func(i int) string { return fmt.Sprintf("127.9.1.%d", 1+i%254) }
		}),
		with("a /40 of IPv6", func(k *kind) {
			k.address = func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::1", i%256, i/256) }
		}),
		with("an address each", func(k *kind) { k.address = many }),
		with("an address each, no faster than people", func(k *kind) {
			p := honest(1)
			k.address, k.reaction, k.line = many, p.reaction, p.line
		}),
		with("an address each, old accounts", func(k *kind) { k.address, k.old = many, true }),
		with("an address each, one ticket for all", func(k *kind) { k.address, k.old, k.oneTicket = many, true, true }),
	}
}
