package group

import (
	"context"
	"slices"
	"time"

	"seckill/internal/lock"
)

// State asks the servers of all members for the owners of each, and lists the owners who hold enough members. An
// owner's number of holds and TTL are those that enough members have at least.
func (l *Lock) State(ctx context.Context) (lock.State, error) {
	members, err := askAll(l, func(m one) (lock.State, error) { return m.State(ctx) })
	if err != nil {
		return lock.State{}, err
	}
	var s lock.State
	for _, m := range members {
		for _, h := range m.Holders {
			if s.HeldBy(h.Owner) {
				continue
			}
			if whole, token := l.holder(h.Owner, members); whole.Holds > 0 {
				s.Holders = append(s.Holders, whole)
				s.Token = max(s.Token, token)
			}
		}
	}
	return s, nil
}

// holder combines the members' states of one owner.
func (l *Lock) holder(o lock.Owner, members []lock.State) (lock.Holder, int64) {
	holds, ttls, tokens := make([]int, len(members)), make([]time.Duration, len(members)), make([]int64, len(members))
	var label string
	for i, m := range members {
		for _, h := range m.Holders {
			if h.Owner == o {
				holds[i], ttls[i], tokens[i], label = h.Holds, h.TTL, m.Token, h.Label
			}
		}
	}
	slices.Sort(holds)
	slices.Sort(ttls)
	last := len(members) - l.need // exactly need members have at least the value at this index
	token := slices.Max(tokens)
	if !l.all() { // the token that a majority has at least
		slices.Sort(tokens)
		token = tokens[last]
	}
	return lock.Holder{Owner: o, Holds: holds[last], TTL: ttls[last], Label: label}, token
}
