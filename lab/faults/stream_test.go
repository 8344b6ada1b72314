package faults

import (
	"errors"
	"strings"
	"time"

	"seckill/test/box"
)

// Scenarios in which somebody changes the stream of accepted orders by hand.

// streamTrimmed removes all entries from the stream while hundreds of orders wait in it. The audit finds them missing,
// and a rebuild requeues them from their holders.
func streamTrimmed(r *run) {
	r.rebuilt = true
	r.open(deployment{})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
	r.awaitAccepted(500)
	trimmed, err := r.site.Redis.XTrimMaxLen(r.Context(), r.site.Redis.StreamKey(), 0).Result()
	r.must(err)
	r.Logf("%d entries were trimmed", trimmed)
	release()
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
	r.awaitLogged("units of a sale are not accounted for", 1)
}

// groupDestroyed destroys the recorders' group, several times: the entries that they are recording are then delivered
// again, with all waiting ones.
func groupDestroyed(r *run) {
	r.open(deployment{})
	r.load(32, 20*time.Millisecond)
	for range 5 {
		r.awaitAccepted(100 + r.rand.IntN(100))
		release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
		r.awaitAccepted(50)
		box.Eventually(r, "a group to destroy", func() error { // the last one's successor may come late
			n, err := r.site.Redis.XGroupDestroy(r.Context(), r.site.Redis.StreamKey(), box.RecorderGroup).Result()
			if err == nil && n == 0 {
				err = errors.New("there is none")
			}
			return err
		})
		release()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
	r.awaitLogged("consumer group created", 1+5)
}

// livingRemoved removes all consumers from the group while they are recording.
func livingRemoved(r *run) {
	r.open(deployment{})
	r.load(32, 20*time.Millisecond)
	for range 5 {
		r.awaitAccepted(100 + r.rand.IntN(100))
		release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
		r.awaitAccepted(50)
		stranded := int64(0)
		box.Eventually(r, "consumers for which something is pending", func() error {
			for _, srv := range r.site.Servers {
				stranded += r.removeConsumer(srv)
			}
			if stranded == 0 {
				return errors.New("nothing is: a busy machine has them read late")
			}
			return nil
		})
		release()
	}
	r.faultEnded()
	r.awaitAccepted(100)
	r.finish()
}

// deadRemoved kills an instance that has read orders and not recorded them, and removes its consumer from the group
// before others take its entries over, which would otherwise never be delivered again.
func deadRemoved(r *run) {
	r.open(deployment{})
	r.load(48, 20*time.Millisecond)
	r.awaitAccepted(300)
	n := r.victim()
	r.killAt(n, r.proxies[n].mysql, batchSent())
	if stranded := r.removeConsumer(r.site.Servers[n]); stranded == 0 {
		r.Error("nothing was pending for the consumer that was removed")
	}
	r.awaitAccepted(300)
	r.finish()
	r.awaitLogged("took over from consumers that are gone", 1)
	r.startAgain(n)
}

// removeConsumer removes an instance from the group and returns how many entries were pending for it.
func (r *run) removeConsumer(srv *box.Server) (pending int64) {
	r.Helper()
	rdb, stream := r.site.Redis, r.site.Redis.StreamKey()
	consumers, err := rdb.XInfoConsumers(r.Context(), stream, box.RecorderGroup).Result()
	r.must(err)
	for _, c := range consumers {
		if strings.HasPrefix(c.Name, srv.Name+":") {
			n, err := rdb.XGroupDelConsumer(r.Context(), stream, box.RecorderGroup, c.Name).Result()
			r.must(err)
			pending += n
		}
	}
	return pending
}
