package order

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeHearings is Redis as a witness sees it.
type fakeHearings struct {
	faults
	stops    []Hearing
	late     bool
	handedIn []Testimony
}

func (f *fakeHearings) Attend(context.Context, int, string) (stops []Hearing, err error) {
	err = f.call("attend", func() error { stops = f.stops; return nil })
	return stops, err
}

func (f *fakeHearings) Testify(_ context.Context, _ Hearing, _ string, t Testimony) (bool, int64, error) {
	err := f.call("testify", func() error { f.handedIn = append(f.handedIn, t); return nil })
	return !f.late, 6, err
}

// fakeSightings is an Admission that has seen one mark.
type fakeSightings Mark

func (f fakeSightings) Seen(int64) Mark { return Mark(f) }

// newTestWitness returns a witness that has seen two orders, 101 and 102, accepted at epoch 3.
func newTestWitness(f *fakeHearings, s *fakeStores, rows *fakeRows, held fakeHeld) *Witness {
	f.before, f.after = map[string]int{}, map[string]int{}
	diary := NewDiary()
	diary.write(applied(voucherA, 1, 2), said(2, Accepted, Accepted), false)
	return NewWitness(WitnessStores{Hearings: f, Held: held, Rows: rows}, 0, "a", diary,
		fakeSightings{Epoch: 3, Sequence: 9}, s, quiet())
}

// A witness says once for each stop what it knows, through faults, and nothing of sales that it knows nothing of but that
// it has come.
func TestWitnessHandsIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := func(at int64) Hearing { return Hearing{Sale: SaleRef{VoucherID: voucherA}, Stopped: at} }
		f := &fakeHearings{stops: []Hearing{stop(5)}}
		w := newTestWitness(f, newFakeStores(0), &fakeRows{}, fakeHeld{})
		f.before["attend"], f.before["testify"] = 1, 1
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(10 * attendEvery)
		synctest.Wait()
		told := Testimony{Seen: Mark{Epoch: 3, Sequence: 9}, Claims: w.diary.of(voucherA)}
		if diff := cmp.Diff([]Testimony{told}, f.handedIn); diff != "" {
			t.Errorf("handed in (-want +got):\n%s", diff)
		}
		f.mu.Lock()
		f.stops = []Hearing{stop(6), {Sale: SaleRef{VoucherID: voucherA + 1}, Stopped: 6}}
		f.mu.Unlock()
		time.Sleep(3 * attendEvery)
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]Testimony{told, told, {Seen: told.Seen}}, f.handedIn); diff != "" {
			t.Errorf("handed in (-want +got):\n%s", diff)
		}
	})
}

// One that comes too late has the sale rebuilt once more, if the rebuild missed an order.
func TestWitnessThatIsLateLooksForItself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rows map[int64]Order
		held fakeHeld
		want []mendCall
	}{
		"both are found":        {rows: map[int64]Order{101: {ID: 101}}, held: fakeHeld{{voucherA, 2}: 102}},
		"one has gone":          {rows: map[int64]Order{101: {ID: 101}}, want: []mendCall{{voucherA, 6}}},
		"the user bought again": {rows: map[int64]Order{101: {ID: 101}}, held: fakeHeld{{voucherA, 2}: 7}, want: []mendCall{{voucherA, 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHearings{stops: []Hearing{{Sale: SaleRef{VoucherID: voucherA}, Stopped: 5}}, late: true}
			s := newFakeStores(0)
			w := newTestWitness(f, s, &fakeRows{rows: tc.rows}, tc.held)
			for range 2 { // it complains once
				if err := w.attend(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, s.mended, cmp.AllowUnexported(mendCall{})); diff != "" {
				t.Errorf("mended (-want +got):\n%s", diff)
			}
		})
	}
}
