package test

import "time"

// redisKilled kills Redis in the middle of a sale, several times, and starts it again with what its file holds. With
// every write flushed before it is answered nothing may be lost; with one flush a second, what is lost is counted.
func redisKilled(everySecond bool) func(*drill) {
	return func(d *drill) {
		p := deployment{}
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
