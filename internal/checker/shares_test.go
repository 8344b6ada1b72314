package checker_test

import (
	"slices"
	"testing"

	"seckill/internal/checker"
)

// inShares is the evidence of an honest sale of two shares. Users 1 and 2 are in share 1, which had one unit and was given another.
func inShares() *sale {
	s := honest()
	for i, share := range []int{1, 1, 0} {
		s.rows()[i].Share = share
	}
	s.Redis.Shares = map[int64]int{1: 1, 2: 1, 3: 0}
	zero, one := checker.ShareUnits{MovedOut: 1}, checker.ShareUnits{MovedIn: 1}
	s.Shares = []checker.Share{{Ledger: zero, Redis: zero}, {Ledger: one, Redis: one}}
	return s
}

// Shares of a split sale: what leaves one comes to another, both stores agree about each, and no user is in two.
func TestShares(t *testing.T) {
	t.Parallel()
	if r := inShares().check(); r.Total != 0 {
		t.Fatalf("an honest sale: %v", r.Findings)
	}
	withoutRedis := inShares()
	withoutRedis.Redis = nil
	for i := range withoutRedis.Shares {
		withoutRedis.Shares[i].Redis = checker.ShareUnits{}
	}
	if r := withoutRedis.check(); r.Total != 0 {
		t.Errorf("Redis was not read: %v", r.Findings)
	}
	for name, tc := range map[string]struct {
		change func(*sale)
		want   checker.Invariant
	}{
		"a unit is on its way":               {func(s *sale) { s.Shares[1].Redis.MovedIn = 0 }, checker.Recovered},
		"a unit is on its way in the ledger": {func(s *sale) { s.Shares[1].Ledger.MovedIn = 0 }, checker.Recovered},
		"a unit was given twice":             {func(s *sale) { s.Shares[1].Redis.MovedIn = 2 }, checker.NoOversell},
		"a unit is in another share in redis": {func(s *sale) {
			s.Shares[0].Redis.Stock, s.Shares[1].Redis.Stock = 1, -1
		}, checker.Conservation},
		"redis has other units than its shares": {func(s *sale) {
			s.Shares[0].Redis.Stock, s.Shares[0].Ledger.Stock = 1, 1
		}, checker.Conservation},
		"a user has bought in two shares": {func(s *sale) {
			s.rows()[2].User, s.rows()[2].Status = 1, checker.Cancelled
		}, checker.OnePerUser},
		"a user is a holder in another share": {func(s *sale) { s.Redis.Shares[3] = 1 }, checker.OnePerUser},
	} {
		s := inShares()
		tc.change(s)
		r := s.check()
		if !slices.ContainsFunc(r.Findings, func(f checker.Finding) bool { return f.Invariant == tc.want }) {
			t.Errorf("%s: %v, want one of %s", name, r.Findings, tc.want)
		}
	}
}
