package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// stampede is what became of very many connections that were opened within a second, one purchase on each, and stayed
// open until all were answered.
type stampede struct {
	Connections int     `json:"connections"`
	FileLimit   uint64  `json:"fileLimit"` // of each process: what bounds the connections here
	Accepted    int64   `json:"accepted"`
	Failed      int64   `json:"failed"` // not answered, or answered with anything else
	FirstError  string  `json:"firstError,omitempty"`
	Opened      float64 `json:"openedSeconds"`   // from the first to the last connection
	Answered    float64 `json:"answeredSeconds"` // from the first connection to the last answer
	P50         float64 `json:"p50Millis"`       // from the attempt to connect to the answer
	P99         float64 `json:"p99Millis"`
	Before      float64 `json:"answeredPerSecondBefore"` // of an ordinary crowd
	After       float64 `json:"answeredPerSecondAfter"`  // of the same crowd, at once after the stampede
	Idle        float64 `json:"serverMegabytesBefore"`
	Peak        float64 `json:"serverMegabytesPeak"`
	Left        float64 `json:"serverMegabytesAfter"`
}

func (s *stampede) String() string {
	return fmt.Sprintf("stampede of %d connections, opened in %.2f s: %d accepted, %d failed, the last after %.2f s, p50 %.0f ms, p99 %.0f ms, "+
		"memory %.0f → %.0f → %.0f MB, ordinary crowd before %.0f/s, after %.0f/s",
		s.Connections, s.Opened, s.Accepted, s.Failed, s.Answered, s.P50, s.P99, s.Idle, s.Peak, s.Left, s.Before, s.After)
}

const (
	reservedFiles = 300    // file descriptors for everything but the stampede
	portsEach     = 10_000 // connections from one address: the system has some 28,000 ports for them, and looks long for the last
)

// stampedeSize is how many connections this process, and one with the same limit, can have.
func stampedeSize(most int) (connections int, limit uint64) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur < 2*reservedFiles {
		return min(most, 256), files.Cur
	}
	return int(min(uint64(most), files.Cur-reservedFiles)), files.Cur
}

func takeStampede(ctx context.Context, r *round) (s stampede, err error) {
	s.Connections, s.FileLimit = stampedeSize(r.plan.stampede)
	err = withService(ctx, r, func(at *place, to *target) (accepted int64, err error) {
		crowd := func() (float64, error) {
			if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil {
				return 0, err
			}
			b, err := r.volley(to, r.plan.duration/2).fire(ctx)
			accepted += b.answered
			return b.rate, err
		}
		if s.Before, err = crowd(); err != nil {
			return 0, err
		}
		if s.Idle, err = to.memory(); err != nil {
			return 0, err
		}
		if to.voucher, err = createSale(ctx, to.addr, unlimited); err != nil {
			return 0, err
		}
		s.charge(ctx, r.crowd, to)
		if s.Peak, err = to.peakMemory(); err != nil {
			return 0, err
		}
		if s.After, err = crowd(); err != nil {
			return 0, err
		}
		if s.Left, err = to.memory(); err != nil {
			return 0, err
		}
		// Who got no answer may have an order all the same.
		known := accepted + s.Accepted
		if s.Failed == 0 {
			return known, nil
		}
		time.Sleep(time.Second) // there is nothing to be told by
		recorded, err := at.recorded(ctx)
		if err == nil && (recorded < known || recorded > known+s.Failed) {
			err = fmt.Errorf("the books do not balance: %d orders recorded, %d accepted, %d failed", recorded, known, s.Failed)
		}
		return recorded, err
	})
	return s, err
}

// charge is the stampede itself.
func (s *stampede) charge(ctx context.Context, c crowd, to *target) {
	var mu sync.Mutex
	var wg, open sync.WaitGroup
	var micros []uint32
	all := make(chan struct{}) // closed once everybody has his answer
	began := time.Now()
	open.Add(s.Connections)
	for i := range s.Connections {
		wg.Go(func() {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(s.Connections))))
			asked := time.Now()
			conn, connected, err := knock(ctx, i, c[i], to)
			told := time.Now()
			mu.Lock()
			if err == nil {
				s.Accepted++
				micros = append(micros, uint32(told.Sub(asked).Microseconds()))
			} else {
				s.Failed++
				if s.FirstError == "" {
					s.FirstError = err.Error()
				}
			}
			s.Opened = max(s.Opened, connected.Sub(began).Seconds())
			s.Answered = max(s.Answered, told.Sub(began).Seconds())
			mu.Unlock()
			open.Done()
			<-all
			if conn != nil {
				_ = conn.Close() // it has served its purpose
			}
		})
	}
	open.Wait()
	close(all)
	wg.Wait()
	if len(micros) > 0 {
		s.P50, s.P99 = millis(percentile(micros, 0.5)), millis(percentile(micros, 0.99))
	}
}

// knock opens one connection, buys, and leaves it open.
func knock(ctx context.Context, i int, token []byte, to *target) (conn net.Conn, connected time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/portsEach))}
	conn, err = (&net.Dialer{LocalAddr: from, Control: bindLater}).DialContext(ctx, "tcp", to.addr)
	connected = time.Now()
	if err != nil {
		return nil, connected, err
	}
	if err = conn.SetDeadline(connected.Add(time.Minute)); err != nil {
		return conn, connected, err
	}
	if _, err = fmt.Fprintf(conn, "POST /voucher/seckill/%d HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nAuthorization: Bearer %s\r\n\r\n",
		to.voucher, to.addr, token); err != nil {
		return conn, connected, err
	}
	_, err = readAnswer(bufio.NewReaderSize(conn, 1024), http.StatusAccepted, 0)
	return conn, connected, err
}

// bindLater lets the system choose the port of a connection when it is made and not before: only then may connections
// from different addresses share one, and the choice is quick.
func bindLater(_, _ string, c syscall.RawConn) error {
	const ipBindAddressNoPort = 24 // Linux; package syscall has no name for it
	var serr error
	err := c.Control(func(fd uintptr) { serr = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1) })
	return errors.Join(err, serr)
}
