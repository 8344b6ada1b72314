package order

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

const letterA = "5-0"

// fakeLetters is one dead letter over fakeStores: that of user 1's order 1.
type fakeLetters struct {
	*fakeStores

	letter   DeadLetter
	gone     bool
	replayed []Claim
	onReplay func() // what happens just before
}

func newFakeLetters(claims ...Claim) *fakeLetters {
	f := &fakeLetters{fakeStores: newFakeStores(10, claims...)}
	f.letter = DeadLetter{ID: letterA, Why: "damaged", Claim: Claim{OrderID: 1, UserID: 1, VoucherID: voucherA}}
	return f
}

func (f *fakeLetters) Letters(context.Context, int, string, int) (letters []DeadLetter, total int64, err error) {
	err = f.call("letters", func() error {
		if !f.gone {
			letters, total = []DeadLetter{f.letter}, 1
		}
		return nil
	})
	return letters, total, err
}

func (f *fakeLetters) Letter(_ context.Context, _ int, id string) (l DeadLetter, err error) {
	err = f.call("letter", func() error {
		if l = f.letter; f.gone || id != l.ID {
			return ErrNoLetter
		}
		return nil
	})
	return l, err
}

func (f *fakeLetters) Replay(_ context.Context, _ int, _ string, c Claim) (done bool, err error) {
	if f.onReplay != nil {
		f.onReplay()
	}
	err = f.call("replay", func() error {
		if f.gone {
			return ErrNoLetter
		}
		if done = f.places[c.Buyer()] == c.OrderID; done {
			f.gone, f.replayed = true, append(f.replayed, c)
		}
		return nil
	})
	return done, err
}

func (f *fakeLetters) Remove(context.Context, int, string) (removed bool, err error) {
	err = f.call("remove", func() error { removed, f.gone = !f.gone, true; return nil })
	return removed, err
}

func (f *fakeLetters) HeldBy(_ context.Context, user int64, sales []SaleRef) (ids []int64, err error) {
	err = f.call("held", func() error {
		for _, s := range sales {
			ids = append(ids, f.places[BuyerKey{VoucherID: s.VoucherID, UserID: user}])
		}
		return nil
	})
	return ids, err
}

func newTestLetters(f *fakeLetters) *DeadLetters {
	return NewDeadLetters(DeadLetterStores{
		Letters: f, Held: f, Rows: &fakeRows{rows: f.rows}, Ledger: fakeLedger{f.fakeStores}, Places: f, Outbox: f,
	}, 0, &fakeIDs{last: 900}, f, f, deaf{}, quiet())
}

func TestDeadLetterStandings(t *testing.T) {
	t.Parallel()
	row := func(user int64, status Status) func(*fakeLetters) {
		return func(f *fakeLetters) { f.rows[1] = Order{ID: 1, UserID: user, VoucherID: voucherA, Status: status} }
	}
	for name, tc := range map[string]struct {
		given    func(*fakeLetters)
		standing Standing
		status   Status
		replays  bool
	}{
		"accepted, no row":                  {given: func(*fakeLetters) {}, standing: StandingWaiting, replays: true},
		"recorded":                          {given: row(1, Paid), standing: StandingRecorded, status: Paid},
		"failed":                            {given: row(1, Failed), standing: StandingRecorded, status: Failed},
		"another user's order has its id":   {given: row(2, Unpaid), standing: StandingWaiting, replays: true},
		"nobody has a place":                {given: func(f *fakeLetters) { clear(f.places) }, standing: StandingUnknown},
		"the place is held by another one":  {given: func(f *fakeLetters) { f.places[BuyerKey{voucherA, 1}] = 2 }, standing: StandingUnknown},
		"it does not say which order it is": {given: func(f *fakeLetters) { f.letter.Claim.OrderID = 0 }, standing: StandingUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeLetters(claim(1, 1, voucherA))
			tc.given(f)
			d := newTestLetters(f)
			letters, total, err := d.List(t.Context(), "", 10)
			if err != nil || total != 1 || letters[0].Standing != tc.standing || letters[0].Status != tc.status {
				t.Errorf("listed %+v, %d, %v", letters, total, err)
			}
			_, err = d.Replay(t.Context(), letterA, "me", "test")
			if tc.replays && (err != nil || len(f.replayed) != 1) || !tc.replays && (!errors.Is(err, ErrNotReplayable) || f.gone) {
				t.Errorf("replayed %v: %v", f.replayed, err)
			}
		})
	}
}

func TestReplayOfWhatIsSettledMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFakeLetters(claim(1, 1, voucherA))
	d := newTestLetters(f)
	f.onReplay = func() { // a rebuild has queued it, it failed, and its place was emptied
		f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Failed}
		clear(f.places)
	}
	if _, err := d.Replay(t.Context(), letterA, "me", "test"); !errors.Is(err, ErrNotReplayable) || f.gone {
		t.Errorf("replayed: %v", err)
	}
	f.onReplay = func() { f.gone = true }
	f.rows, f.places[BuyerKey{voucherA, 1}] = map[int64]Order{}, 1
	if _, err := newTestLetters(f).Replay(t.Context(), letterA, "me", "test"); !errors.Is(err, ErrNoLetter) {
		t.Errorf("replayed what has gone: %v", err)
	}
}

// A discarded letter's order fails, its place is emptied, its unit goes back, once, wherever whoever discards dies.
func TestDiscardSettlesTheOrder(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*fakeLetters){
		"nothing goes wrong":                  func(*fakeLetters) {},
		"the ledger is away":                  func(f *fakeLetters) { f.before["decide"] = 1 },
		"the ledger's answer is lost":         func(f *fakeLetters) { f.after["decide"] = 1 },
		"Redis is away while it is corrected": func(f *fakeLetters) { f.before["correct"] = 3 },
		"its answer is lost":                  func(f *fakeLetters) { f.after["correct"] = 1 },
		"the letter is not removed":           func(f *fakeLetters) { f.before["remove"] = 1 },
		"the letter is removed unheard":       func(f *fakeLetters) { f.after["remove"] = 1 },
		"nobody knows who has a place":        func(f *fakeLetters) { f.before["held"] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFakeLetters(claim(1, 1, voucherA))
				d := newTestLetters(f)
				fault(f)
				for try := 0; !f.gone; try++ {
					if _, err := d.Discard(t.Context(), letterA, "me", "test"); err != nil && !errors.Is(err, ErrUnavailable) || try == 3 {
						t.Fatalf("try %d: %v", try, err)
					}
				}
				want := Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Failed, Reason: Discarded}
				if diff := cmp.Diff(want, f.rows[1]); diff != "" {
					t.Errorf("row (-want +got):\n%s", diff)
				}
				if len(f.places) != 0 || f.given != 1 || f.stock[voucherA] != 10 {
					t.Errorf("places %v, %d units given back, %d in the ledger", f.places, f.given, f.stock[voucherA])
				}
			})
		})
	}
}

// What needs no settling is only removed.
func TestDiscardLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]func(*fakeLetters){
		"recorded":         func(f *fakeLetters) { f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Paid} },
		"nobody's":         func(f *fakeLetters) { clear(f.places) },
		"unreadable":       func(f *fakeLetters) { f.letter.Claim = Claim{} },
		"another's place":  func(f *fakeLetters) { f.places[BuyerKey{voucherA, 1}] = 2 },
		"replayed already": func(f *fakeLetters) { f.gone = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeLetters(claim(1, 1, voucherA))
			given(f)
			places, rows, gone := len(f.places), len(f.rows), f.gone
			_, err := newTestLetters(f).Discard(t.Context(), letterA, "me", "test")
			if errors.Is(err, ErrNoLetter) != gone || !gone && err != nil {
				t.Errorf("error %v", err)
			}
			if !f.gone || len(f.places) != places || len(f.rows) != rows || f.given != 0 {
				t.Errorf("gone %v, places %v, rows %v, %d given back", f.gone, f.places, f.rows, f.given)
			}
		})
	}
}

// An order that was cancelled holds its place until its operation is applied, which gives the unit back.
func TestDiscardOfACancelledOrderFollowsItsOperation(t *testing.T) {
	t.Parallel()
	f := newFakeLetters(claim(1, 1, voucherA))
	f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Cancelled}
	f.onFollow = func() { clear(f.places) }
	if _, err := newTestLetters(f).Discard(t.Context(), letterA, "me", "test"); err != nil {
		t.Fatal(err)
	}
	if !f.gone || f.given != 0 || len(f.followed) != 1 {
		t.Errorf("gone %v, %d given back, followed %v", f.gone, f.given, f.followed)
	}
}
