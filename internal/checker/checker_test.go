package checker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/checker"
)

const voucher = 7

// sale is evidence that a test can tamper with.
type sale struct {
	checker.Evidence
	answers []checker.Answer
}

func (s *sale) check() checker.Report {
	for i := range s.answers {
		if s.answers[i].Voucher == 0 {
			s.answers[i].Voucher = voucher
		}
	}
	for _, v := range s.Views {
		for i := range v.Orders {
			if v.Orders[i].Voucher == 0 {
				v.Orders[i].Voucher = voucher
			}
		}
	}
	s.Answers = slices.Values(s.answers)
	return checker.Check(s.Evidence)
}

func (s *sale) rows() []checker.Order { return s.Views[0].Orders }

func (s *sale) addRow(o checker.Order) { s.Views[0].Orders = append(s.Views[0].Orders, o) }

// record adds answers at the end.
func (s *sale) record(more ...checker.Answer) { s.answers = append(s.answers, more...) }

// noon returns a time after the start of these tests' sales.
func noon(after time.Duration) time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(after)
}

// honest returns the evidence of a small sale without faults: three users won the three units, one of them learned that
// only by asking again, and a fourth was too late.
func honest() *sale {
	none := int64(0)
	return &sale{
		Evidence: checker.Evidence{
			Voucher: voucher, Issued: 3, LedgerStock: &none, ShownStock: new(int64),
			Views: []checker.View{{Name: "the ledger", Complete: true, Orders: []checker.Order{
				{ID: 101, User: 1, Status: checker.Unpaid},
				{ID: 102, User: 2, Status: checker.Unpaid},
				{ID: 103, User: 3, Status: checker.Paid},
			}}},
			Redis: &checker.Redis{Holders: map[int64]int64{1: 101, 2: 102, 3: 103}},
		},
		answers: []checker.Answer{
			{User: 1, Outcome: checker.Accepted, Order: 101},
			{User: 2, Outcome: checker.Unknown, Code: "EOF"},
			{User: 3, Outcome: checker.Accepted, Order: 103},
			{User: 2, Outcome: checker.Held, Order: 102},
			{User: 4, Outcome: checker.Later, Code: "UNAVAILABLE"},
			{User: 4, Outcome: checker.Refused, Code: checker.CodeSoldOut},
		},
	}
}

// givenBack is honest, except that user 1 cancels their order and the late user 4 gets its unit.
func givenBack() *sale {
	s := honest()
	s.rows()[0].Status = checker.Cancelled
	s.addRow(checker.Order{ID: 104, User: 4, Status: checker.Unpaid})
	s.record(
		checker.Answer{Action: checker.Cancel, User: 1, Order: 101, Outcome: checker.Accepted},
		checker.Answer{User: 4, Outcome: checker.Accepted, Order: 104},
	)
	s.Redis.Holders = map[int64]int64{4: 104, 2: 102, 3: 103}
	return s
}

// TestHonest checks that sales without faults have no findings.
func TestHonest(t *testing.T) {
	t.Parallel()
	tests := map[string]func() *sale{
		"sold out":   honest,
		"given back": givenBack,
		"the same user buys again after a cancel": func() *sale {
			s := honest()
			s.rows()[0].Status = checker.Cancelled
			s.addRow(checker.Order{ID: 105, User: 1, Status: checker.Unpaid})
			s.record(checker.Answer{Action: checker.Cancel, User: 1, Order: 101}, // Unknown: the request is enough
				checker.Answer{User: 1, Outcome: checker.Accepted, Order: 105})
			s.Redis.Holders[1] = 105
			return s
		},
		"sold out after a cancel": func() *sale {
			s := givenBack()
			s.record(checker.Answer{User: 1, Outcome: checker.Refused, Code: checker.CodeSoldOut})
			return s
		},
		"refunded, and the unit not resold": func() *sale {
			s := honest()
			s.rows()[2].Status = checker.Refunded
			s.record(checker.Answer{Action: checker.Refund, User: 3, Order: 103, Outcome: checker.Accepted})
			delete(s.Redis.Holders, 3)
			*s.LedgerStock, *s.ShownStock, s.Redis.Stock = 1, 1, 1
			return s
		},
		"an order being refunded holds its unit": func() *sale {
			s := honest()
			s.rows()[2].Status = checker.Refunding
			s.record(checker.Answer{Action: checker.Refund, User: 3, Order: 103, Outcome: checker.Accepted})
			return s
		},
		"expired, because nobody paid": func() *sale {
			s := honest()
			s.Expires = true
			s.rows()[0].Status = checker.Cancelled
			delete(s.Redis.Holders, 1)
			*s.LedgerStock, *s.ShownStock, s.Redis.Stock = 1, 1, 1
			return s
		},
		"answers of another voucher": func() *sale {
			s := honest()
			s.record(checker.Answer{User: 9, Voucher: voucher + 1, Outcome: checker.Accepted, Order: 999})
			return s
		},
		"an acceptance overtook a refusal": func() *sale {
			s := honest()
			s.answers[0].Sent, s.answers[0].Received = noon(10*time.Millisecond), noon(20*time.Millisecond)
			s.answers[5].Sent, s.answers[5].Received = noon(20*time.Millisecond), noon(30*time.Millisecond)
			s.record(checker.Answer{
				User: 1, Outcome: checker.Refused, Code: "NOT_STARTED", Sent: noon(0),
				Received: noon(40 * time.Millisecond),
			}, checker.Answer{User: 1, Outcome: checker.Held, Order: 101})
			return s
		},
		"gave up before an outcome": func() *sale {
			s := honest()
			s.GaveUp = true
			s.answers = s.answers[:3]
			return s
		},
		"others bought as well": func() *sale {
			s := honest()
			s.Others = true
			s.rows()[1].User, s.Redis.Holders[77] = 77, 102
			delete(s.Redis.Holders, 2)
			s.answers[3] = checker.Answer{User: 2, Outcome: checker.Refused, Code: checker.CodeSoldOut}
			return s
		},
		"lost with Redis": func() *sale {
			s := honest()
			s.Loss = true
			s.rows()[0] = checker.Order{ID: 104, User: 4, Status: checker.Unpaid} // 101 is lost, and its unit resold
			s.record(checker.Answer{User: 4, Outcome: checker.Accepted, Order: 104},
				checker.Answer{User: 1, Outcome: checker.Refused, Code: "SOLD_OUT"})
			s.Redis.Holders = map[int64]int64{4: 104, 2: 102, 3: 103}
			return s
		},
	}
	for name, of := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := of().check(); len(r.Findings) > 0 || r.Total != 0 {
				t.Errorf("honest evidence has findings: %v", r.Findings)
			}
		})
	}
}

// TestTampered checks that the checker finds each contradiction: each piece of evidence was tampered with in one way.
func TestTampered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		want   checker.Invariant // must be among the findings
		of     func() *sale
		tamper func(*sale)
	}{
		{"one sold too many", checker.NoOversell, honest, func(s *sale) {
			s.addRow(checker.Order{ID: 104, User: 4, Status: checker.Unpaid})
		}},
		{"one order too many named, no list of orders", checker.NoOversell, honest, func(s *sale) {
			s.Views = nil
			s.record(checker.Answer{User: 4, Outcome: checker.Accepted, Order: 104})
		}},
		{"a cancelled order's unit sold twice", checker.NoOversell, givenBack, func(s *sale) {
			s.addRow(checker.Order{ID: 105, User: 1, Status: checker.Unpaid})
		}},
		{"two orders of one user", checker.OnePerUser, honest, func(s *sale) { s.Redis, s.rows()[2].User = nil, 1 }},
		{"accepted without a row", checker.Settled, honest, func(s *sale) { s.Views[0].Orders = s.rows()[1:] }},
		{"accepted, the row is another user's", checker.Settled, honest, func(s *sale) { s.rows()[0].User = 4 }},
		{
			"accepted, then cancelled by nobody", checker.Settled, honest,
			func(s *sale) { s.rows()[0].Status = checker.Cancelled },
		},
		{
			"accepted, then refunded by nobody", checker.Settled, honest,
			func(s *sale) { s.rows()[2].Status = checker.Refunded },
		},
		{"paid, then expired as if unpaid", checker.Settled, honest, func(s *sale) {
			s.Expires = true
			s.rows()[2].Status = checker.Refunding
		}},
		{"accepted, then failed", checker.Settled, honest, func(s *sale) { s.rows()[0].Status = checker.Failed }},
		{"accepted, and still queued", checker.Settled, honest, func(s *sale) { s.rows()[0].Status = checker.Queued }},
		{"an order that does not exist", checker.Settled, honest, func(s *sale) { s.answers[3].Order = 999 }},
		{"the owner cannot see the order", checker.Settled, honest, func(s *sale) {
			s.Views = append(s.Views, checker.View{Name: "its owner", Orders: slices.Clone(s.rows()[1:])})
		}},
		{"dead letter", checker.Settled, honest, func(s *sale) { s.Redis.Dead = 1 }},
		{"a row of a user who never asked", checker.AskedFor, honest, func(s *sale) { s.rows()[1].User = 77 }},
		{"stock lost in redis", checker.Conservation, honest, func(s *sale) { s.Redis.Stock = -1 }},
		{"stock given back twice", checker.Conservation, honest, func(s *sale) { s.Redis.Stock = 1 }},
		{"an entry that is not acknowledged", checker.Conservation, honest, func(s *sale) { s.Redis.Waiting = 1 }},
		{"an entry that still waits", checker.Recovered, honest, func(s *sale) { s.Redis.Waiting = 1 }},
		{"ledger stock not lowered", checker.Conservation, honest, func(s *sale) { *s.LedgerStock = 1 }},
		{"shown stock that is gone", checker.Conservation, honest, func(s *sale) { *s.ShownStock = 1 }},
		{"shown stock that is gone, no list of orders", checker.Conservation, honest, func(s *sale) {
			*s.ShownStock, s.Views[0].Complete = 1, false
		}},
		{"a cancelled order's unit lost", checker.Conservation, givenBack, func(s *sale) {
			s.Views[0].Orders = s.rows()[:3]
			s.answers = s.answers[:7]
			delete(s.Redis.Holders, 4)
		}},
		{"a cancelled order's unit back twice", checker.ReturnedOnce, givenBack, func(s *sale) { s.Redis.Stock = 1 }},
		{
			"a cancelled order's unit back twice in the ledger", checker.ReturnedOnce, givenBack,
			func(s *sale) { *s.LedgerStock = 1 },
		},
		{"sold out while units were left", checker.TrueAnswers, honest, func(s *sale) {
			one := int64(1)
			*s = sale{
				Evidence: checker.Evidence{
					Issued: 1, Voucher: voucher, LedgerStock: &one, ShownStock: &one,
					Views: []checker.View{{Complete: true}},
				},
				answers: []checker.Answer{{User: 1, Outcome: checker.Refused, Code: "SOLD_OUT"}},
			}
		}},
		{"sold out while units were left, no list of orders", checker.TrueAnswers, honest, func(s *sale) {
			*s.ShownStock, s.Views = 1, nil
		}},
		{"sold out too early", checker.TrueAnswers, honest, func(s *sale) {
			for i := range s.answers {
				s.answers[i].Sent, s.answers[i].Received = noon(time.Second), noon(2*time.Second)
			}
			s.answers[5].Sent, s.answers[5].Received = noon(0), noon(time.Second-1)
		}},
		{"a winner gets SOLD_OUT", checker.TrueAnswers, honest, func(s *sale) { s.answers[5].User = 1 }},
		{"another order at the second answer", checker.TrueAnswers, honest, func(s *sale) {
			s.record(checker.Answer{User: 1, Outcome: checker.Held, Order: 999},
				checker.Answer{User: 1, Outcome: checker.Held, Order: 101})
		}},
		{"a winner who never got an answer", checker.TrueAnswers, honest, func(s *sale) {
			s.answers[3] = checker.Answer{User: 2, Outcome: checker.Refused, Code: "ENDED"}
		}},
		{"one id for two users", checker.IDs, honest, func(s *sale) { s.answers[2].Order = 101 }},
		{"an id of another voucher", checker.IDs, honest, func(s *sale) { s.rows()[2].Voucher = voucher + 1 }},
		{"id zero", checker.IDs, honest, func(s *sale) { s.rows()[0].ID = 0 }},
		{"answered id zero", checker.IDs, honest, func(s *sale) { s.answers[0].Order = 0 }},
		{"never an outcome", checker.Resolved, honest, func(s *sale) { s.answers = s.answers[:5] }},
		{"redis forgot a buyer", checker.OnePerUser, honest, func(s *sale) { delete(s.Redis.Holders, 1) }},
		{
			"redis keeps the holder of a cancelled order", checker.OnePerUser, givenBack,
			func(s *sale) { s.Redis.Holders[1] = 101 },
		},
		{"redis has a holder without an order", checker.OnePerUser, honest, func(s *sale) { s.Redis.Holders[4] = 104 }},
		{"oversold after a loss", checker.NoOversell, honest, func(s *sale) {
			s.Loss = true
			s.addRow(checker.Order{ID: 104, User: 4, Status: checker.Unpaid})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.of()
			tt.tamper(s)
			r := s.check()
			if !slices.ContainsFunc(r.Findings, func(f checker.Finding) bool { return f.Invariant == tt.want }) {
				t.Errorf("no finding of %s, only %v", tt.want, r.Findings)
			}
		})
	}
}

// TestHistory checks that a finding has the history of its own users and orders only.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := honest()
	s.answers[1].Server, s.answers[1].Sent, s.answers[1].Received = "instance-1", noon(0), noon(3*time.Millisecond)
	s.rows()[1].Status, s.rows()[1].Reason = checker.Failed, "NO_STOCK"
	var got []string
	for _, f := range s.check().Findings {
		if f.Invariant == checker.Settled {
			got = f.History
		}
	}
	want := []string{
		"12:00:00.000 +3ms user 2 at instance-1, buy: unknown EOF",
		"user 2, buy: held 102",
		"the ledger: order 102 of user 2, voucher 7, failed (NO_STOCK)",
		"redis: user 2 holds order 102",
	}
	if !slices.Equal(got, want) {
		t.Errorf("history\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestUndecided checks that the report names the invariants that could not be checked.
func TestUndecided(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		tamper func(*sale)
		want   []checker.Invariant
	}{
		{"every source is there", func(*sale) {}, nil},
		{"no Redis", func(s *sale) { s.Redis = nil }, []checker.Invariant{checker.Conservation}},
		{"no ledger", func(s *sale) { s.LedgerStock = nil }, []checker.Invariant{checker.Conservation}},
		{"no voucher", func(s *sale) { s.ShownStock = nil }, []checker.Invariant{checker.Conservation}},
		{"no list of all orders", func(s *sale) { s.Views[0].Complete = false }, []checker.Invariant{
			checker.NoOversell, checker.OnePerUser, checker.AskedFor, checker.TrueAnswers,
		}},
		{"no orders", func(s *sale) { s.Views = nil }, []checker.Invariant{
			checker.NoOversell, checker.OnePerUser, checker.Settled, checker.AskedFor, checker.TrueAnswers,
		}},
		{"others", func(s *sale) { s.Others = true }, []checker.Invariant{checker.AskedFor, checker.TrueAnswers}},
		{"stock changed", func(s *sale) { s.Changed = true }, []checker.Invariant{checker.TrueAnswers}},
		{"gave up", func(s *sale) { s.GaveUp, s.answers = true, s.answers[:5] }, []checker.Invariant{checker.Resolved}},
		{
			"loss", func(s *sale) { s.Loss = true },
			[]checker.Invariant{checker.Settled, checker.TrueAnswers, checker.Resolved},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := honest()
			tt.tamper(s)
			r := s.check()
			for _, want := range tt.want {
				if !slices.ContainsFunc(r.Undecided, func(g checker.Gap) bool { return g.Invariant == want }) {
					t.Errorf("%s is not among the undecided: %v", want, r.Undecided)
				}
			}
			if len(tt.want) == 0 && len(r.Undecided) > 0 {
				t.Errorf("undecided although every source is there: %v", r.Undecided)
			}
			if len(r.Findings) > 0 {
				t.Errorf("findings although only a source is missing: %v", r.Findings)
			}
		})
	}
}

// TestLost checks that orders lost by a store are listed as lost, not as findings.
func TestLost(t *testing.T) {
	t.Parallel()
	s := honest()
	s.Loss = true
	s.Views[0].Orders = s.rows()[1:]
	if r := s.check(); !slices.Equal(r.Lost, []int64{101}) {
		t.Errorf("lost %v, want order 101", r.Lost)
	}
}

// TestManyFindings checks that a report keeps few findings but counts them all.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	s := honest()
	for user := int64(1000); user < 3000; user++ {
		s.record(checker.Answer{User: user, Outcome: checker.Accepted, Order: user})
	}
	r := s.check()
	if r.Total < 2000 || len(r.Findings) > 200 {
		t.Errorf("%d findings kept of %d", len(r.Findings), r.Total)
	}
}

// inUnits returns the evidence of an honest sale of six units, in orders of three, two and one.
func inUnits() *sale {
	s := honest()
	s.Issued, s.PerUser = 6, 3
	for i, units := range []int64{3, 2, 1} {
		s.rows()[i].Units = units
	}
	for i := range s.answers {
		a := &s.answers[i]
		for _, o := range s.rows() {
			if a.Order == o.ID {
				a.Units = o.Units
			}
		}
	}
	if s.Redis != nil {
		s.Redis.Units = map[int64]int64{1: 3, 2: 2}
	}
	return s
}

// TestUnits checks orders of several units: sums count units, and every source must agree on an order's units.
func TestUnits(t *testing.T) {
	t.Parallel()
	if r := inUnits().check(); r.Total != 0 {
		t.Fatalf("an honest sale: %v", r.Findings)
	}
	left := int64(2)
	for name, tc := range map[string]struct {
		change func(*sale)
		want   checker.Invariant
	}{
		"the sum counts orders": {
			func(s *sale) { s.LedgerStock = &left; s.ShownStock = &left }, checker.Conservation,
		},
		"an order lost units":             {func(s *sale) { s.rows()[0].Units = 1 }, checker.TrueAnswers},
		"more units than a user may have": {func(s *sale) { s.PerUser = 2 }, checker.OnePerUser},
		"more units than were issued":     {func(s *sale) { s.Issued = 5 }, checker.NoOversell},
		"redis counts other units": {func(s *sale) {
			s.Redis = &checker.Redis{Holders: map[int64]int64{1: 101, 2: 102, 3: 103}, Units: map[int64]int64{1: 3}}
		}, checker.Conservation},
	} {
		s := inUnits()
		tc.change(s)
		r := s.check()
		if !slices.ContainsFunc(r.Findings, func(f checker.Finding) bool { return f.Invariant == tc.want }) {
			t.Errorf("%s: %v, want one of %s", name, r.Findings, tc.want)
		}
	}
}
