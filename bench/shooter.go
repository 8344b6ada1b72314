package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// shooter is one connection.
type shooter struct {
	volley             *volley
	number             int
	began, from, until time.Time
	next               *atomic.Int64 // the press whose turn it is

	answered, refused int64
	latencies         []uint32 // microseconds, of the measured part
	users             []int64
}

func (s *shooter) run(ctx context.Context) error {
	err := s.shoot(ctx)
	if err != nil && s.volley.dies && ctx.Err() == nil {
		s.volley.meter.broken.Add(1)
		return nil
	}
	return err
}

func (s *shooter) shoot(ctx context.Context) error {
	v := s.volley
	at := v.doors[s.number%len(v.doors)]
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	tail := []byte(v.query + " HTTP/1.1\r\nHost: " + at.addr + "\r\nContent-Length: 0\r\nAuthorization: Bearer ")
	answers := bufio.NewReaderSize(conn, 4096)
	request := make([]byte, 0, 1024)
	free := time.Now() // since when the connection has nothing to do
	for turn := 0; ; turn++ {
		asked, ok := s.await(ctx, turn, free)
		if !ok {
			return nil
		}
		press := s.next.Add(1) - 1
		if v.most > 0 && press-v.first*v.presses >= v.most {
			return nil
		}
		user := press / v.presses
		if user >= int64(len(v.crowd)) {
			return errTired
		}
		request = append(request[:0], "POST /voucher/seckill/"...)
		request = strconv.AppendInt(request, at.vouchers[user%int64(len(at.vouchers))], 10)
		request = append(append(append(request, tail...), v.crowd[user]...), "\r\n\r\n"...)
		if _, err = conn.Write(request); err != nil {
			return err
		}
		status, err := readAnswer(answers, v.wanted, v.other)
		if err != nil {
			return fmt.Errorf("user %d: %w", user+1, err)
		}
		free = time.Now()
		s.note(user, status, asked, free)
	}
}

// await returns when the next request is due, and from when its latency counts; false when the time is over. A request
// that had to wait for the answer before it counts from when it was due: a slow answer must not hide the ones that it
// held up. Where the connection was free, it is the timer that is late, and nobody waited.
func (s *shooter) await(ctx context.Context, turn int, free time.Time) (asked time.Time, ok bool) {
	if s.volley.pace == 0 {
		now := time.Now()
		return now, !now.After(s.until)
	}
	interval := float64(time.Second) * float64(s.volley.connections) / s.volley.pace
	due := s.began.Add(time.Duration((float64(turn) + float64(s.number)/float64(s.volley.connections)) * interval))
	if due.After(s.until) {
		return due, false
	}
	if free.After(due) {
		return due, true
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(due)):
	}
	return time.Now(), true
}

// note counts an answer.
func (s *shooter) note(user int64, status int, asked, told time.Time) {
	if status == s.volley.wanted {
		s.answered++
		s.volley.meter.wanted.Add(1)
		if s.volley.remembers {
			s.users = append(s.users, user+1)
		}
	} else {
		s.refused++
		s.volley.meter.other.Add(1)
	}
	counts := told
	if s.volley.pace > 0 {
		counts = asked // a slow answer at the end is one of those that are looked for
	}
	if counts.After(s.from) && !counts.After(s.until) {
		s.latencies = append(s.latencies, uint32(min(told.Sub(asked).Microseconds(), 1<<32-1)))
	}
}
