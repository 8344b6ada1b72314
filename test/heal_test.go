package test

import (
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestRedisEmptied empties Redis during a sale while nothing is under way: the sale is rebuilt exactly from the ledger.
// The instances are not restarted and must notice by themselves.
func TestRedisEmptied(t *testing.T) {
	t.Parallel()
	const units, first = 300, 100
	own := testkit.StartRedis(t)
	s := box.SiteOn(t, 3, own.Addr, "", testkit.MySQL(t))
	b := s.Buyers(s.CreateSale(t, units, time.Now().Add(time.Hour)))
	b.BuyAll(t.Context(), 50, box.Users(1, first))
	if n := b.Record.Accepted(); n != first {
		t.Fatalf("%d accepted before the fault, want %d: %v", n, first, b.Record.Counts())
	}
	s.Check(t, b, units) // all recorded, so nothing is lost with Redis
	word := wordOf(t, s)
	if err := s.Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	// The first hundred come again, and twice as many new buyers as units are left.
	b.BuyAll(t.Context(), 50, box.Users(1, first+2*(units-first)))
	t.Logf("answers: %v", b.Record.Counts())
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units sold, want all %d", e.Live(), units)
	}
	if after := wordOf(t, s); after != word {
		t.Errorf("the partition carries %q, and carried %q", after, word)
	}
}

// TestRedisEmptiedUnderLoad empties Redis while orders wait there to be recorded. Those orders may be lost; but nothing
// may be oversold, no user may have two orders, and all units must be sold.
func TestRedisEmptiedUnderLoad(t *testing.T) {
	t.Parallel()
	const units, buyers = 1000, 2500
	own := testkit.StartRedis(t)
	s := box.SiteOn(t, 2, own.Addr, "", testkit.MySQL(t))
	b := s.Buyers(s.CreateSale(t, units, time.Now().Add(time.Hour)))
	faultAfter(t, b, units/3, func() error { return s.Redis.FlushAll(t.Context()).Err() })
	b.BuyAll(t.Context(), 64, box.Users(1, buyers))
	t.Logf("answers: %v", b.Record.Counts())
	checkAfterLoss(t, s, b, units)
}

// TestSaleDeletedFromRedis removes one sale's key, as a careless operator might: the sale is rebuilt.
func TestSaleDeletedFromRedis(t *testing.T) {
	t.Parallel()
	const units = 50
	s := box.RealSite(t, 1)
	b := s.Buyers(s.CreateSale(t, units, time.Now().Add(time.Hour)))
	b.BuyAll(t.Context(), 10, box.Users(1, 20))
	s.Check(t, b, units)
	if err := s.Redis.Del(t.Context(), s.Redis.SaleKey(b.Voucher)).Err(); err != nil {
		t.Fatal(err)
	}
	b.BuyAll(t.Context(), 10, box.Users(1, 100))
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units sold, want all %d", e.Live(), units)
	}
}

// checkAfterLoss is Site.Check for a sale whose Redis lost acknowledged writes: an accepted order may then have no row,
// and its buyer may get another order; everything else must hold.
func checkAfterLoss(t *testing.T, s *box.Site, b *box.Buyers, units int64) {
	t.Helper()
	var e checker.Evidence
	var r checker.Report
	box.Eventually(t, "the agreement of ledger and Redis", func() error {
		var err error
		if e, err = s.Evidence(t.Context(), b, units); err != nil {
			return err
		}
		e.Loss = true
		r = checker.Check(e)
		return box.Contradictions(r)
	})
	t.Logf("%d live orders of %d units; %d accepted orders were lost with Redis", e.Live(), units, len(r.Lost))
	if e.Live() != units {
		t.Errorf("%d units sold, want all %d", e.Live(), units)
	}
}
