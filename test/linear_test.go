package test

import (
	"testing"
	"time"

	"seckill/internal/checker/linear"
)

// TestLinearizable: eight clients press the button two hundred times for forty units, while one of two instances is
// killed and started again. Their answers, with those that never came, and the rows in the end could come from a shop
// that serves one request at a time.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	const units, buyers, clients = 40, 100, 8
	s := realSite(t, 2)
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	strike(t, c, units/2, func() error { return crash(s.servers[0]) })
	c.rush(t.Context(), clients, append(people(1, buyers), people(1, buyers)...))
	t.Logf("answers: %v", c.record.tally())
	e := s.check(t, c, units)
	live := map[int64]int64{}
	for _, o := range e.Views[0].Orders {
		if o.Status.Live() {
			live[o.User] = o.ID
		}
	}
	if got := linear.Check(units, c.record.evidence(c.voucher), live, patience); got != linear.Yes {
		t.Errorf("the record is %s", got)
	}
}
