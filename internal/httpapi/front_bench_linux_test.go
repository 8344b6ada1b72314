package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// BenchmarkFront is the HTTP side of a purchase over real connections, without a store behind it, beside plain Gin:
// one route, no token, a constant answer. The figures contain the client, which is the same for all and allocates
// nothing. On a busy machine the processor time is the steadier figure, and its differences are what the service
// adds.
func BenchmarkFront(b *testing.B) {
	for _, c := range []struct {
		name   string
		server func() *http.Server
	}{
		{"plain Gin", plainGin},
		{"accepted", func() *http.Server { return newAPI(b, busy).Server("") }},
		{"accepted together", func() *http.Server { return newAPI(b, busy, withPurchases(together())).Server("") }},
		{"sold out", func() *http.Server { return buying(b, gate.ErrSoldOut, busy).Server("") }},
		{"already bought", func() *http.Server {
			return buying(b, &gate.AlreadyBoughtError{OrderID: orderID, Status: order.Unpaid}, busy).Server("")
		}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkFront(b, c.server()) })
	}
}

// together are purchases that share calls, as a batcher's do; a call takes as long as one of Redis at hand.
func together() fakePurchases {
	calls := batch.New(batch.Options{Calls: 1}, func(context.Context, []*batch.Item[int64, order.Order]) error {
		time.Sleep(100 * time.Microsecond)
		return nil
	})
	return fakePurchases{OnBuy: func(ctx context.Context, userID, _ int64, _ time.Duration) (order.Order, error) {
		_, err := calls.Do(ctx, userID)
		return order.Order{ID: orderID, UserID: userID, Quantity: 1, Status: order.Queued}, err
	}}
}

func plainGin() *http.Server {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/voucher/seckill/:id", func(c *gin.Context) {
		c.Data(http.StatusAccepted, "application/json",
			[]byte(`{"success":true,"data":{"orderId":"500000000000000001","status":"queued"}}`))
	})
	return &http.Server{Handler: engine, ReadHeaderTimeout: 5 * time.Second}
}

// benchmarkFront asks a server over as many connections as a small crowd has.
func benchmarkFront(b *testing.B, srv *http.Server) {
	const connections, users = 32, 4096
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(listener) // closed below
	}()
	defer func() {
		_ = srv.Close() // every answer has been read
		<-served
	}()
	requests := make([][]byte, users)
	for i := range requests {
		requests[i] = fmt.Appendf(nil, "POST /voucher/seckill/5 HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n"+
			"Authorization: Bearer %s\r\n\r\n", token(b, int64(i+1), ""))
	}
	var next, length atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	for range connections {
		all.Go(func() {
			err := askAll(b.Context(), listener.Addr().String(), func() []byte {
				n := next.Add(1)
				if n > int64(b.N) {
					return nil
				}
				return requests[n%users]
			}, &length)
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(length.Load()), "answer-B")
}

// askAll sends requests over one connection, each after the answer before, until there is none, and stores the length
// of an answer.
func askAll(ctx context.Context, addr string, next func() []byte, length *atomic.Int64) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	buffer := make([]byte, 4096)
	for request := next(); request != nil; request = next() {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		n, want := 0, 0
		for want == 0 || n < want {
			read, err := conn.Read(buffer[n:])
			if err != nil {
				return err
			}
			n += read
			if want = wholeLength(buffer[:n]); want > len(buffer) {
				return fmt.Errorf("an answer of %d bytes", want)
			}
		}
		length.Store(int64(want))
	}
	return nil
}

// wholeLength is how long an answer is that begins so; 0 while its header is not whole.
func wholeLength(answer []byte) int {
	header, _, whole := bytes.Cut(answer, []byte("\r\n\r\n"))
	_, after, found := bytes.Cut(header, []byte("\r\nContent-Length: "))
	if !whole || !found {
		return 0
	}
	digits, _, _ := bytes.Cut(after, []byte("\r"))
	n, _ := strconv.Atoi(string(digits)) // an answer that lies is never whole
	return len(header) + len("\r\n\r\n") + n
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
