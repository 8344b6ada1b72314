package recorder

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/reason"
)

const letterA = "5-0"

// fakeDeadLetters is one dead letter, of user 1's order 1, on top of FakeStores.
type fakeDeadLetters struct {
	*ordertest.FakeStores

	letter   DeadLetter
	gone     bool
	replayed []order.Claim
	onReplay func() // runs just before the replay
}

func newFakeDeadLetters(claims ...order.Claim) *fakeDeadLetters {
	f := &fakeDeadLetters{FakeStores: ordertest.NewFakeStores(10, claims...)}
	f.letter = DeadLetter{
		ID: letterA, Why: "damaged", Claim: order.Claim{OrderID: 1, UserID: 1, VoucherID: ordertest.VoucherA},
	}
	return f
}

func (f *fakeDeadLetters) DeadLetters(
	context.Context, int, string, int,
) (letters []DeadLetter, total int64, err error) {
	err = f.Call("dead letters", func() error {
		if !f.gone {
			letters, total = []DeadLetter{f.letter}, 1
		}
		return nil
	})
	return letters, total, err
}

func (f *fakeDeadLetters) DeadLetter(_ context.Context, _ int, id string) (l DeadLetter, err error) {
	err = f.Call("dead letter", func() error {
		if l = f.letter; f.gone || id != l.ID {
			return order.ErrNoDeadLetter
		}
		return nil
	})
	return l, err
}

func (f *fakeDeadLetters) Replay(_ context.Context, _ int, _ string, c order.Claim) (done bool, err error) {
	if f.onReplay != nil {
		f.onReplay()
	}
	err = f.Call("replay", func() error {
		if f.gone {
			return order.ErrNoDeadLetter
		}
		if done = f.Holders[c.Buyer()] == c.OrderID; done {
			f.gone, f.replayed = true, append(f.replayed, c)
		}
		return nil
	})
	return done, err
}

func (f *fakeDeadLetters) Remove(context.Context, int, string) (removed bool, err error) {
	err = f.Call("remove", func() error { removed, f.gone = !f.gone, true; return nil })
	return removed, err
}

func (f *fakeDeadLetters) OrdersOf(_ context.Context, sale order.SaleRef, users []int64) (ids []int64, err error) {
	err = f.Call("holders", func() error {
		for _, user := range users {
			ids = append(ids, f.Holders[order.BuyerKey{VoucherID: sale.VoucherID, UserID: user}])
		}
		return nil
	})
	return ids, err
}

func newTestLetters(f *fakeDeadLetters) *DeadLetters {
	return NewDeadLetters(DeadLetterStores{
		DeadLetters: f, Holders: f.OrdersOf, Rows: &ordertest.FakeOrders{Rows: f.Rows},
		Ledger: f.FakeStores, Correct: f.Correct, Flush: f.Flush,
	}, func() []int { return []int{0} }, f, f, ordertest.NopObserver{}, ordertest.Quiet())
}

func TestDeadLetterStandings(t *testing.T) {
	t.Parallel()
	row := func(user int64, status order.Status) func(*fakeDeadLetters) {
		return func(f *fakeDeadLetters) {
			f.Rows[1] = order.Order{ID: 1, UserID: user, VoucherID: ordertest.VoucherA, Status: status}
		}
	}
	for name, tc := range map[string]struct {
		given   func(*fakeDeadLetters)
		state   DeadLetterState
		status  order.Status
		replays bool
	}{
		"accepted, no row": {
			given: func(*fakeDeadLetters) {}, state: DeadLetterWaiting, replays: true,
		},
		"recorded": {given: row(1, order.Paid), state: DeadLetterRecorded, status: order.Paid},
		"failed": {
			given: row(1, order.Failed), state: DeadLetterRecorded, status: order.Failed,
		},
		"another user's order has its id": {given: row(2, order.Unpaid), state: DeadLetterWaiting, replays: true},
		"there is no holder": {
			given: func(f *fakeDeadLetters) { clear(f.Holders) }, state: DeadLetterUnknown,
		},
		"another order is the holder's": {
			given: func(f *fakeDeadLetters) { f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 2 },
			state: DeadLetterUnknown,
		},
		"it does not say which order it is": {
			given: func(f *fakeDeadLetters) { f.letter.Claim.OrderID = 0 }, state: DeadLetterUnreadable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeDeadLetters(ordertest.NewClaim(1, 1, ordertest.VoucherA))
			tc.given(f)
			d := newTestLetters(f)
			letters, total, err := d.List(t.Context(), "", 10)
			if err != nil || total != 1 || letters[0].State != tc.state || letters[0].Status != tc.status {
				t.Errorf("listed %+v, %d, %v", letters, total, err)
			}
			_, err = d.Replay(t.Context(), letterA, "me", "test")
			if tc.replays && (err != nil || len(f.replayed) != 1) ||
				!tc.replays && (!errors.Is(err, ErrNotReplayable) || f.gone) {
				t.Errorf("replayed %v: %v", f.replayed, err)
			}
		})
	}
}

func TestReplayOfWhatIsSettledMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFakeDeadLetters(ordertest.NewClaim(1, 1, ordertest.VoucherA))
	d := newTestLetters(f)
	f.onReplay = func() { // meanwhile a rebuild has queued the order, it failed, and its holder was removed
		f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Failed}
		clear(f.Holders)
	}
	if _, err := d.Replay(t.Context(), letterA, "me", "test"); !errors.Is(err, ErrNotReplayable) || f.gone {
		t.Errorf("replayed: %v", err)
	}
	f.onReplay = func() { f.gone = true }
	f.Rows, f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = map[int64]order.Order{}, 1
	if _, err := newTestLetters(f).Replay(t.Context(), letterA, "me", "test"); !errors.Is(err, order.ErrNoDeadLetter) {
		t.Errorf("replayed a dead letter that is gone: %v", err)
	}
}

// Discarding makes the order fail, removes its holder and gives its unit back, once, wherever the process dies.
func TestDiscardSettlesTheOrder(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*fakeDeadLetters){
		"nothing goes wrong":                         func(*fakeDeadLetters) {},
		"the ledger is away":                         func(f *fakeDeadLetters) { f.Before["settle"] = 1 },
		"the ledger's answer is lost":                func(f *fakeDeadLetters) { f.After["settle"] = 1 },
		"Redis is away while it is corrected":        func(f *fakeDeadLetters) { f.Before["correct"] = 3 },
		"its answer is lost":                         func(f *fakeDeadLetters) { f.After["correct"] = 1 },
		"the letter is not removed":                  func(f *fakeDeadLetters) { f.Before["remove"] = 1 },
		"the letter is removed with its answer lost": func(f *fakeDeadLetters) { f.After["remove"] = 1 },
		"the holders cannot be read":                 func(f *fakeDeadLetters) { f.Before["holders"] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFakeDeadLetters(ordertest.NewClaim(1, 1, ordertest.VoucherA))
				d := newTestLetters(f)
				fault(f)
				for try := 0; !f.gone; try++ {
					if _, err := d.Discard(t.Context(), letterA, "me", "test"); err != nil &&
						!errors.Is(err, order.ErrUnavailable) && !errors.Is(err, order.ErrUnknownChange) || try == 3 {
						t.Fatalf("try %d: %v", try, err)
					}
				}
				want := order.Order{
					ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Failed, Reason: reason.Discarded,
				}
				if diff := cmp.Diff(want, f.Rows[1]); diff != "" {
					t.Errorf("row (-want +got):\n%s", diff)
				}
				if len(f.Holders) != 0 || f.Given != 1 || f.Stock[ordertest.VoucherA] != 10 {
					t.Errorf("holders %v, %d units given back, %d in the ledger",
						f.Holders, f.Given, f.Stock[ordertest.VoucherA])
				}
			})
		})
	}
}

// Discarding a dead letter that has no order to settle only removes it.
func TestDiscardLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]func(*fakeDeadLetters){
		"recorded": func(f *fakeDeadLetters) {
			f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}
		},
		"nobody's":   func(f *fakeDeadLetters) { clear(f.Holders) },
		"unreadable": func(f *fakeDeadLetters) { f.letter.Claim = order.Claim{} },
		"another's holder": func(f *fakeDeadLetters) {
			f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 2
		},
		"replayed already": func(f *fakeDeadLetters) { f.gone = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeDeadLetters(ordertest.NewClaim(1, 1, ordertest.VoucherA))
			given(f)
			holders, rows, gone := len(f.Holders), len(f.Rows), f.gone
			_, err := newTestLetters(f).Discard(t.Context(), letterA, "me", "test")
			if errors.Is(err, order.ErrNoDeadLetter) != gone || !gone && err != nil {
				t.Errorf("error %v", err)
			}
			if !f.gone || len(f.Holders) != holders || len(f.Rows) != rows || f.Given != 0 {
				t.Errorf("gone %v, holders %v, rows %v, %d given back", f.gone, f.Holders, f.Rows, f.Given)
			}
		})
	}
}

// A cancelled order makes its user a holder until Redis has applied the operation that gives its unit back.
func TestDiscardOfACancelledOrderFollowsItsOperation(t *testing.T) {
	t.Parallel()
	f := newFakeDeadLetters(ordertest.NewClaim(1, 1, ordertest.VoucherA))
	f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
	f.OnFlush = func() { clear(f.Holders) }
	if _, err := newTestLetters(f).Discard(t.Context(), letterA, "me", "test"); err != nil {
		t.Fatal(err)
	}
	if !f.gone || f.Given != 0 || len(f.Flushed) != 1 {
		t.Errorf("gone %v, %d given back, followed %v", f.gone, f.Given, f.Flushed)
	}
}
