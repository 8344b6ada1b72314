package test

import (
	"fmt"
	"time"
)

// redisKilled kills Redis in the middle of a sale, several times, and starts it again with what its file holds. With
// every write flushed before it is answered nothing may be lost; with one flush a second, what is lost is counted.
func redisKilled(everySecond bool) func(*drill) {
	return func(d *drill) {
		p := deployment{}
		d.rebuilt = true // by instances that see another run of Redis
		if everySecond {
			p.redis, d.loss = []string{"--appendonly", "yes", "--appendfsync", "everysec"}, true
		}
		d.open(p)
		d.load(48, 20*time.Millisecond)
		for range 3 {
			d.traffic(200 + d.rand.IntN(200))
			d.redis.Kill()
			d.heal()
			d.redis.Start()
		}
		d.finish()
	}
}

// redisHarassed does to Redis what operators do: forgets the scripts, ends all connections, stops answering for three
// seconds.
func redisHarassed(d *drill) {
	d.open(deployment{units: 8000})
	d.load(48, 20*time.Millisecond)
	rdb := d.site.live.rdb
	for range 3 {
		d.traffic(100 + d.rand.IntN(100))
		d.must(rdb.ScriptFlush(d.Context()).Err())
		d.traffic(100)
		d.must(rdb.ClientKillByFilter(d.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	}
	d.traffic(100)
	const pause = 3 * time.Second
	d.must(rdb.ClientPause(d.Context(), pause).Err())
	<-time.After(pause)
	d.heal()
	d.traffic(100)
	d.finish()
}

// redisFull takes Redis's memory away. It then refuses to write, and buyers are told so, clearly: nobody is accepted and
// nobody's outcome is unknown.
func redisFull(d *drill) {
	d.open(deployment{units: 8000})
	d.load(32, 30*time.Millisecond)
	d.traffic(300)
	rdb := d.site.live.rdb
	d.must(rdb.ConfigSet(d.Context(), "maxmemory", "1mb").Err())
	eventually(d, "refusals", func() error {
		if n := d.crowd.record.tally()["later UNAVAILABLE"]; n < 200 {
			return fmt.Errorf("%d buyers were told UNAVAILABLE", n)
		}
		return nil
	})
	d.must(rdb.ConfigSet(d.Context(), "maxmemory", "0").Err())
	d.heal()
	d.traffic(100)
	d.finish()
	if n := d.crowd.record.tally()["unknown"]; n > 0 {
		d.Errorf("%d outcomes were unknown", n)
	}
}
