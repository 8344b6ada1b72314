package lock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"seckill/internal/lock"
)

// What a client does in a history, and hears.
type (
	step struct {
		do    string // "try", "release", "force", "look"
		owner lock.Owner
		hold  string // which hold is taken or released
	}
	heard struct {
		yes   bool // obtained, released, was held
		owner lock.Owner
	}
)

// lockModel is what a lock is: an owner and his holds, or nobody. The state is the owner and his holds with spaces
// between, or "".
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			now, in, out := strings.Fields(state.(string)), input.(step), output.(heard)
			switch in.do {
			case "try":
				if free := len(now) == 0; free || now[0] == string(in.owner) {
					if free {
						now = []string{string(in.owner)}
					}
					return out.yes, strings.Join(append(now, in.hold), " ")
				}
				return !out.yes, state
			case "release":
				i := slices.Index(now, in.hold)
				if i < 0 {
					return !out.yes, state
				}
				if now = slices.Delete(now, i, i+1); len(now) == 1 {
					now = nil
				}
				return out.yes, strings.Join(now, " ")
			case "force":
				return out.yes == (len(now) > 0), ""
			default:
				return out.owner == "" && len(now) == 0 || len(now) > 0 && out.owner == lock.Owner(now[0]), state
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// TestHistoriesAreThoseOfALock lets several clients take, release, force and look at random, and asks whether some
// order of what they did, each at a moment between call and return, explains all they heard.
func TestHistoriesAreThoseOfALock(t *testing.T) {
	t.Parallel()
	const histories, clients, steps = 200, 5, 12
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, k.name)
			for n := range histories {
				var history []porcupine.Operation
				var mu sync.Mutex
				var wg sync.WaitGroup
				begin := time.Now()
				for id := range clients {
					c := &client{t: t, owner: lock.NewOwner()}
					c.lock = k.open(lock.New(s.client, s.prefix), fmt.Sprint(n), c.owner, lock.WithLease(time.Minute))
					wg.Go(func() {
						for range steps {
							called := time.Since(begin).Nanoseconds()
							in, out := c.act()
							returned := time.Since(begin).Nanoseconds()
							mu.Lock()
							history = append(history, porcupine.Operation{
								ClientId: id, Input: in, Call: called, Output: out, Return: returned,
							})
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				if t.Failed() {
					return
				}
				switch porcupine.CheckOperationsTimeout(lockModel(), history, soon) {
				case porcupine.Ok:
				case porcupine.Illegal:
					t.Fatalf("no order explains what was heard:\n%s", describe(history))
				case porcupine.Unknown:
					t.Fatal("the history is too long to be checked")
				}
			}
		})
	}
}

// client acts at random and knows its holds.
type client struct {
	t     *testing.T
	owner lock.Owner // whom kinds that make their own do not know
	lock  *lock.Lock
	holds []*lock.Hold
	names []string
	taken int
}

func (c *client) act() (step, heard) {
	ctx := c.t.Context()
	switch n := rand.IntN(10); {
	case n == 0:
		was, err := c.lock.ForceUnlock(ctx)
		c.check(err)
		return step{do: "force"}, heard{yes: was}
	case n == 1:
		state, err := c.lock.State(ctx)
		c.check(err)
		if !state.IsLocked() {
			return step{do: "look"}, heard{}
		}
		return step{do: "look"}, heard{owner: state.Holders[0].Owner}
	case n < 6 && len(c.holds) > 0:
		h, name := c.holds[0], c.names[0]
		c.holds, c.names = c.holds[1:], c.names[1:]
		err := h.Release(ctx)
		if !errors.Is(err, lock.ErrNotHeld) {
			c.check(err)
		}
		return step{do: "release", hold: name}, heard{yes: err == nil}
	default:
		h, err := c.lock.TryLock(ctx)
		if !errors.Is(err, lock.ErrNotObtained) {
			c.check(err)
		}
		c.taken++
		if err != nil {
			return step{do: "try", owner: c.owner}, heard{}
		}
		name := fmt.Sprintf("%s/%d", h.Owner(), c.taken)
		c.holds, c.names = append(c.holds, h), append(c.names, name)
		return step{do: "try", owner: h.Owner(), hold: name}, heard{yes: true}
	}
}

func (c *client) check(err error) {
	if err != nil {
		c.t.Error(err)
	}
}

func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, op := range history {
		fmt.Fprintf(&text, "%9d-%9d client %d: %+v -> %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return text.String()
}
