package measures

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

// waitFor is what each buyer asks for: longer than it takes until all of them wait.
const waitFor = "?wait=30s"

// waiting lets many buyers wait for their rows while nothing can be recorded, reads the instance's memory, and then lets
// recording begin.
func (b *Bench) waiting(ctx context.Context) (w result.Waiting, err error) {
	w.Buyers, _ = rig.MaxConnections(b.plan.Waiting)
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
		waiters, err := buyAndWait(ctx, b.users[:w.Buyers], server)
		if err == nil {
			err = awaitQueued(ctx, at, int64(w.Buyers))
		}
		if err != nil {
			_ = release()
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
		micros, err := waiters.answers(began)
		if rowsErr := <-rows; err == nil {
			err = rowsErr
		}
		if err != nil {
			return 0, err
		}
		w.P50, w.P99 = millis(rig.Percentile(micros, 0.5)), millis(rig.Percentile(micros, 0.99))
		w.LastAnswer = millis(rig.Percentile(micros, 1))
		return int64(w.Buyers), nil
	})
	return w, err
}

// waiters are connections on which an answer is awaited.
type waiters []net.Conn

// buyAndWait sends one purchase on each of many connections.
func buyAndWait(ctx context.Context, users rig.Users, server *rig.Server) (all waiters, err error) {
	for i, token := range users {
		conn, err := server.Dial(ctx, i)
		if err != nil {
			return all, err
		}
		all = append(all, conn)
		if err = server.Buy(conn, waitFor, token); err != nil {
			return all, err
		}
	}
	return all, nil
}

// answers reads all answers, which must say that the order is recorded, and returns after how many microseconds each
// came.
func (w waiters) answers(began time.Time) (micros []uint32, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, conn := range w {
		wg.Go(func() {
			_, answer := rig.ReadAnswer(bufio.NewReaderSize(conn, 1024), http.StatusCreated, 0)
			after := uint32(time.Since(began).Microseconds())
			_ = conn.Close() // its answer has been read
			mu.Lock()
			defer mu.Unlock()
			micros = append(micros, after)
			if answer != nil {
				err = answer
			}
		})
	}
	wg.Wait()
	return micros, err
}

// awaitQueued waits, for a minute at most, until so many orders are in the stream.
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
