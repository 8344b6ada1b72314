package order

import (
	"testing"
	"time"
)

// A ledger has lost operations if Redis has a higher number, or the same number with another identity; where an
// identity is not known, if nothing is pending and Redis has another mode or window. Only a lost decision of a person
// counts as such.
func TestLostTail(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	end := begin.Add(time.Hour)
	ref := func(number, identity int64) OperationRef { return OperationRef{number, identity} }
	decided := func(number, identity int64, kind string) Decided { return Decided{ref(number, identity), kind} }
	base := SaleView{
		Mode: SalePaused, Applied: 7, AppliedIdentity: 70, Decided: decided(5, 50, "pause"), Begin: begin, End: end,
	}
	same := LedgerTail{
		Last: ref(7, 70), Applied: ref(7, 70), Decided: decided(5, 50, "pause"), Mode: SalePaused,
		Begin: begin, End: end,
	}
	open := same
	open.Mode = SaleOpen
	for name, tc := range map[string]struct {
		view           func(v *SaleView)
		ledger         LedgerTail
		change         func(l *LedgerTail)
		lost, decision bool
	}{
		"nothing is lost":     {ledger: same},
		"the ledger is ahead": {ledger: same, change: func(l *LedgerTail) { l.Last = ref(9, 90) }},
		"a pending pause is ahead": {ledger: open, change: func(l *LedgerTail) {
			l.Last, l.Pending = ref(8, 80), true
		}},
		"a cancellation is lost": {
			ledger: same, change: func(l *LedgerTail) { l.Last, l.Applied = ref(6, 60), OperationRef{} }, lost: true,
		},
		"the pause is lost": {ledger: open, change: func(l *LedgerTail) {
			l.Last, l.Applied, l.Decided = ref(4, 40), OperationRef{}, Decided{}
		}, lost: true, decision: true},
		"its number was given to a cancellation": {ledger: open, change: func(l *LedgerTail) {
			l.Last, l.Applied, l.Decided = ref(6, 61), OperationRef{}, decided(5, 51, "cancel")
		}, lost: true, decision: true},
		"all numbers were given again": {ledger: open, change: func(l *LedgerTail) {
			l.Last, l.Applied, l.Decided = ref(8, 81), ref(7, 71), decided(5, 51, "cancel")
		}, lost: true, decision: true},
		"cancellations alone have other numbers": {ledger: same, change: func(l *LedgerTail) {
			l.Last, l.Applied = ref(8, 81), ref(7, 71)
		}, lost: true},
		"a change of stock is lost, which no mode shows": {
			view:   func(v *SaleView) { v.Decided = decided(7, 70, "stock") },
			ledger: same, change: func(l *LedgerTail) {
				l.Last, l.Applied, l.Decided = ref(6, 60), OperationRef{}, Decided{}
			}, lost: true, decision: true,
		},
		"the sale was stopped already": {
			view: func(v *SaleView) { v.Mode = SaleRebuilding }, ledger: open, change: func(l *LedgerTail) {
				l.Last, l.Applied, l.Decided = ref(4, 40), OperationRef{}, Decided{}
			}, lost: true, decision: true,
		},
		"Redis has lost the sale": {view: func(v *SaleView) { *v = SaleView{} }, ledger: same},
		"Redis does not know the decision, and has another mode": {
			view: func(v *SaleView) { v.Decided = Decided{} }, ledger: open, change: func(l *LedgerTail) {
				l.Last, l.Applied = ref(4, 40), OperationRef{}
			}, lost: true, decision: true,
		},
		"nor the mode, but another window": {
			view:   func(v *SaleView) { v.Decided, v.Mode = Decided{}, SaleRebuilding },
			ledger: same, change: func(l *LedgerTail) {
				l.Last, l.Applied, l.End = ref(4, 40), OperationRef{}, end.Add(time.Hour)
			}, lost: true, decision: true,
		},
		"nobody had decided anything, and a person pauses": {
			view:   func(v *SaleView) { v.Mode, v.Decided = SaleOpen, Decided{Kind: NoDecision} },
			ledger: same, change: func(l *LedgerTail) { l.Last, l.Applied = ref(4, 40), OperationRef{} }, lost: true,
		},
		"nor either": {
			view: func(v *SaleView) { v.Decided = Decided{} }, ledger: same, change: func(l *LedgerTail) {
				l.Last, l.Applied = ref(4, 40), OperationRef{}
			}, lost: true,
		},
		"1.0 wrote both, alike": {
			view: func(v *SaleView) { v.AppliedIdentity, v.Decided = 0, Decided{} }, ledger: same,
			change: func(l *LedgerTail) { l.Last, l.Applied = ref(7, 0), ref(7, 0) },
		},
		"1.0 wrote both, and the ledger's is another one": {
			view: func(v *SaleView) { v.AppliedIdentity, v.Decided = 0, Decided{} }, ledger: open,
			change: func(l *LedgerTail) { l.Last, l.Applied = ref(7, 0), ref(7, 0) }, lost: true, decision: true,
		},
		"the same with one pending": {
			view: func(v *SaleView) { v.AppliedIdentity, v.Decided = 0, Decided{} }, ledger: open,
			change: func(l *LedgerTail) { l.Last, l.Applied, l.Pending = ref(7, 0), ref(7, 0), true },
		},
		"1.0 wrote none": {
			view: func(v *SaleView) { v.Applied, v.AppliedIdentity, v.Decided = 0, 0, Decided{} }, ledger: open,
			change: func(l *LedgerTail) { l.Last, l.Applied = OperationRef{}, OperationRef{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view, ledger := base, tc.ledger
			if tc.view != nil {
				tc.view(&view)
			}
			if tc.change != nil {
				tc.change(&ledger)
			}
			lost, decision := view.Lost(ledger), view.LostDecision(ledger)
			if lost != tc.lost || decision != tc.decision {
				t.Errorf("lost %v, a decision %v; want %v, %v", lost, decision, tc.lost, tc.decision)
			}
		})
	}
}
