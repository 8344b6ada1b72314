package siege

import (
	"fmt"
	"time"

	"seckill/internal/voucher/guards"
)

// size is how large a sale is.
type size struct{ units, people int }

// The sizes of sales: in CI, of each kind of bots, of people behind one address, and of the largest attack.
func small() size    { return size{units: 20, people: 120} }
func ordinary() size { return size{units: 50, people: 300} }
func shops() size    { return size{units: 200, people: 2000} }
func large() size    { return size{units: 500, people: 5000} }

const (
	// peoplesPatience and botsPatience are how often they ask again where they are told to wait; of people, as the
	// buyer's page does.
	peoplesPatience, botsPatience = 5, 10
	// try is how long a try at a challenge takes a slow telephone (docs/guards.md).
	try = 12800 * time.Microsecond
)

// kind is a kind of buyers.
type kind struct {
	name     string
	accounts int
	// address is from where the ith account buys. direct: over a connection from it, else named by a trusted proxy.
	address func(i int) string
	direct  bool
	// fetching is from where the ith account gets its ticket; nil: from its address.
	fetching func(i int) string
	// arrival is how long each waits before it asks for a ticket, reaction how long after the start it presses, and
	// line how long a request takes to arrive.
	arrival, reaction, line func(random float64) time.Duration
	// early: where the sale has tickets it presses before the start, and its page keeps that.
	early    bool
	patience int           // how often it asks again
	young    bool          // the accounts are a day old, else a year
	try      time.Duration // how long a try at a challenge takes at least
	ticket   ticketUse
	typical  bool // others are like it
}

// ticketUse is which ticket an account sends.
type ticketUse int

const (
	ownTicket    ticketUse = iota
	sharedTicket           // that of the first account
	replayed               // its own, and twice more after it has bought
	earlier                // its own of an earlier sale
)

func atOnce(float64) time.Duration { return 0 }

func between(least, most time.Duration) func(float64) time.Duration {
	return func(random float64) time.Duration { return least + time.Duration(random*float64(most-least)) }
}

// networkPeople is how many of the people a network has, unless one address has more: as many as proposals reckon with.
func networkPeople(people int) int { return int(guards.Proposal{Crowd: int64(people)}.NetworkPeople()) }

// honest returns people with telephones, perAddress of them behind each address. They ask for a ticket within five
// seconds (the buyer's page spreads them over half of leadMinutes), and their requests take 20 ms to 80 ms. They press
// before the start where the sale has tickets, as the page invites them to, and else 0.2 s to 1.5 s after it.
func honest(people, perAddress int) kind {
	addresses := max(1, networkPeople(people)/perAddress) // of a network
	return kind{
		name: fmt.Sprintf("%d people an address", perAddress), accounts: people, patience: peoplesPatience, try: try,
		early: true,
		address: func(i int) string {
			n := i / perAddress
			return fmt.Sprintf("100.%d.%d.%d", 64+n/addresses/256, n/addresses%256, 1+n%addresses)
		},
		arrival:  between(0, 5*time.Second),
		reaction: between(200*time.Millisecond, 1500*time.Millisecond),
		line:     between(20*time.Millisecond, 80*time.Millisecond),
	}
}

// bots returns all kinds of bots with so many accounts. They press at once, over fast lines, and solve challenges on
// all processors.
func bots(accounts int) []kind {
	with := func(name string, change func(*kind)) kind {
		k := kind{
			name: name, accounts: accounts, patience: botsPatience, address: scattered,
			arrival: atOnce, reaction: atOnce, line: atOnce,
		}
		change(&k)
		return k
	}
	return []kind{
		with("one address", func(k *kind) { k.direct, k.typical, k.address = true, true, oneAddress }),
		with("a /24", func(k *kind) {
			k.direct, k.address = true, func(i int) string { return fmt.Sprintf("127.9.1.%d", 1+i%254) }
		}),
		with("a /40 of IPv6", func(k *kind) {
			k.address = func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::1", i%256, i/256) }
		}),
		with("an address each", func(k *kind) { k.typical = true }),
		with(fmt.Sprintf("%d addresses", 8*accounts), func(k *kind) { k.accounts = 8 * accounts }),
		with("an address each, no faster than people", func(k *kind) {
			p := honest(1, 1)
			k.arrival, k.reaction, k.line, k.early = p.arrival, p.reaction, p.line, p.early
		}),
		with("an address each, made yesterday", func(k *kind) { k.young = true }),
		with("an address each, tickets hoarded at one address", func(k *kind) { k.fetching = oneAddress }),
		with("an address each, one ticket shared by all", func(k *kind) { k.ticket = sharedTicket }),
		with("an address each, tickets sent three times", func(k *kind) { k.ticket = replayed }),
		with("an address each, tickets of an earlier sale", func(k *kind) { k.ticket = earlier }),
	}
}

// botsNamed returns a kind of bots.
func botsNamed(name string, accounts int) kind {
	for _, k := range bots(accounts) {
		if k.name == name {
			return k
		}
	}
	return kind{}
}

func oneAddress(int) string { return "127.9.0.1" }

// scattered returns addresses of which each is in a /24 of its own.
func scattered(i int) string { return fmt.Sprintf("198.%d.%d.1", 18+i/256, i%256) }
