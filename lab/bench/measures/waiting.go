package measures

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// waitFor is each buyer's waiting time: longer than it takes until all of them wait.
const waitFor = "?wait=30s"

// waiting lets many buyers wait for their rows while nothing can be recorded, measures the instance's memory, and then
// lets recording begin.
func (b *Bench) waiting(ctx context.Context) (w result.Waiting, err error) {
	w.Buyers, _ = load.MaxConnections(b.plan.Waiting)
	err = b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (int64, error) {
		other, err := b.service().Launch(ctx, at, "other")
		if err != nil {
			return 0, err
		}
		defer func() { _ = other.Stop() }() // audited with the first one
		if err = server.Sell(ctx, rig.Unlimited); err != nil {
			return 0, err
		}
		release, err := at.LockSale(ctx)
		if err != nil {
			return 0, err
		}
		before, err := server.Memory()
		if err != nil {
			return 0, err
		}
		var all waiters
		err = all.buy(ctx, b.users[:w.Buyers], server)
		if err == nil {
			err = awaitQueued(ctx, at, int64(w.Buyers))
		}
		if err != nil {
			_ = release()
			_, _ = all.after(time.Now()) // the first error is the reason
			return 0, err
		}
		full, err := server.Memory()
		if err != nil {
			return 0, err
		}
		w.Kilobytes = (full - before) * 1024 / float64(w.Buyers)
		began := time.Now()
		if err = release(); err != nil {
			return 0, err
		}
		rows := make(chan error, 1)
		go func() {
			rows <- at.AwaitRecorded(ctx, int64(w.Buyers))
			w.LastRow = millis(time.Since(began))
		}()
		micros, err := all.after(began)
		if rowsErr := <-rows; err == nil {
			err = rowsErr
		}
		if err != nil {
			return 0, err
		}
		w.P50, w.P99 = millis(load.Percentile(micros, 0.5)), millis(load.Percentile(micros, 0.99))
		w.LastAnswer = millis(load.Percentile(micros, 1))
		return int64(w.Buyers), nil
	})
	return w, err
}

// waiters are buyers who wait for their rows, each on a connection of their own.
type waiters struct {
	asking   errgroup.Group
	answered []time.Time // by buyer
}

// buy sends one purchase on each of many connections.
func (w *waiters) buy(ctx context.Context, users load.Users, server *rig.Server) error {
	w.answered = make([]time.Time, len(users))
	for i, token := range users {
		conn, err := load.Dial(ctx, server.Addr, i)
		if err != nil {
			return err
		}
		w.asking.Go(func() error {
			defer conn.Close() // its answer has been read
			_, err := load.Ask(ctx, conn, load.Purchase(server.Voucher, waitFor, token), http.StatusCreated, 0)
			w.answered[i] = time.Now()
			return err
		})
	}
	return nil
}

// after waits for all answers, which must say that the order is recorded, and returns when each came, in microseconds
// since began.
func (w *waiters) after(began time.Time) (micros []uint32, err error) {
	err = w.asking.Wait()
	for _, at := range w.answered {
		micros = append(micros, uint32(at.Sub(began).Microseconds()))
	}
	return micros, err
}

// awaitQueued waits, for a minute at most, until n orders are in the stream.
func awaitQueued(ctx context.Context, at *rig.Namespace, n int64) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		queued, err := audit.Waiting(ctx, at)
		if err != nil || queued >= n {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d orders wait", queued, n)
		}
	}
}
