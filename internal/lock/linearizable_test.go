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

// The operations of a client in a history, and their results.
type (
	step struct {
		do    string // "try", "release", "force", "look"
		read  bool   // on the reading side of a read-write lock
		owner lock.Owner
		hold  string // which hold is taken or released
	}
	heard struct {
		yes    bool   // obtained, released, was held
		owners string // the owners who hold that side
	}
)

// stance is one hold in the model.
type stance struct {
	read  bool
	owner lock.Owner
	hold  string
}

// lockModel is the specification of a lock: the holds of one owner, who may have both sides, or those of readers. The
// state is a []stance sorted by hold, so that the order of arrival does not make equal states differ.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []stance(nil) },
		Step: func(state, input, output any) (bool, any) {
			now, in, out := state.([]stance), input.(step), output.(heard)
			switch in.do {
			case "try":
				if !in.allowed(now) {
					return !out.yes, now
				}
				with := append(slices.Clone(now), stance{in.read, in.owner, in.hold})
				slices.SortFunc(with, func(a, b stance) int { return strings.Compare(a.hold, b.hold) })
				return out.yes, with
			case "release":
				left := slices.DeleteFunc(slices.Clone(now), func(h stance) bool { return h.hold == in.hold })
				return out.yes == (len(left) < len(now)), left
			case "force":
				left := slices.DeleteFunc(slices.Clone(now), func(h stance) bool { return h.read == in.read })
				return out.yes == (len(left) < len(now)), left
			default:
				return out.owners == ownersOf(now, in.read), now
			}
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.([]stance), b.([]stance)) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// allowed reports whether a try must succeed.
func (s step) allowed(now []stance) bool {
	writes := func(o lock.Owner) bool {
		return slices.ContainsFunc(now, func(h stance) bool { return !h.read && h.owner == o })
	}
	if s.read {
		return !slices.ContainsFunc(now, func(h stance) bool { return !h.read }) || writes(s.owner)
	}
	return len(now) == 0 || writes(s.owner)
}

// ownersOf returns the sorted owners of one side.
func ownersOf(now []stance, read bool) string {
	var owners []string
	for _, h := range now {
		if h.read == read {
			owners = append(owners, string(h.owner))
		}
	}
	slices.Sort(owners)
	return strings.Join(slices.Compact(owners), " ")
}

// TestHistoriesAreThoseOfALock lets several clients take, release, force and look at random, and checks that the
// results are linearizable: some order of the operations, each at a moment between its call and its return, explains
// them all. Combined locks are left out, because they are not linearizable: simultaneous tries can refuse each other
// while nobody has the lock.
func TestHistoriesAreThoseOfALock(t *testing.T) {
	t.Parallel()
	const histories, clients, steps = 200, 5, 12
	for _, k := range kinds {
		if k.parts > 0 {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, k.name)
			sidesOf := []kind{k}
			if k.rival != "" {
				sidesOf = append(sidesOf, kindOf(k.rival))
			}
			// No call may be repeated here. A repeated try takes the lock twice if it is forced in between, or may hold
			// it for a moment although it is refused in the end; no order of single steps explains that. The rows about
			// lost answers cover repeated calls.
			patient := &spy{Client: s.unhurried(t), repeats: true, unhurried: true}
			for n := range histories {
				before := patient.scripts.Load()
				var history []porcupine.Operation
				var mu sync.Mutex
				var wg sync.WaitGroup
				begin := time.Now()
				for id := range clients {
					c := &client{t: t, owner: lock.NewOwner()}
					for _, k := range sidesOf {
						l := k.open(newLocker(patient, s.prefix), fmt.Sprint(n), c.owner, lock.WithLease(time.Minute))
						c.sides = append(c.sides, l)
					}
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
				if asked := patient.scripts.Load() - before; asked != int64(len(history)) {
					t.Fatalf("Redis was asked %d times for %d operations", asked, len(history))
				}
				switch porcupine.CheckOperationsTimeout(lockModel(), history, soon) {
				case porcupine.Ok:
				case porcupine.Illegal:
					t.Fatalf("no order explains the results:\n%s", describe(history))
				case porcupine.Unknown:
					t.Fatal("the history is too long to be checked")
				}
			}
		})
	}
}

// client acts at random and remembers its holds.
type client struct {
	t     *testing.T
	owner lock.Owner // ignored by kinds that make their own
	sides []aLock    // the lock; or reading and writing
	holds []aHold
	names []string
	taken int
}

func (c *client) act() (step, heard) {
	ctx := c.t.Context()
	side := rand.IntN(len(c.sides))
	l, read := c.sides[side], side < len(c.sides)-1
	switch n := rand.IntN(10); {
	case n == 0:
		was, err := l.ForceUnlock(ctx)
		c.check(err)
		return step{do: "force", read: read}, heard{yes: was}
	case n == 1:
		state, err := l.State(ctx)
		c.check(err)
		var has []stance
		for _, h := range state.Holders {
			has = append(has, stance{owner: h.Owner})
		}
		return step{do: "look", read: read}, heard{owners: ownersOf(has, false)}
	case n < 6 && len(c.holds) > 0:
		h, name := c.holds[0], c.names[0]
		c.holds, c.names = c.holds[1:], c.names[1:]
		err := h.Release(ctx)
		if !errors.Is(err, lock.ErrNotHeld) {
			c.check(err)
		}
		return step{do: "release", hold: name}, heard{yes: err == nil}
	default:
		h, err := l.TryLock(ctx)
		if !errors.Is(err, lock.ErrNotObtained) {
			c.check(err)
		}
		c.taken++
		if err != nil {
			return step{do: "try", read: read, owner: c.owner}, heard{}
		}
		name := fmt.Sprintf("%s/%d", h.Owner(), c.taken)
		c.holds, c.names = append(c.holds, h), append(c.names, name)
		return step{do: "try", read: read, owner: h.Owner(), hold: name}, heard{yes: true}
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
