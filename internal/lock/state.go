package lock

import (
	"context"
	"fmt"
	"time"
)

// State is who had a lock at one moment. It is old when it arrives: for reports and operators, never for a decision
// that the lock itself has to make.
type State struct {
	// Holders are those who have the lock; none when it is free.
	Holders []Holder
	// Token is the fencing token of the present stay, 0 when the lock is free.
	Token int64
}

// Holder is one owner who has a lock.
type Holder struct {
	Owner Owner
	// Holds is how many times he has it.
	Holds int
	// TTL is when it ends if he does not renew it; with several holds, the last one.
	TTL time.Duration
}

// State asks Redis who has the lock. The error is ctx's or Redis's.
func (l *Lock) State(ctx context.Context) (State, error) {
	if l.group != nil {
		return l.stateOfGroup(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	answer, err := l.protocol.state().run(ctx, l.locker.client).Slice()
	if err != nil {
		return State{}, l.wrap("state", err)
	}
	s, err := parseState(answer)
	if err != nil {
		return State{}, l.wrap("state", err)
	}
	return s, nil
}

// IsLocked reports whether anybody had the lock.
func (s State) IsLocked() bool { return len(s.Holders) > 0 }

// HeldBy reports whether the owner had the lock.
func (s State) HeldBy(o Owner) bool { return s.HoldCount(o) > 0 }

// HoldCount returns how many times the owner had the lock.
func (s State) HoldCount(o Owner) int {
	n := 0
	for _, h := range s.Holders {
		if h.Owner == o {
			n += h.Holds
		}
	}
	return n
}

// TTL returns when the lock would be free if nobody renewed it; 0 when it was.
func (s State) TTL() time.Duration {
	var longest time.Duration
	for _, h := range s.Holders {
		longest = max(longest, h.TTL)
	}
	return longest
}

// parseState reads {token, owner, holds, ms, ...}.
func parseState(answer []any) (State, error) {
	var s State
	if len(answer)%3 != 1 {
		return s, fmt.Errorf("script answered %v", answer)
	}
	token, ok := answer[0].(int64)
	for rest := answer[1:]; len(rest) > 0; rest = rest[3:] {
		owner, isText := rest[0].(string)
		holds, isNumber := rest[1].(int64)
		ms, isTime := rest[2].(int64)
		ok = ok && isText && isNumber && isTime
		s.Holders = append(s.Holders, Holder{Owner(owner), int(holds), time.Duration(ms) * time.Millisecond})
	}
	if !ok {
		return State{}, fmt.Errorf("script answered %v", answer)
	}
	s.Token = token
	return s, nil
}
