package split_test

import (
	"slices"
	"testing"

	"seckill/internal/order/split"
)

// soldOutShare is one that has sold what it had, after a unit had moved away from it and another to it.
func soldOutShare() split.Share {
	return split.Share{Known: true, Open: true, Epoch: 3, Operation: 7, Corrected: 2, MovedOut: 1, MovedIn: 1}
}

func TestSoldOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second     func(*split.Share) // what is different in the second of three shares
		soldOut, remember bool
	}{
		"nothing anywhere":              {soldOut: true, remember: true},
		"a unit now":                    {second: func(s *split.Share) { s.Sellable = 1 }},
		"a unit before":                 {first: func(s *split.Share) { s.Sellable = 1 }},
		"a unit at both":                {first: func(s *split.Share) { s.Sellable = 1 }, second: func(s *split.Share) { s.Sellable = 1 }},
		"not known now":                 {second: func(s *split.Share) { s.Known = false }},
		"not known before":              {first: func(s *split.Share) { s.Known = false }},
		"rebuilt between":               {second: func(s *split.Share) { s.Epoch++ }},
		"an operation between":          {second: func(s *split.Share) { s.Operation++ }},
		"a correction between":          {second: func(s *split.Share) { s.Corrected++ }},
		"a unit left between":           {second: func(s *split.Share) { s.MovedOut++ }},
		"a unit arrived between":        {second: func(s *split.Share) { s.MovedIn++ }},
		"a unit on its way":             {first: func(s *split.Share) { s.MovedOut++ }, second: func(s *split.Share) { s.MovedOut++ }},
		"more arrived than left":        {first: func(s *split.Share) { s.MovedIn++ }, second: func(s *split.Share) { s.MovedIn++ }},
		"a unit waits at both":          {first: func(s *split.Share) { s.Waiting = 1 }, second: func(s *split.Share) { s.Waiting = 1 }, soldOut: true},
		"a waiting unit was sold":       {first: func(s *split.Share) { s.Waiting = 1 }},
		"one of two waiting units sold": {first: func(s *split.Share) { s.Waiting = 2 }, second: func(s *split.Share) { s.Waiting = 1 }},
		"paused, with nothing":          {first: func(s *split.Share) { s.Open = false }, second: func(s *split.Share) { s.Open = false }, soldOut: true, remember: true},
		"paused, with a unit":           {second: func(s *split.Share) { s.Open, s.Sellable = false, 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := split.Look{soldOutShare(), soldOutShare(), soldOutShare()}
			second := slices.Clone(first)
			if tc.first != nil {
				tc.first(&first[1])
			}
			if tc.second != nil {
				tc.second(&second[1])
			}
			if soldOut, remember := split.SoldOut(first, second); soldOut != tc.soldOut || remember != tc.remember {
				t.Errorf("SoldOut = %t, remember %t, want %t, %t", soldOut, remember, tc.soldOut, tc.remember)
			}
		})
	}
	if soldOut, _ := split.SoldOut(nil, nil); soldOut {
		t.Error("no shares were looked at")
	}
	if soldOut, _ := split.SoldOut(split.Look{soldOutShare()}, split.Look{soldOutShare(), soldOutShare()}); soldOut {
		t.Error("a share was left out of the first look")
	}
}

func TestPullFor(t *testing.T) {
	t.Parallel()
	has := func(units int64) split.Share { return split.Share{Known: true, Open: true, Sellable: units} }
	keeps := func(units int64) split.Share {
		s := has(units)
		s.Kept = true
		return s
	}
	kept, closed, unknown := keeps(100), has(100), has(100)
	closed.Open, unknown.Known = false, false
	closedKept := closed
	closedKept.Kept = true
	for name, tc := range map[string]struct {
		look   split.Look
		wanted int64
		want   split.Pull // none: nobody can give, or others gather
	}{
		"half of the most":                   {split.Look{has(0), has(10), has(40)}, 3, split.Pull{From: 2, Units: 20}},
		"what is wanted, if more than half":  {split.Look{has(0), has(10), has(40)}, 30, split.Pull{From: 2, Units: 30}},
		"all of it, if that is not enough":   {split.Look{has(0), has(10), has(40)}, 50, split.Pull{From: 2, Units: 40}},
		"the last unit":                      {split.Look{has(0), has(1)}, 1, split.Pull{From: 1, Units: 1}},
		"the lowest of several":              {split.Look{has(0), has(3), has(3)}, 1, split.Pull{From: 1, Units: 1}},
		"never of itself":                    {split.Look{has(9), has(2)}, 1, split.Pull{From: 1, Units: 1}},
		"not what was just given":            {split.Look{has(0), kept, has(2)}, 1, split.Pull{From: 2, Units: 1}},
		"not from one that is closed":        {split.Look{has(0), closed}, 1, split.Pull{}},
		"not from one that nobody can judge": {split.Look{has(0), unknown}, 1, split.Pull{}},
		"nothing left":                       {split.Look{has(0), has(0)}, 1, split.Pull{}},
		"nothing wanted":                     {split.Look{has(0), has(5)}, 0, split.Pull{}},
		"left to one that gathers more":      {split.Look{has(2), has(1), keeps(3)}, 7, split.Pull{}},
		"enough, also while one gathers":     {split.Look{has(2), has(3), keeps(3)}, 3, split.Pull{From: 1, Units: 3}},
		"others gather less":                 {split.Look{has(4), has(1), keeps(3)}, 7, split.Pull{From: 1, Units: 1}},
		"the lower of two that gather":       {split.Look{has(3), has(1), keeps(3)}, 7, split.Pull{From: 1, Units: 1}},
		"one that is closed gathers nothing": {split.Look{has(2), has(1), closedKept}, 7, split.Pull{From: 1, Units: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := tc.look.PullFor(0, tc.wanted, tc.look[0].Sellable+tc.wanted); got != tc.want || ok != (tc.want.Units > 0) {
				t.Errorf("PullFor = %+v, %t, want %+v", got, ok, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		look   split.Look
		wanted int64
		want   split.Pull
	}{
		"no more than is wanted":             {split.Look{has(0), has(10), has(40)}, 3, split.Pull{From: 2, Units: 3}},
		"all of it, if that is not enough":   {split.Look{has(0), has(10), has(40)}, 50, split.Pull{From: 2, Units: 40}},
		"from one that is closed":            {split.Look{has(0), closed}, 1, split.Pull{From: 1, Units: 1}},
		"not what was just given":            {split.Look{has(0), kept, has(2)}, 1, split.Pull{From: 2, Units: 1}},
		"not from one that nobody can judge": {split.Look{has(0), unknown}, 1, split.Pull{}},
		"nothing wanted":                     {split.Look{has(0), has(5)}, 0, split.Pull{}},
	} {
		t.Run("gathered: "+name, func(t *testing.T) {
			t.Parallel()
			if got, ok := tc.look.GatherFor(0, tc.wanted); got != tc.want || ok != (tc.want.Units > 0) {
				t.Errorf("GatherFor = %+v, %t, want %+v", got, ok, tc.want)
			}
		})
	}
	if got := (split.Look{has(2), closed, unknown, kept}).Sellable(); got != 102 {
		t.Errorf("Sellable = %d, want 102", got)
	}
}
