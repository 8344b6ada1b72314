package measures

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"seckill/lab/bench/candidate"
)

// TestFit: all small sales together must last for all rounds.
func TestFit(t *testing.T) {
	t.Parallel()
	p := Smoke()
	p.Rounds = 4
	if got := p.fit().Scale.Requests; got != 250 {
		t.Errorf("%d requests of 1,000 units in 4 rounds", got)
	}
	if got := Full().fit().Scale.Requests; got != Full().Scale.Requests {
		t.Errorf("%d requests though the units last", got)
	}
}

// TestUsers: there are enough users for the largest planned measurement.
func TestUsers(t *testing.T) {
	t.Parallel()
	p := Plan{Rounds: 1, Duration: time.Second, Connections: 10, Sale: SalePlan{Buyers: 1_000_000}}
	if got := p.users(); got != 120_000 {
		t.Errorf("%d users for a comparison", got)
	}
	p.Limits = true
	if got := p.users(); got != 1_000_010 {
		t.Errorf("%d users for a sale of a million buyers", got)
	}
}

// TestSteps: reports know every candidate of a round, each occurs once, and the service comes before candidates that
// depend on its rate.
func TestSteps(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, s := range (&Bench{}).steps() {
		if slices.Contains(seen, s.candidate) || !slices.Contains(candidate.All(), s.candidate) {
			t.Errorf("%s is unknown or has two steps", s.candidate)
		}
		seen = append(seen, s.candidate)
	}
	if len(seen)+4 != len(candidate.All()) { // four are measured by scale
		t.Errorf("%d steps for %d candidates", len(seen), len(candidate.All()))
	}
	for _, half := range []string{candidate.GinHalf, candidate.ServiceHalf} {
		if slices.Index(seen, half) < slices.Index(seen, candidate.Service) {
			t.Errorf("%s does not know the service's rate", half)
		}
	}
}

func TestTakesPart(t *testing.T) {
	t.Parallel()
	p := Plan{}
	if !p.takesPart(candidate.Bare) {
		t.Error("without an expression not all take part")
	}
	p.Only = regexp.MustCompile("^this service$")
	if p.takesPart(candidate.Bare, candidate.SoldOut) || !p.takesPart(candidate.Bare, candidate.Service) {
		t.Error("the expression is not followed")
	}
}
