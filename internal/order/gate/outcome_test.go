package gate_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// Each outcome has one complete row, at the index where it is looked up.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	words, errs := map[string]bool{}, map[gate.Answer]error{}
	for i, o := range gate.Outcomes() {
		if o.Index() != i {
			t.Errorf("outcome %d (%s): its index is %d, but its row stands at %d", o, o, o.Index(), i)
		}
		if !word.MatchString(o.String()) || o != gate.Barred && !word.MatchString(string(o.Answer())) ||
			words[o.String()] {
			t.Errorf("outcome %d: the word %q and the answer %q are not both words, or the word is another's too",
				o, o, o.Answer())
		}
		words[o.String()] = true
		err := gate.Result{Outcome: o}.Err()
		if (err == nil) != (o == gate.Accepted) {
			t.Errorf("%s: the error is %v", o, err)
		}
		// Outcomes that are counted as one answer return the same error.
		if known, has := errs[o.Answer()]; has && !errors.Is(err, known) && !errors.Is(known, err) {
			t.Errorf("%s is counted as %s, but returns the error %v, not %v", o, o.Answer(), err, known)
		}
		if o != gate.Barred { // a guard counts it
			errs[o.Answer()] = err
		}
	}
	if gate.Answers()[0] != "accepted" || len(gate.Answers()) != len(errs) {
		t.Errorf("answers %v, want each of %d once", gate.Answers(), len(errs))
	}
}

func TestScriptOutcome(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]gate.Outcome{
		0: gate.Accepted, 9: gate.SoldOut, 10: gate.Backlogged,
		-1: gate.Unreadable, -2: gate.Unreadable, 100: gate.Unreadable,
		256:                          gate.Unreadable, // the lowest byte is that of Accepted
		int64(gate.OutcomeKinds) - 1: gate.Unreadable, // the row of Unreadable, counted from the end
	} {
		if got := gate.ScriptOutcome(code); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
	if got := gate.Outcome(100).Answer(); got != gate.Unreadable.Answer() {
		t.Errorf("a number that is no outcome counts as %s", got)
	}
}

func TestAlreadyBoughtNamesTheOrder(t *testing.T) {
	t.Parallel()
	err := gate.Result{Outcome: gate.AlreadyBought, OrderID: 5}.Err()
	if bought, is := errors.AsType[*gate.AlreadyBoughtError](err); !is ||
		*bought != (gate.AlreadyBoughtError{OrderID: 5, Status: order.StatusUnknown}) {
		t.Errorf("%v", err)
	}
	if another := (gate.Result{Outcome: gate.AlreadyBought, OrderID: 6}).Err(); err.Error() == another.Error() {
		t.Errorf("%v, which also matches another order", err)
	}
}

func TestCountsMinus(t *testing.T) {
	t.Parallel()
	before := gate.Counts{"accepted": 2, "paused": 1}
	now := gate.Counts{"accepted": 5, "paused": 1, "ended": 4}
	if diff := cmp.Diff(gate.Counts{"accepted": 3, "ended": 4}, now.Minus(before)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if since := now.Minus(now); len(since) != 0 {
		t.Errorf("nothing was counted since, got %v", since)
	}
	if diff := cmp.Diff(now, now.Minus(nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
