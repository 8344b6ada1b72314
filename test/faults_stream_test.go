package test

import (
	"strings"
	"time"
)

// What becomes of accepted orders when somebody meddles with their stream by hand.

// streamTrimmed removes all entries from the stream while hundreds of orders wait in it. The audit misses them, and a
// rebuild queues them again, as their places tell of them.
func streamTrimmed(d *drill) {
	d.rebuilt = true
	d.open(deployment{})
	d.load(32, 20*time.Millisecond)
	d.traffic(300)
	release := d.site.ledger.hold(d, d.crowd.voucher)
	d.traffic(500)
	trimmed, err := d.site.live.rdb.XTrimMaxLen(d.Context(), d.site.live.streamKey(), 0).Result()
	d.must(err)
	d.Logf("%d entries were trimmed", trimmed)
	release()
	d.heal()
	d.traffic(100)
	d.finish()
	d.awaitLogged("units of a sale are not accounted for", 1)
}

// groupDestroyed destroys the recorders' group, several times: what they have in hand is then delivered once more, with
// all that waits.
func groupDestroyed(d *drill) {
	d.open(deployment{})
	d.load(32, 20*time.Millisecond)
	for range 5 {
		d.traffic(100 + d.rand.IntN(100))
		release := d.site.ledger.hold(d, d.crowd.voucher)
		d.traffic(50)
		d.must(d.site.live.rdb.XGroupDestroy(d.Context(), d.site.live.streamKey(), group).Err())
		release()
	}
	d.heal()
	d.traffic(100)
	d.finish()
	d.awaitLogged("consumer group created", 1+5)
}

// livingRemoved removes all consumers from the group while they are recording.
func livingRemoved(d *drill) {
	d.open(deployment{})
	d.load(32, 20*time.Millisecond)
	for range 5 {
		d.traffic(100 + d.rand.IntN(100))
		release := d.site.ledger.hold(d, d.crowd.voucher)
		d.traffic(50)
		stranded := int64(0)
		for _, srv := range d.site.servers {
			stranded += d.removeConsumer(srv)
		}
		if stranded == 0 {
			d.Error("nothing was pending for the consumers that were removed")
		}
		release()
	}
	d.heal()
	d.traffic(100)
	d.finish()
}

// deadRemoved kills an instance that has read orders and not recorded them, and removes its consumer from the group
// before the others take over: nobody would be given its entries any more.
func deadRemoved(d *drill) {
	d.open(deployment{})
	d.load(48, 20*time.Millisecond)
	d.traffic(300)
	n := d.victim()
	d.killAt(n, d.wires[n].mysql, batchSent())
	if stranded := d.removeConsumer(d.site.servers[n]); stranded == 0 {
		d.Error("nothing was pending for the consumer that was removed")
	}
	d.traffic(300)
	d.finish()
	d.awaitLogged("took over from consumers that are gone", 1)
	d.comesBack(n)
}

// removeConsumer removes an instance from the group and returns how many entries were pending for it.
func (d *drill) removeConsumer(srv *server) (pending int64) {
	d.Helper()
	rdb, stream := d.site.live.rdb, d.site.live.streamKey()
	consumers, err := rdb.XInfoConsumers(d.Context(), stream, group).Result()
	d.must(err)
	for _, c := range consumers {
		if strings.HasPrefix(c.Name, srv.name+":") {
			n, err := rdb.XGroupDelConsumer(d.Context(), stream, group, c.Name).Result()
			d.must(err)
			pending += n
		}
	}
	return pending
}
