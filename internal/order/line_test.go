package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// newTestLine returns a line whose calls are answered by admit.
func newTestLine(t *testing.T, admit func(context.Context, Batch) (Verdict, error)) *line {
	t.Helper()
	serving := new(sync.WaitGroup)
	t.Cleanup(serving.Wait)
	return &line{
		admit: admit, sale: SaleRef{VoucherID: voucherA}, limit: 10, tries: time.Second, serving: serving, diary: NewDiary(),
		memory: memory{sale: SaleRef{VoucherID: voucherA}, log: quiet(), serving: serving, pause: newPause()},
	}
}

// acceptAll is an answer of the script that lets everybody in.
func acceptAll(b Batch) Verdict { return Verdict{Outcomes: make([]Outcome, len(b.Applicants))} }

func TestLineServesALoneApplicantAtOnce(t *testing.T) {
	t.Parallel()
	l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) { return acceptAll(b), nil })
	if _, err := l.join(t.Context(), Applicant{UserID: 1, OrderID: 10}, Mark{}); err != nil {
		t.Fatal(err)
	}
}

// What comes while a call is under way travels in the next one, at most MaxBatch of them, in the order of arrival.
func TestLineCoalesces(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	var sizes []int
	var order []int64
	l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
		if len(sizes) == 0 {
			close(started)
			<-release
		}
		sizes = append(sizes, len(b.Applicants))
		for _, a := range b.Applicants {
			order = append(order, a.UserID)
		}
		return acceptAll(b), nil
	})
	var joined sync.WaitGroup
	join := func(user int64) {
		joined.Go(func() {
			if _, err := l.join(t.Context(), Applicant{UserID: user, OrderID: 1000 + user}, Mark{}); err != nil {
				t.Errorf("user %d: %v", user, err)
			}
		})
	}
	join(1)
	<-started
	for user := int64(2); user <= 301; user++ {
		join(user)
		waitUntil(t, func() bool { return l.length() == int(user)-1 })
	}
	close(release)
	joined.Wait()
	if got, want := fmt.Sprint(sizes), "[1 256 44]"; got != want {
		t.Errorf("calls of %s, want %s", got, want)
	}
	for i, user := range order {
		if user != int64(i)+1 {
			t.Fatalf("place %d was given to user %d", i, user)
		}
	}
}

func (l *line) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited ten seconds in vain")
		}
	}
}

func TestLineRepeatsOnceAndNeverGuesses(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset")
	refused := fmt.Errorf("%w: connection refused", ErrUnavailable)
	for name, tc := range map[string]struct {
		answers   []error // of the calls, in turn
		says      OutcomeCode
		want      error // nil for success
		wantSays  OutcomeCode
		wantCalls int
	}{
		"a refusal": {answers: []error{nil}, says: SoldOut, wantSays: SoldOut, wantCalls: 1},
		"a refusal of the repetition is doubtful": {answers: []error{reset, nil}, says: SoldOut, wantSays: Doubtful, wantCalls: 2},
		"a sale that has ended stays ended":       {answers: []error{reset, nil}, says: Ended, wantSays: Ended, wantCalls: 2},
		"the repetition finds the order":          {answers: []error{reset, nil}, says: AlreadyBought, wantSays: AlreadyBought, wantCalls: 2},
		"answered":                                {answers: []error{nil}, wantCalls: 1},
		"a lost answer is asked for again":        {answers: []error{reset, nil}, wantCalls: 2},
		"lost twice is unknown":                   {answers: []error{reset, reset}, want: ErrUnknownOutcome, wantCalls: 2},
		"lost, then refused, is unknown":          {answers: []error{reset, refused}, want: ErrUnknownOutcome, wantCalls: 2},
		"refused without effect is unavailable":   {answers: []error{refused}, want: ErrUnavailable, wantCalls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var batches []Batch
			l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
				batches = append(batches, b)
				if err := tc.answers[len(batches)-1]; err != nil {
					return Verdict{}, err
				}
				v := acceptAll(b)
				v.Outcomes[0].Code = tc.says
				return v, nil
			})
			got, err := l.join(t.Context(), Applicant{UserID: 1, OrderID: 10}, Mark{Epoch: 3, Sequence: 4})
			if got.Code != tc.wantSays {
				t.Errorf("outcome %d, want %d", got.Code, tc.wantSays)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("error = %v, want %v", err, tc.want)
			}
			if tc.want != nil && errors.Is(err, ErrUnavailable) && errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("error %v is both unknown and unavailable", err)
			}
			if len(batches) != tc.wantCalls {
				t.Fatalf("%d calls, want %d", len(batches), tc.wantCalls)
			}
			for _, b := range batches {
				if b.Known != (Mark{Epoch: 3, Sequence: 4}) || b.Applicants[0] != (Applicant{UserID: 1, OrderID: 10}) {
					t.Errorf("call with %+v", b)
				}
			}
		})
	}
}

// Who waits behind a call that fails is told at once that certainly nothing was bought for him.
func TestLineSendsTheOthersHome(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	calls := 0
	l := newTestLine(t, func(context.Context, Batch) (Verdict, error) {
		if calls++; calls == 1 {
			close(started)
			<-release
		}
		return Verdict{}, errors.New("no answer")
	})
	results := make(chan error, 301)
	join := func(user int64) {
		go func() {
			_, err := l.join(t.Context(), Applicant{UserID: user, OrderID: user}, Mark{})
			results <- err
		}()
	}
	join(1)
	<-started
	for user := int64(2); user <= 301; user++ {
		join(user)
	}
	waitUntil(t, func() bool { return l.length() == 300 })
	close(release)
	unknown, unavailable := 0, 0
	for range 301 {
		switch err := <-results; {
		case errors.Is(err, ErrUnknownOutcome) && !errors.Is(err, ErrUnavailable):
			unknown++
		case errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknownOutcome):
			unavailable++
		default:
			t.Errorf("error = %v", err)
		}
	}
	l.serving.Wait()
	if unknown != 1 || unavailable != 300 || calls != 2 {
		t.Errorf("%d unknown, %d unavailable, %d calls; want 1, 300, 2", unknown, unavailable, calls)
	}
}

// Somebody who has left before his turn is not admitted behind his own back; to somebody who leaves later the
// outcome is unknown, not a refusal.
func TestLineAndThoseWhoLeave(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	var admitted []int64
	l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
		if len(admitted) == 0 {
			close(started)
			<-release
		}
		for _, a := range b.Applicants {
			admitted = append(admitted, a.UserID)
		}
		return acceptAll(b), nil
	})
	leaves := func(user int64) (context.CancelFunc, chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := l.join(ctx, Applicant{UserID: user, OrderID: user}, Mark{})
			result <- err
		}()
		return cancel, result
	}
	leaveFirst, first := leaves(1)
	<-started
	leaveSecond, second := leaves(2)
	waitUntil(t, func() bool { return l.length() == 1 })
	leaveFirst()
	leaveSecond()
	for _, result := range []chan error{first, second} {
		if err := <-result; !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("error = %v, want ErrUnknownOutcome", err)
		}
	}
	close(release)
	l.serving.Wait()
	if got, want := fmt.Sprint(admitted), "[1]"; got != want {
		t.Errorf("admitted %s, want %s", got, want)
	}
}

func TestLineRemembersTheHighestMark(t *testing.T) {
	t.Parallel()
	marks := []Mark{{Epoch: 2, Sequence: 9}, {Epoch: 2, Sequence: 4}, {Epoch: 3, Sequence: 0}}
	var known []Mark
	l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
		known = append(known, b.Known)
		v := acceptAll(b)
		v.View.Mark = marks[len(known)-1]
		return v, nil
	})
	for user := int64(1); user <= 3; user++ {
		if _, err := l.join(t.Context(), Applicant{UserID: user, OrderID: user}, Mark{Epoch: 1, Sequence: 5}); err != nil {
			t.Fatal(err)
		}
		l.serving.Wait()
	}
	if got, want := fmt.Sprint(known), "[{1 5} {2 9} {2 9}]"; got != want {
		t.Errorf("called with %s, want %s", got, want)
	}
}
