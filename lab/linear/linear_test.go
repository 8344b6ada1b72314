package linear_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/lab/linear"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const patience = 30 * time.Second

// at returns an answer whose request was under way from one millisecond to the other.
func at(sent, received int, a checker.Answer) checker.Answer {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a.Sent, a.Received = noon.Add(time.Duration(sent)*time.Millisecond),
		noon.Add(time.Duration(received)*time.Millisecond)
	return a
}

func accepted(user, order int64) checker.Answer {
	return checker.Answer{User: user, Outcome: checker.Accepted, Order: order}
}

func held(user, order int64) checker.Answer {
	return checker.Answer{User: user, Outcome: checker.Held, Order: order}
}

func soldOut(user int64) checker.Answer {
	return checker.Answer{User: user, Outcome: checker.Refused, Code: checker.CodeSoldOut}
}

func unknown(user int64) checker.Answer { return checker.Answer{User: user} }

func cancelled(user, order int64) checker.Answer {
	return checker.Answer{Action: checker.Cancel, User: user, Outcome: checker.Accepted, Order: order}
}

// several returns an answer for more than one unit.
func several(units int64, a checker.Answer) checker.Answer {
	a.Units = units
	return a
}

func notEnough(user, units int64) checker.Answer {
	return checker.Answer{User: user, Units: units, Outcome: checker.Refused, Code: checker.CodeNotEnough}
}

// TestCheckUnits: a sale of three units.
func TestCheckUnits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live    map[int64]int64
		want    linear.Verdict
		answers []checker.Answer
	}{
		"too many for one who came later": {map[int64]int64{1: 11, 3: 13}, linear.Yes, []checker.Answer{
			at(0, 1, several(2, accepted(1, 11))), at(2, 3, notEnough(2, 2)),
			at(4, 5, accepted(3, 13)), at(6, 7, soldOut(2)),
		}},
		"sold out with one left": {
			map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 1, several(2, accepted(1, 11))), at(2, 3, several(2, soldOut(2))),
			},
		},
		"not enough with none left": {
			map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 1, several(3, accepted(1, 11))), at(2, 3, notEnough(2, 2)),
			},
		},
		"not enough with enough left": {
			map[int64]int64{1: 11}, linear.No, []checker.Answer{at(0, 1, accepted(1, 11)), at(2, 3, notEnough(2, 2))},
		},
		"more units are sold than exist": {
			map[int64]int64{1: 11, 2: 12}, linear.No, []checker.Answer{
				at(0, 1, several(2, accepted(1, 11))), at(0, 1, several(2, accepted(2, 12))),
			},
		},
		"a later answer has other units": {
			map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 1, several(2, accepted(1, 11))), at(2, 3, held(1, 11)),
			},
		},
		"all units of a cancelled one": {map[int64]int64{2: 12}, linear.Yes, []checker.Answer{
			at(0, 1, several(3, accepted(1, 11))), at(2, 3, cancelled(1, 11)), at(4, 5, several(3, accepted(2, 12))),
		}},
		"more than a cancelled one's": {map[int64]int64{2: 12, 3: 13, 4: 14}, linear.No, []checker.Answer{
			at(0, 1, several(2, accepted(1, 11))), at(0, 1, accepted(3, 13)), at(2, 3, cancelled(1, 11)),
			at(4, 5, several(2, accepted(2, 12))), at(4, 5, accepted(4, 14)),
		}},
	} {
		if got := linear.Check(3, tt.answers, tt.live, patience); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestCheck: a sale of one unit.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		live    map[int64]int64
		want    linear.Verdict
		answers []checker.Answer
	}{
		{
			"one wins", map[int64]int64{1: 11}, linear.Yes, []checker.Answer{
				at(0, 5, accepted(1, 11)), at(1, 4, soldOut(2)),
			},
		},
		{
			"sold out before it was", map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 1, soldOut(2)), at(2, 3, accepted(1, 11)),
			},
		},
		{
			"sold twice", map[int64]int64{1: 11, 2: 12}, linear.No, []checker.Answer{
				at(0, 5, accepted(1, 11)), at(0, 5, accepted(2, 12)),
			},
		},
		{
			"named again", map[int64]int64{1: 11}, linear.Yes, []checker.Answer{
				at(0, 5, accepted(1, 11)), at(2, 4, held(1, 11)),
			},
		},
		{
			"another order named", map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 5, accepted(1, 11)), at(6, 7, held(1, 12)),
			},
		},
		{
			"a winner is refused", map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 5, accepted(1, 11)), at(6, 7, soldOut(1)),
			},
		},
		{
			"unknown was a purchase", map[int64]int64{1: 11}, linear.Yes, []checker.Answer{
				at(0, 1, unknown(1)), at(2, 3, soldOut(2)), at(4, 5, held(1, 11)),
			},
		},
		{
			"unknown was nothing", map[int64]int64{2: 12}, linear.Yes, []checker.Answer{
				at(0, 1, unknown(1)), at(2, 3, accepted(2, 12)), at(4, 5, soldOut(1)),
			},
		},
		{
			"unknown came late", map[int64]int64{1: 11}, linear.Yes, []checker.Answer{
				at(0, 1, unknown(1)), at(2, 3, accepted(1, 11)),
			},
		},
		{"not in the list", nil, linear.No, []checker.Answer{at(0, 5, accepted(1, 11))}},
		{"in the list, never named", map[int64]int64{1: 11}, linear.No, []checker.Answer{at(0, 5, soldOut(1))}},
		{"unknown, and in the list", map[int64]int64{1: 11}, linear.Yes, []checker.Answer{at(0, 5, unknown(1))}},
		{"a cancelled one's unit", map[int64]int64{2: 12}, linear.Yes, []checker.Answer{
			at(0, 1, accepted(1, 11)), at(2, 9, cancelled(1, 11)), at(3, 4, soldOut(2)), at(10, 11, soldOut(3)),
			at(12, 13, accepted(2, 12)),
		}},
		{"a cancelled one's unit twice", map[int64]int64{2: 12, 3: 13}, linear.No, []checker.Answer{
			at(0, 1, accepted(1, 11)), at(2, 9, cancelled(1, 11)), at(12, 13, accepted(2, 12)),
			at(12, 13, accepted(3, 13)),
		}},
		{"cancelled twice, its unit sold twice", map[int64]int64{2: 12, 3: 13}, linear.No, []checker.Answer{
			at(0, 1, accepted(1, 11)), at(2, 3, cancelled(1, 11)), at(4, 5, cancelled(1, 11)),
			at(12, 13, accepted(2, 12)), at(12, 13, accepted(3, 13)),
		}},
		{
			"accepted, cancelled, and accepted without the cancel's end", map[int64]int64{
				1: 12,
			}, linear.Yes, []checker.Answer{
				at(0, 1, accepted(1, 11)), at(2, 9, cancelled(1, 11)), at(3, 8, accepted(1, 12)),
			},
		},
		{"a unit that disappeared", nil, linear.No, []checker.Answer{at(0, 1, unknown(1)), at(2, 3, soldOut(2))}},
		{
			"cancelled and still live", map[int64]int64{1: 11}, linear.No, []checker.Answer{
				at(0, 1, accepted(1, 11)), at(2, 3, cancelled(1, 11)),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := linear.Check(1, tt.answers, tt.live, patience); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestOnePerUser: one buyer gets both units.
func TestOnePerUser(t *testing.T) {
	t.Parallel()
	answers := []checker.Answer{at(0, 1, accepted(1, 11)), at(2, 3, accepted(1, 12))}
	if got := linear.Check(2, answers, map[int64]int64{1: 12}, patience); got != linear.No {
		t.Errorf("%s, want %s", got, linear.No)
	}
}

// TestSimulatedSale checks two hundred requests of eight clients to a correct shop that loses answers and takes
// cancelled units back; then the same with one acceptance turned into a refusal.
func TestSimulatedSale(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			answers, live := simulate(seed)
			if got := linear.Check(20, answers, live, patience); got != linear.Yes {
				t.Fatalf("a shop that is right: %s", got)
			}
			for i, a := range answers {
				if a.Outcome == checker.Accepted && a.Action == checker.Buy {
					answers[i].Outcome, answers[i].Code = checker.Refused, checker.CodeSoldOut
					break
				}
			}
			if got := linear.Check(20, answers, live, patience); got != linear.No {
				t.Errorf("a winner was refused: %s", got)
			}
		})
	}
}

// simulate lets eight clients send two hundred requests to a shop behind a mutex, and returns their record and the live
// orders.
func simulate(seed uint64) (answers []checker.Answer, live map[int64]int64) {
	var mu sync.Mutex
	left, next := 20, int64(100)
	live = map[int64]int64{}
	serve := func(user int64, cancel bool) checker.Answer {
		mu.Lock()
		defer mu.Unlock()
		switch id := live[user]; {
		case cancel && id != 0:
			delete(live, user)
			left++
			return cancelled(user, id)
		case id != 0:
			return held(user, id)
		case left == 0:
			return soldOut(user)
		default:
			left, next = left-1, next+1
			live[user] = next
			return accepted(user, next)
		}
	}
	var recording sync.Mutex
	var wg sync.WaitGroup
	for client := range uint64(8) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, client))
			for range 25 {
				user := random.Int64N(50) + 1
				sent := time.Now()
				a := serve(user, random.IntN(10) == 0)
				if a.Action == checker.Buy && random.IntN(20) == 0 {
					a = unknown(user)
				}
				a.Sent, a.Received = sent, time.Now()
				recording.Lock()
				answers = append(answers, a)
				recording.Unlock()
			}
		})
	}
	wg.Wait()
	return answers, live
}
