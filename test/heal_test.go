package test

import (
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
)

// TestRedisEmptied empties Redis in the middle of a sale that has come to rest: the sale is rebuilt from the ledger
// and goes on, exactly. The instances, which were never restarted, must notice by themselves.
func TestRedisEmptied(t *testing.T) {
	t.Parallel()
	const units, first = 300, 100
	own := testkit.StartRedis(t)
	s := siteOn(t, 3, own.Addr, "", testkit.MySQL(t))
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	c.rush(t.Context(), 50, people(1, first))
	if n := c.record.acceptedCount(); n != first {
		t.Fatalf("%d accepted before the fault, want %d: %v", n, first, c.record.tally())
	}
	s.check(t, c, units) // all recorded: nothing that only Redis knows is lost with it
	if err := s.live.rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	// Everybody comes: the first hundred once more, and twice as many others as there are units left.
	c.rush(t.Context(), 50, people(1, first+2*(units-first)))
	t.Logf("answers: %v", c.record.tally())
	if e := s.check(t, c, units); e.liveRows() != units {
		t.Errorf("%d units sold, want all %d", e.liveRows(), units)
	}
}

// TestRedisEmptiedUnderLoad empties Redis while orders wait in it to be recorded. What only Redis knew may be gone;
// what must hold is that nothing is oversold, that nobody has two orders, and that the sale sells on to its last unit.
func TestRedisEmptiedUnderLoad(t *testing.T) {
	t.Parallel()
	const units, buyers = 1000, 2500
	own := testkit.StartRedis(t)
	s := siteOn(t, 2, own.Addr, "", testkit.MySQL(t))
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	strike(t, c, units/3, func() error { return s.live.rdb.FlushAll(t.Context()).Err() })
	c.rush(t.Context(), 64, people(1, buyers))
	t.Logf("answers: %v", c.record.tally())
	s.checkAfterLoss(t, c, units)
}

// TestSaleDeletedFromRedis removes one sale's key, as a careless operator would: it heals without anybody's help.
func TestSaleDeletedFromRedis(t *testing.T) {
	t.Parallel()
	const units = 50
	s := realSite(t, 1)
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	c.rush(t.Context(), 10, people(1, 20))
	s.check(t, c, units)
	if err := s.live.rdb.Del(t.Context(), s.live.saleKey(c.voucher)).Err(); err != nil {
		t.Fatal(err)
	}
	c.rush(t.Context(), 10, people(1, 100))
	if e := s.check(t, c, units); e.liveRows() != units {
		t.Errorf("%d units sold, want all %d", e.liveRows(), units)
	}
}

// checkAfterLoss is check for a sale whose Redis lost acknowledged writes: an accepted order may then have no row, and
// may be told to be another one; everything else holds.
func (s *site) checkAfterLoss(t *testing.T, c *crowd, units int64) {
	t.Helper()
	var e evidence
	var r checker.Report
	eventually(t, "the agreement of ledger and Redis", func() error {
		var err error
		if e, err = s.gather(t.Context(), c, units); err != nil {
			return err
		}
		e.Loss = true
		r = checker.Check(e.Evidence)
		return contradictions(r)
	})
	t.Logf("%d live orders of %d units; %d accepted orders were lost with Redis", e.liveRows(), units, len(r.Lost))
	if e.liveRows() != units {
		t.Errorf("%d units sold, want all %d", e.liveRows(), units)
	}
}
