package test

import (
	"strings"
	"testing"
)

// honest is the evidence of a small sale in which everything went as it must: three users won the three units, one of
// them only knew after asking again, and a fourth was late.
func honest() evidence {
	return evidence{
		issued: 3,
		answers: []answer{
			{user: 1, verdict: accepted, order: 101},
			{user: 2, verdict: unknown, code: "EOF"},
			{user: 3, verdict: accepted, order: 103},
			{user: 2, verdict: held, order: 102},
			{user: 4, verdict: later, code: "UNAVAILABLE"},
			{user: 4, verdict: refused, code: "SOLD_OUT"},
		},
		rows: []row{{id: 101, user: 1, status: 1}, {id: 102, user: 2, status: 1}, {id: 103, user: 3, status: 2}},
		live: &liveView{buyers: map[int64]int64{1: 101, 2: 102, 3: 103}},
	}
}

// TestChecker makes sure that the checker sees what it is there for.
func TestChecker(t *testing.T) {
	t.Parallel()
	if wrong := honest().violations(); len(wrong) > 0 {
		t.Fatalf("honest evidence has violations: %q", wrong)
	}
	tests := []struct {
		name   string
		want   string // an invariant that must be among the violations
		tamper func(*evidence)
	}{
		{"one sold too many", "I1", func(e *evidence) {
			e.rows = append(e.rows, row{id: 104, user: 4, status: 1})
		}},
		{"two orders of one user", "I2", func(e *evidence) { e.rows[2].user = 1 }},
		{"accepted without a row", "I3", func(e *evidence) { e.rows = e.rows[1:] }},
		{"accepted, the row is somebody else's", "I3", func(e *evidence) { e.rows[0].user = 4 }},
		{"accepted, then cancelled by nobody", "I3", func(e *evidence) { e.rows[0].status = 4 }},
		{"accepted, then failed", "I3", func(e *evidence) { e.rows[0].status = statusFailed }},
		{"told of an order that does not exist", "I3", func(e *evidence) { e.answers[3].order = 999 }},
		{"dead letter", "I3", func(e *evidence) { e.live.dead = 1 }},
		{"a row of somebody who never asked", "I4", func(e *evidence) { e.rows[1].user = 77 }},
		{"stock lost in redis", "I5", func(e *evidence) { e.live.stock = -1 }},
		{"stock given back twice", "I5", func(e *evidence) { e.live.stock = 1 }},
		{"an entry that nobody acknowledges", "I5", func(e *evidence) { e.live.waiting = 1 }},
		{"ledger stock not lowered", "I5", func(e *evidence) { e.ledgerStock = 1 }},
		{"people are shown stock that is gone", "I5", func(e *evidence) { e.shownStock = 1 }},
		{"sold out while units were left", "I6", func(e *evidence) {
			*e = evidence{issued: 1, ledgerStock: 1, shownStock: 1, answers: []answer{{user: 1, verdict: refused, code: "SOLD_OUT"}}}
		}},
		{"a winner told sold out", "I6", func(e *evidence) { e.answers[5].user = 1 }},
		{"another order at the second answer", "I6", func(e *evidence) {
			e.answers = append(e.answers, answer{user: 1, verdict: held, order: 102})
		}},
		{"a winner who was never told", "I6", func(e *evidence) { e.answers[3] = answer{user: 2, verdict: refused, code: "ENDED"} }},
		{"one id for two users", "I10", func(e *evidence) { e.answers[2].order = 101 }},
		{"id zero", "I10", func(e *evidence) { e.rows[0].id = 0 }},
		{"never knew", "I12", func(e *evidence) { e.answers = e.answers[:5] }},
		{"redis forgot a buyer", "I2", func(e *evidence) { delete(e.live.buyers, 1) }},
		{"redis seats somebody without an order", "I2", func(e *evidence) { e.live.buyers[4] = 104 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := honest()
			tt.tamper(&e)
			found := e.violations()
			for _, f := range found {
				if strings.HasPrefix(f, tt.want+" ") {
					return
				}
			}
			t.Errorf("no violation of %s found, only %q", tt.want, found)
		})
	}
}
