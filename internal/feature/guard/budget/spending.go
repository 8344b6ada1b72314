package budget

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

const (
	// spendingRoom bounds how many budgets of each kind are published in a second. Heavy callers get in first.
	spendingRoom = 256
	// tellFrom is the part of a budget, one in eight, whose spending makes it be published. Most callers ask once or
	// twice.
	tellFrom = 8
	// leastDebt is the longest wait that spending on other instances can cause, unless filling the budget takes longer.
	leastDebt = time.Minute
	// mostTold bounds how much one publication can take from a budget: as much as the longest limit takes to fill.
	mostTold = guards.MaxSeconds * time.Second
	// mostUnitsTold is the same bound for units.
	mostUnitsTold = 1000 * unitTime
)

// Spent is what was spent from a budget on one instance.
type Spent struct {
	Budget string        // its key, as budgetKey.text writes it
	Time   time.Duration // the amount, as the time in which the budget regains it
	Ago    time.Duration // since it was published
}

// spending collects the amounts to be published, by budget. It is safe for concurrent use, and bounded.
type spending struct {
	mu    sync.Mutex
	spent map[budgetKey]time.Duration
	room  map[kind]int
}

func newSpending() *spending {
	return &spending{spent: make(map[budgetKey]time.Duration), room: make(map[kind]int)}
}

// add adds an amount that was spent from a budget. It reports whether there was room for the budget.
func (s *spending) add(k budgetKey, spent time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.spent[k]; !known {
		if s.room[k.kind] >= spendingRoom {
			return false
		}
		s.room[k.kind]++
	}
	s.spent[k] += spent
	return true
}

// take returns the amounts that were added since the last call.
func (s *spending) take() []Spent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spent) == 0 {
		return nil
	}
	names, taken := kindNames(), make([]Spent, 0, len(s.spent))
	for k, spent := range s.spent {
		taken = append(taken, Spent{Budget: k.text(names), Time: spent})
	}
	clear(s.spent)
	clear(s.room)
	return taken
}

// spentElsewhere takes from the budgets here the amounts spent on other instances. It skips malformed ones.
func (t *Table) spentElsewhere(told []Spent) {
	now, names := t.now(), kindNames()
	for _, s := range told {
		if k, ok := parseBudget(s.Budget, names); ok && s.Time > 0 {
			of, most := t.requests(), mostTold
			if k.kind&won != 0 {
				of, most = t.units(), mostUnitsTold
			}
			of.charge(k, min(s.Time, most), now.Add(-max(0, s.Ago)))
		}
	}
}

// kindNames are the names of kinds in publications.
func kindNames() map[kind]string {
	return map[kind]string{
		address4: "address4", address6: "address6", network4: "network4", network6: "network6",
		account: "user", noAddress: "unknown", network4 | asked: "asked-network4", network6 | asked: "asked-network6",
		noAddress | asked: "asked-unknown", accountAsked: "asked-user",
		address4 | won: "won-address4", address6 | won: "won-address6", network4 | won: "won-network4",
		network6 | won: "won-network6", noAddress | won: "won-unknown",
	}
}

// text returns sale, kind and user, address or network: 7:user:42.
func (k budgetKey) text(names map[kind]string) string {
	return strconv.FormatInt(k.sale, 10) + ":" + names[k.kind] + ":" + strconv.FormatUint(k.who, 10)
}

// parseBudget reads a key as text writes it, on an instance of this version or another one.
func parseBudget(text string, names map[kind]string) (k budgetKey, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return k, false
	}
	sale, errSale := strconv.ParseInt(parts[0], 10, 64)
	who, errWho := strconv.ParseUint(parts[2], 10, 64)
	for kind, name := range names {
		if name == parts[1] {
			return budgetKey{sale, who, kind}, errSale == nil && errWho == nil
		}
	}
	return k, false
}
