package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"seckill/bench/chart"
)

// waiting is what became of many buyers who waited for their rows at the same time, on one instance, while another one
// recorded along.
type waiting struct {
	Buyers   int     `json:"buyers"`
	Seated   float64 `json:"kilobytesEach"`  // of the instance's memory, connection and request included
	Recorded float64 `json:"recordedMillis"` // from the moment when recording could begin to the last row
	Told     float64 `json:"toldMillis"`     // to the last answer
	P50      float64 `json:"p50Millis"`      // to the answers
	P99      float64 `json:"p99Millis"`
}

func (w *waiting) String() string { return w.text() }

func (w *waiting) text() string {
	return fmt.Sprintf("%s buyers waited for their rows on one instance at the same time (`?wait=`), %.1f KB of its memory each, connection and "+
		"request included. Once recording could begin, on two instances, the last row was there after %.0f ms; half of the buyers knew after "+
		"%.0f ms, 99 %% after %.0f ms, all after %.0f ms.", chart.Number(float64(w.Buyers)), w.Seated, w.Recorded, w.P50, w.P99, w.Told)
}

// waitFor is what each of them asks for: longer than it takes to gather them all.
const waitFor = "?wait=30s"

// takeWaiting lets everybody buy while nothing can be recorded, weighs the instance, and then lets recording begin.
func takeWaiting(ctx context.Context, r *round) (w waiting, err error) {
	w.Buyers, _ = stampedeSize(r.plan.waiting)
	err = withService(ctx, r, func(at *place, to *target) (int64, error) {
		other, err := service{r.bin}.launch(ctx, at, "other")
		if err != nil {
			return 0, err
		}
		defer func() { _ = other.stop() }() // it has no books of its own
		if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil {
			return 0, err
		}
		release, err := at.hold(ctx)
		if err != nil {
			return 0, err
		}
		before, err := to.memory()
		if err != nil {
			return 0, err
		}
		room, err := fill(ctx, r.crowd[:w.Buyers], to)
		if err == nil {
			err = at.awaitWaiting(ctx, int64(w.Buyers))
		}
		if err != nil {
			_ = release()
			return 0, err
		}
		full, err := to.memory()
		if err != nil {
			return 0, err
		}
		w.Seated = (full - before) * 1024 / float64(w.Buyers)
		began := time.Now()
		if err = release(); err != nil {
			return 0, err
		}
		rows := make(chan error, 1)
		go func() { rows <- at.awaitRecorded(ctx, int64(w.Buyers)); w.Recorded = millis(time.Since(began)) }()
		told, err := room.empty(began)
		if rowsErr := <-rows; err == nil {
			err = rowsErr
		}
		if err != nil {
			return 0, err
		}
		w.P50, w.P99, w.Told = millis(percentile(told, 0.5)), millis(percentile(told, 0.99)), millis(percentile(told, 1))
		return int64(w.Buyers), nil
	})
	return w, err
}

// room is connections on which an answer is awaited.
type room struct{ seats []net.Conn }

// fill sends one purchase on each of many connections.
func fill(ctx context.Context, c crowd, to *target) (r room, err error) {
	for i, token := range c {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/portsEach))}
		conn, err := (&net.Dialer{LocalAddr: from, Control: bindLater}).DialContext(ctx, "tcp", to.addr)
		if err != nil {
			return r, err
		}
		r.seats = append(r.seats, conn)
		if err = conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return r, err
		}
		if _, err = fmt.Fprintf(conn, "POST /voucher/seckill/%d%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nAuthorization: Bearer %s\r\n\r\n",
			to.voucher, waitFor, to.addr, token); err != nil {
			return r, err
		}
	}
	return r, nil
}

// empty reads all answers, which must say that the order is recorded, and returns after how many microseconds each came.
func (r room) empty(began time.Time) (micros []uint32, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, conn := range r.seats {
		wg.Go(func() {
			_, answer := readAnswer(bufio.NewReaderSize(conn, 1024), http.StatusCreated, 0)
			after := uint32(time.Since(began).Microseconds())
			_ = conn.Close() // it has served its purpose
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

// awaitWaiting waits until so many orders are in the stream.
func (p *place) awaitWaiting(ctx context.Context, n int64) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		waiting, err := p.stores.rdb.XLen(ctx, p.prefix+"{p0}:orders").Result()
		if err != nil || waiting >= n {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d orders wait", waiting, n)
		}
	}
}
