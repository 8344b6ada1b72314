package faults

import (
	"fmt"
	"slices"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// Scenarios with wrong clocks. A clock is one process's (testkit.Clock), since all processes run on one machine.

// windowAhead and windowLength are the window of the sale which shows that Redis's clock decides, not the instances'.
const (
	windowAhead  = 10 * time.Second // long enough for a busy machine to create the sale and ask
	windowLength = 5 * time.Second
	auditorLock  = "auditor"
)

// instanceClocksWrong sets one instance's clock an hour ahead, one an hour behind, and steps the third one's back by
// two seconds again and again, while all of them sell.
func instanceClocksWrong(r *run) {
	clocks := []*testkit.Clock{testkit.NewClock(r), testkit.NewClock(r), testkit.NewClock(r)}
	clocks[1].Set(time.Hour)
	clocks[2].Set(-time.Hour)
	r.open(deployment{units: 8000, clocks: clocks})
	r.load(24, 30*time.Millisecond)
	for i := range 3 {
		r.awaitAccepted(100)
		clocks[0].Set(time.Duration(i+1) * -2 * time.Second)
	}
	r.expectWindowByRedis()
	r.faultEnded()
	r.finish()
}

// expectWindowByRedis opens a sale for some seconds and asks every instance for it all the time. Each must sell, and
// must say that the sale has not begun, or is over, according to Redis's clock, which is right here.
func (r *run) expectWindowByRedis() {
	r.Helper()
	begin := time.Now().Add(windowAhead).Truncate(time.Millisecond)
	end := begin.Add(windowLength)
	buyers := r.site.Buyers(r.site.CreateWindow(r, 100_000, begin, end))
	for user := int64(1); time.Now().Before(end.Add(time.Second)); user++ {
		for i, srv := range r.site.Servers {
			buyers.Buy(r.Context(), srv, 10*user+int64(i))
		}
		<-time.After(5 * time.Millisecond)
	}
	got := map[string]int{}
	for _, a := range buyers.Record.Answers() {
		what := a.Code
		if a.Outcome == checker.Accepted {
			what = "accepted"
		}
		got[a.Server+": "+what]++
		early := a.Received.Before(begin) && what != "NOT_STARTED" && a.Outcome != checker.Later
		late := a.Sent.After(end) && what != "ENDED"
		between := a.Sent.After(begin) && a.Received.Before(end) && (what == "NOT_STARTED" || what == "ENDED")
		if early || late || between {
			r.Errorf("a sale from %v to %v, at %v: %s", begin, end, a.Sent, a)
		}
	}
	r.Logf("around a window of %v: %v", windowLength, got)
	for _, srv := range r.site.Servers {
		for _, what := range []string{"NOT_STARTED", "accepted", "ENDED"} {
			if got[srv.Name+": "+what] == 0 {
				r.Errorf("%s never answered %s", srv.Name, what)
			}
		}
	}
}

// redisClockSet sets Redis's clock wrong while the holders of the expirer's and of the auditor's lock die, one of them
// with entries that it has read. The other instances go on: they claim the entries, get the locks, and sell. Then the
// clock is set right.
func redisClockSet(offset time.Duration) func(*run) {
	return func(r *run) {
		clock := testkit.NewClock(r)
		r.open(deployment{units: 16_000, redisClock: clock})
		d := r.openDue()
		r.buyers.Pick = d.pick
		d.fall()
		d.awaitExpired()
		r.load(24, 30*time.Millisecond)
		r.awaitAccepted(300)
		dead := slices.Compact([]int{d.holder(), d.holderOf(auditorLock)})
		b := r.proxies[dead[0]].mysql.Break(batchSent())
		r.await("a recorder with a batch", b.Reached())
		d.stopped.Store(int64(dead[0]) + 1)
		for _, n := range dead {
			r.must(r.site.Servers[n].Kill())
		}
		b.Cut()
		clock.Set(offset)
		stepped := time.Now()
		r.awaitAccepted(100)
		r.awaitClaimed()
		d.fall()
		d.awaitExpired()
		r.awaitHolderBut(d, dead)
		r.Logf("entries, expirer and auditor went on within %v of the step",
			time.Since(stepped).Round(time.Millisecond))
		for _, n := range dead {
			r.must(r.site.Servers[n].Start())
		}
		d.stopped.Store(0)
		clock.Set(0)
		r.awaitAccepted(100)
		d.fall()
		d.awaitExpired()
		r.faultEnded()
		r.finish()
	}
}

// awaitClaimed waits until no entry is older than those waiting now: the dead instances' entries are then claimed and
// recorded.
func (r *run) awaitClaimed() {
	r.Helper()
	rdb := r.site.Redis
	last, err := rdb.XInfoStream(r.Context(), rdb.StreamKey()).Result()
	r.must(err)
	box.Eventually(r, "the entries of the dead", func() error {
		old, err := rdb.XRangeN(r.Context(), rdb.StreamKey(), "-", last.LastGeneratedID, 1).Result()
		if err == nil && len(old) > 0 {
			err = fmt.Errorf("entry %s waits", old[0].ID)
		}
		return err
	})
}

// awaitHolderBut waits until a live instance has the auditor's lock.
func (r *run) awaitHolderBut(d *due, dead []int) {
	r.Helper()
	box.Eventually(r, "another instance with the auditor's lock", func() error {
		if n := d.holderOf(auditorLock); slices.Contains(dead, n) {
			return fmt.Errorf("dead %s has it", r.site.Servers[n].Name)
		}
		return nil
	})
}
