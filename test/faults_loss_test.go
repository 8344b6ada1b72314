package test

import (
	"os"
	"path/filepath"
	"time"
)

// Redis loses what it had acknowledged in these scenarios. All instances live on, and remember: so no order may be lost.

// redisEmptied empties Redis while orders wait in it.
func redisEmptied(d *drill) {
	d.rebuilt = true
	d.open(deployment{})
	d.load(32, 20*time.Millisecond)
	d.traffic(300)
	d.must(d.site.live.rdb.FlushAll(d.Context()).Err())
	d.heal()
	d.traffic(100)
	d.finish()
}

// tailCutOff kills Redis and takes the last second of its file away, as a power cut does.
func tailCutOff(d *drill) {
	d.rebuilt = true
	d.open(deployment{})
	d.load(32, 20*time.Millisecond)
	d.traffic(300)
	file := d.appendOnlyFile()
	before, err := os.Stat(file)
	d.must(err)
	d.traffic(100) // about a second
	d.redis.Kill()
	d.must(os.Truncate(file, before.Size()))
	d.redis.Start()
	d.heal()
	d.traffic(100)
	d.finish()
}

// appendOnlyFile returns the file to which the drill's Redis appends.
func (d *drill) appendOnlyFile() string {
	d.Helper()
	for _, pattern := range []string{"appendonlydir/*.incr.aof", "appendonly.aof"} { // since Redis 7, and before
		files, err := filepath.Glob(filepath.Join(d.redis.Dir, pattern))
		d.must(err)
		if len(files) > 0 {
			return files[len(files)-1]
		}
	}
	d.Fatalf("no append-only file in %s", d.redis.Dir)
	return ""
}
