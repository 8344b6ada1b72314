// Bare is the benchmark's upper limit: the service's HTTP side with a desk that says yes and does nothing. What the
// service does beyond it is what a purchase costs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"seckill/bench/front"
	"seckill/internal/order"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`host:port` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := front.Serve(ctx, *addr, []byte(os.Getenv("BENCH_SECRET")), &yes{})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

// yes accepts everybody.
type yes struct{ last atomic.Int64 }

func (y *yes) Buy(_ context.Context, userID, voucherID int64, _ time.Duration) (order.Order, error) {
	// As long as a real order id.
	id := 5e17 + y.last.Add(1)
	return order.Order{ID: id, UserID: userID, VoucherID: voucherID, Status: order.Queued}, nil
}
