package order_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

// Each outcome has one complete row, at the index where it is looked up.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	words, errs := map[string]bool{}, map[order.Answer]error{}
	for i, o := range order.Outcomes() {
		if o.Index() != i {
			t.Errorf("outcome %d (%s): its index is %d, but its row stands at %d", o, o, o.Index(), i)
		}
		if !word.MatchString(o.String()) || o != order.Barred && !word.MatchString(string(o.Answer())) ||
			words[o.String()] {
			t.Errorf("outcome %d: the word %q and the answer %q are not both words, or the word is another's too",
				o, o, o.Answer())
		}
		words[o.String()] = true
		err := order.Result{Outcome: o}.Err()
		if (err == nil) != (o == order.Accepted) {
			t.Errorf("%s: the error is %v", o, err)
		}
		// Outcomes that are counted as one answer return the same error.
		if known, has := errs[o.Answer()]; has && !errors.Is(err, known) && !errors.Is(known, err) {
			t.Errorf("%s is counted as %s, but returns the error %v, not %v", o, o.Answer(), err, known)
		}
		if o != order.Barred { // a guard counts it
			errs[o.Answer()] = err
		}
	}
	if order.Answers()[0] != "accepted" || len(order.Answers()) != len(errs) {
		t.Errorf("answers %v, want each of %d once", order.Answers(), len(errs))
	}
}

func TestScriptOutcome(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]order.Outcome{
		0: order.Accepted, 9: order.SoldOut, 10: order.Backlogged,
		-1: order.Unreadable, -2: order.Unreadable, 100: order.Unreadable,
		256:                           order.Unreadable, // the lowest byte is that of Accepted
		int64(order.OutcomeKinds) - 1: order.Unreadable, // the row of Unreadable, counted from the end
	} {
		if got := order.ScriptOutcome(code); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
	if got := order.Outcome(100).Answer(); got != order.Unreadable.Answer() {
		t.Errorf("a number that is no outcome counts as %s", got)
	}
}

func TestAlreadyBoughtNamesTheOrder(t *testing.T) {
	t.Parallel()
	err := order.Result{Outcome: order.AlreadyBought, OrderID: 5}.Err()
	if bought, is := errors.AsType[*order.AlreadyBoughtError](err); !is ||
		*bought != (order.AlreadyBoughtError{OrderID: 5, Status: order.StatusUnknown}) {
		t.Errorf("%v", err)
	}
	if another := (order.Result{Outcome: order.AlreadyBought, OrderID: 6}).Err(); err.Error() == another.Error() {
		t.Errorf("%v, which also matches another order", err)
	}
}

func TestCountsMinus(t *testing.T) {
	t.Parallel()
	before := order.Counts{"accepted": 2, "paused": 1}
	now := order.Counts{"accepted": 5, "paused": 1, "ended": 4}
	if diff := cmp.Diff(order.Counts{"accepted": 3, "ended": 4}, now.Minus(before)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if since := now.Minus(now); len(since) != 0 {
		t.Errorf("nothing was counted since, got %v", since)
	}
	if diff := cmp.Diff(now, now.Minus(nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
