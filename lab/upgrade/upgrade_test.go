package upgrade

import (
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestUpgrade runs the previous version and today's side by side. make -C lab upgrade runs it, make test-box does not.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(*testing.T, release, release)
	}{
		{"a sale, there and back", thereAndBack},
		{"a sale on a Redis Cluster, there and back", thereAndBackOnCluster},
		{"the embedded mode", embeddedMode},
		{"refunds", refundsBesideEachOther},
		{"purge", purgeBesideEachOther},
	}
	old, now := before(t), today(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, old, now)
		})
	}
}

func thereAndBack(t *testing.T, old, now release) {
	s := openStores(t, testkit.StartRedis(t, keepsAll...), testkit.StartMariaDB(t).DSN("seckill"))
	s.thereAndBack(old, now)
}

func thereAndBackOnCluster(t *testing.T, old, now release) {
	onCluster(t, testkit.StartMariaDB(t).DSN("seckill")).thereAndBack(old, now)
}

// thereAndBack replaces the instances of a running sale one after the other, empties Redis meanwhile, and goes back to
// the previous version. Buyers use all instances all the time, and some cancel.
func (s *stores) thereAndBack(old, now release) {
	const units, some = 20_000, 60
	a, b := s.start(old, "a"), s.start(old, "b")
	sale := s.open(a, units)
	sale.use(a, b)
	stop := sale.load(12, 40*time.Millisecond)
	sale.awaitAccepted(some, a, b)

	c := s.start(now, "c") // migrates the schema while the others run, if there is something to migrate
	sale.use(a, b, c)
	sale.awaitAccepted(some, a, b, c)
	sale.allRecord(a, b, c)
	sale.emptyRedis(a, b, c)
	s.crash()
	sale.awaitAccepted(some, a, b, c)

	sale.use(b, c)
	a.terminate()
	d := s.start(now, "d")
	sale.use(b, c, d)
	sale.awaitAccepted(some, b, c, d)
	b.kill() // while buyers use it: they retry elsewhere
	sale.use(c, d)
	sale.awaitAccepted(some, c, d)

	c.kill()
	e := s.start(old, "e") // going back
	sale.use(d, e)
	sale.awaitAccepted(some, d, e)
	sale.allRecord(d, e)
	d.terminate()
	sale.use(e)
	sale.awaitAccepted(some, e)

	f := s.start(now, "f") // and there again
	sale.use(e, f)
	sale.awaitAccepted(some, e, f)
	stop()
	if n := sale.awaitSettled().Live(); n >= units {
		s.Errorf("all %d units were sold before the instances were replaced", units)
	}
	sale.askAgain(40, e, f)
	sale.sellOut()
	sale.askAgain(20, e, f)
	sale.expectSoldOut()
	s.Logf("answers: %v", sale.counts())
}

// allRecord waits until each of the instances has recorded an order from now on.
func (s *sale) allRecord(instances ...*instance) {
	s.Helper()
	const recorded = "seckill_recorder_orders_total"
	for _, i := range instances {
		from := i.metric(recorded, "")
		box.Eventually(s, "recording at "+i.server.Name, func() error {
			if i.metric(recorded, "") == from {
				return errNotYet
			}
			return nil
		})
	}
}

// emptyRedis empties Redis until an instance of each version has rebuilt the sale, which the others then serve.
//
// An instance that loses the race for a rebuild tries again only after its next sweep. So all must be idle before Redis
// is emptied, or the last winner would win each time.
func (s *sale) emptyRedis(instances ...*instance) {
	s.Helper()
	rebuilds := func() map[string]float64 {
		by := map[string]float64{}
		for _, i := range instances {
			by[i.name] += i.metric("seckill_rebuilds_total", `"rebuilt"`)
		}
		return by
	}
	first := rebuilds()
	for range 30 {
		box.Eventually(s, "the end of all repairs", func() error {
			for _, i := range instances {
				if i.metric("seckill_repairs_waiting_sales", "") > 0 {
					return errNotYet
				}
			}
			return nil
		})
		epoch := s.epoch(s.voucher)
		s.empty()
		s.awaitAccepted(20, instances...)
		if s.epoch(s.voucher) == epoch {
			s.Fatalf("Redis was emptied, and the sale is still at epoch %d", epoch)
		}
		have := 0
		for name, n := range rebuilds() {
			if n > first[name] {
				have++
			}
		}
		if have == len(first) {
			return
		}
	}
	s.Errorf("rebuilds by version: %v, before that %v; want more of each", rebuilds(), first)
}
