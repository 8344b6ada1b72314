// Tutorial is the benchmark's baseline "stream, as the tutorials do": an INCR for every order id, one call of the
// script for every request, and one consumer that writes one order per transaction. The HTTP side is the service's own.
//
// It is a fair copy, not a caricature: the pool is as large as the load, ids and buyers live in Redis as usual, the
// transaction is as short as it can be, and the distributed lock that the tutorials take around it is left out. What
// it lacks (idempotence, replay after a crash, reconciliation) is left out too, as it is there; only speed is compared.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/bench/front"
)

// options say where everything is.
type options struct {
	addr, redis, prefix, dsn string
	stock                    int64
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "`host:port` of Redis")
	flag.StringVar(&o.prefix, "prefix", "tutorial:", "in front of every Redis key")
	flag.StringVar(&o.dsn, "dsn", "", "DSN of an empty MySQL schema")
	flag.Int64Var(&o.stock, "stock", 1000, "units of the one voucher, whose id is 1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tutorial:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	rdb := redis.NewClient(&redis.Options{Addr: o.redis, PoolSize: 128, MinIdleConns: 64})
	defer func() { _ = rdb.Close() }() // nothing is in flight any more
	db, err := sql.Open("mysql", o.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // the same
	shop := &shop{rdb: rdb, db: db, prefix: o.prefix}
	if err = shop.prepare(ctx, o.stock); err != nil {
		return err
	}
	consuming, stopConsuming := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return shop.consume(consuming) })
	err = front.Serve(ctx, o.addr, []byte(os.Getenv("BENCH_SECRET")), shop)
	stopConsuming() // what is not consumed yet stays in the stream, to be counted
	if cerr := group.Wait(); err == nil {
		err = cerr
	}
	return err
}
