package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"seckill/test/box"
)

// redisKilled kills Redis during a sale, several times, and starts it again from its file. If every write is flushed
// before it is answered, nothing may be lost; with one flush a second, losses are counted.
func redisKilled(everySecond bool) func(*run) {
	return func(r *run) {
		p := deployment{}
		r.rebuilt = true // by instances that notice the restart of Redis
		if everySecond {
			p.redis, r.loss = []string{"--appendonly", "yes", "--appendfsync", "everysec"}, true
		}
		r.open(p)
		r.load(48, 20*time.Millisecond)
		for range 3 {
			r.awaitAccepted(200 + r.rand.IntN(200))
			r.redis.Kill()
			r.faultEnded()
			r.redis.Start()
		}
		r.finish()
	}
}

// redisInterrupted flushes the scripts, kills all connections, and pauses all clients for three seconds, as operators
// do.
func redisInterrupted(r *run) {
	r.open(deployment{units: 8000})
	r.load(48, 20*time.Millisecond)
	rdb := r.site.Redis
	for range 3 {
		r.awaitAccepted(100 + r.rand.IntN(100))
		r.must(rdb.ScriptFlush(r.Context()).Err())
		r.awaitAccepted(100)
		r.must(rdb.ClientKillByFilter(r.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	}
	r.awaitAccepted(100)
	const pause = 3 * time.Second
	r.must(rdb.ClientPause(r.Context(), pause).Err())
	<-time.After(pause)
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// redisFull lowers Redis's memory limit, so that it refuses writes. Buyers are refused clearly: none is accepted, and
// no outcome is unknown.
func redisFull(r *run) {
	r.open(deployment{units: 8000})
	r.load(32, 30*time.Millisecond)
	r.awaitAccepted(300)
	rdb := r.site.Redis
	r.must(rdb.ConfigSet(r.Context(), "maxmemory", "1mb").Err())
	box.Eventually(r, "refusals", func() error {
		if n := r.buyers.Record.Counts()["later UNAVAILABLE"]; n < 200 {
			return fmt.Errorf("%d answers are UNAVAILABLE", n)
		}
		return nil
	})
	r.must(rdb.ConfigSet(r.Context(), "maxmemory", "0").Err())
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
	if unknown := r.unknownAtOnce(); len(unknown) > 0 {
		r.Errorf("%d outcomes were unknown, the first: %s", len(unknown), unknown[0])
	}
}

// In the following scenarios Redis loses acknowledged writes. All instances live on with their recent accepts, so no
// order may be lost.

// redisEmptied empties Redis while orders wait in it.
func redisEmptied(r *run) {
	r.rebuilt = true
	r.open(deployment{})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	r.must(r.site.Redis.FlushAll(r.Context()).Err())
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// fileTruncated kills Redis and removes about the last second of its file, as a power cut does.
func fileTruncated(r *run) {
	r.rebuilt = true
	r.open(deployment{})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	file := r.appendOnlyFile()
	before, err := os.Stat(file)
	r.must(err)
	r.awaitAccepted(100) // about a second
	r.redis.Kill()
	r.must(os.Truncate(file, before.Size()))
	r.redis.Start()
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// appendOnlyFile returns the file to which Redis appends.
func (r *run) appendOnlyFile() string {
	r.Helper()
	for _, pattern := range []string{"appendonlydir/*.incr.aof", "appendonly.aof"} { // since Redis 7, and before
		files, err := filepath.Glob(filepath.Join(r.redis.Dir, pattern))
		r.must(err)
		if len(files) > 0 {
			return files[len(files)-1]
		}
	}
	r.Fatalf("no append-only file in %s", r.redis.Dir)
	return ""
}
