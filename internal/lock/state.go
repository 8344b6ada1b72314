package lock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// State says who had a lock at one moment; beyond 500 holds, at successive moments. It is outdated when it arrives: use
// it for reports and operators, never for a decision that needs the lock.
type State struct {
	// Holders are the owners who hold the lock; empty if it is free.
	Holders []Holder
	// Token is the fencing token of the present stay, 0 when the lock is free.
	Token int64
}

// Holder is one owner of a lock.
type Holder struct {
	Owner Owner
	// Label is the host and the process of the owner's first hold: "host/pid".
	Label string
	// Holds is how many holds the owner has.
	Holds int
	// TTL is how long the holder's last hold lasts if it is not renewed.
	TTL time.Duration
}

// State asks Redis who has the lock. The error is ctx's or Redis's.
func (l *Lock) State(ctx context.Context) (State, error) {
	var s State
	index := map[Owner]int{}
	for from := 1; ; from += statePage {
		n, err := readState(&s, index, l.ask(ctx, l.callState(from)))
		if err != nil {
			return State{}, l.wrap("state", err)
		}
		if n < statePage {
			return s, nil
		}
	}
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

// TTL returns how long the lock would stay taken if nobody renewed it; 0 if it was free.
func (s State) TTL() time.Duration {
	var longest time.Duration
	for _, h := range s.Holders {
		longest = max(longest, h.TTL)
	}
	return longest
}

// readState adds the state script's answer, {token, "request label owner", ms, ...}, to s and returns the number of
// holds in it. index maps owners to their position in s.Holders.
func readState(s *State, index map[Owner]int, answer *redis.Cmd) (holds int, err error) {
	got, err := answer.Slice()
	if err != nil {
		return 0, err
	}
	odd := fmt.Errorf("script answered %v", got)
	if len(got)%2 != 1 {
		return 0, odd
	}
	token, ok := got[0].(int64)
	for rest := got[1:]; len(rest) > 0; rest = rest[2:] {
		hold, isText := rest[0].(string)
		ms, isTime := rest[1].(int64)
		parts := strings.SplitN(hold, " ", 3)
		if !ok || !isText || !isTime || len(parts) != 3 {
			return 0, odd
		}
		if ms > 0 || ms == -1 { // -1: a foreign key without an end
			o, ttl := Owner(parts[2]), time.Duration(ms)*time.Millisecond
			i, known := index[o]
			if !known {
				i = len(s.Holders)
				index[o] = i
				s.Holders = append(s.Holders, Holder{Owner: o, Label: parts[1]})
			}
			s.Holders[i].Holds++
			s.Holders[i].TTL = max(s.Holders[i].TTL, ttl)
			s.Token = token
		}
	}
	return len(got) / 2, nil
}

// Mutexes returns the sorted names of the mutexes that are held or were held within the last seconds. It is for
// operators: it scans all keys of Redis, 1,000 at a time.
func (l *Locker) Mutexes(ctx context.Context) ([]string, error) {
	nodes, ok := l.client.(redis.Cmdable)
	if !ok {
		return nil, fmt.Errorf("list locks: a %T cannot look through keys", l.client)
	}
	var mu sync.Mutex
	var names []string
	look := func(ctx context.Context, node redis.Cmdable) error {
		literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(l.prefix)
		keys := node.Scan(ctx, 0, literal+"{lock:*}:mutex:*", 1000).Iterator()
		for keys.Next(ctx) {
			_, name, _ := strings.Cut(strings.TrimPrefix(keys.Val(), l.prefix), "}:mutex:")
			mu.Lock()
			names = append(names, name)
			mu.Unlock()
		}
		return keys.Err()
	}
	var err error
	if c, ok := nodes.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return look(ctx, node) })
	} else {
		err = look(ctx, nodes)
	}
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
