package main

import (
	"net/netip"
	"time"

	"seckill/internal/guard"
)

// kind is a kind of bots, with the guard that is meant for it.
type kind struct {
	name, what string
	accounts   int
	cores      float64 // that solve their challenges
	old        int     // in a hundred accounts, how many are old enough
	address    func(i int) netip.Addr
	stolen     bool // one account fetches tickets for all
	meant      func(*guard.Settings)
	meantName  string
}

// kinds are those that besiege the sale.
func kinds() []kind {
	return []kind{
		{
			name: "one address", what: "10,000 accounts behind one address", accounts: 10_000, cores: 8, old: 100,
			address: func(int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, 5}) },
			meant:   limits, meantName: "limits",
		},
		{
			name: "many addresses", what: "5,000 new accounts on as many addresses of 2,500 networks", accounts: 5_000, cores: 8, old: 2,
			address: func(i int) netip.Addr {
				return netip.AddrFrom4([4]byte{172, byte(i >> 9), byte(i >> 1), byte(1 + i%2)})
			},
			meant: conditions, meantName: "conditions",
		},
		{
			name: "fast lines", what: "1,000 old accounts, each on an address of its own, a millisecond away", accounts: 1_000, cores: 64, old: 100,
			address: anywhere, meant: tickets, meantName: "tickets",
		},
		{
			name: "many cores", what: "20,000 old accounts on addresses of their own, with 64 cores", accounts: 20_000, cores: 64, old: 100,
			address: anywhere, meant: func(s *guard.Settings) { tickets(s); work(s) }, meantName: "tickets, challenge",
		},
		{
			name: "shared tickets", what: "10,000 accounts with the tickets of 100 others, replayed on all instances", accounts: 10_000, cores: 64, old: 100,
			address: anywhere, stolen: true, meant: tickets, meantName: "tickets",
		},
	}
}

func anywhere(i int) netip.Addr { return netip.AddrFrom4([4]byte{180, byte(i >> 8), byte(i), 9}) }

// What the guards are set to. The limits are each instance's: that they share budgets is left out.
func limits(s *guard.Settings) {
	s.Limits = &guard.Limits{
		PerAddress: &guard.Rate{Requests: 40, Seconds: 60},
		PerNetwork: &guard.Rate{Requests: 2_000, Seconds: 60},
		PerUser:    &guard.Rate{Requests: 20, Seconds: 10},
	}
}

func conditions(s *guard.Settings) { s.Conditions = &guard.Conditions{MinAgeDays: 30} }

func tickets(s *guard.Settings) {
	s.Tickets = &guard.Tickets{DelayMs: guard.DefaultDelay.Milliseconds(), LeadMinutes: 5, ExpiryMinutes: 30}
}

func work(s *guard.Settings) { s.Challenge = &guard.Challenge{Difficulty: 16, MaxDifficulty: 64} }

// besiege makes the bots. Each sends its first purchase so that it arrives at the start, and goes on until it has one.
func (s *siege) besiege() {
	busy := s.begin.Add(-5 * time.Minute) // until when their cores work; they fetch as early as they may
	thief := &actor{bot: true}
	for i := range s.kind.accounts {
		age := 1
		if i%100 < s.kind.old {
			age = 365
		}
		a := &actor{
			caller: caller{user: int64(1_000_000 + i), address: s.kind.address(i), since: s.begin.AddDate(0, 0, -age)},
			bot:    true, waiting: true,
		}
		s.actors = append(s.actors, a)
		if s.settings.Tickets != nil {
			busy = s.hoard(a, thief, i, busy)
		}
		s.sim.at(s.begin.Add(-line), func() { s.send(a, 0) })
	}
}

// hoard lets an account fetch its ticket as soon as the bots' cores have solved its challenge, or gives it a stolen one.
func (s *siege) hoard(a, thief *actor, i int, busy time.Time) time.Time {
	if s.kind.stolen && i%100 != 0 {
		s.sim.at(s.begin.Add(-time.Minute), func() { a.ticket = thief.ticket })
		return busy
	}
	s.sim.at(busy, func() { s.fetch(a, core*s.kind.cores) })
	s.sim.at(s.begin.Add(-2*time.Minute), func() { thief.ticket = a.ticket })
	if s.settings.Challenge == nil {
		return busy
	}
	const mean = 0.5 * 16 // of a first challenge; harder ones hold up the next ones too
	return busy.Add(time.Duration(mean / (core * s.kind.cores) * float64(time.Second)))
}
