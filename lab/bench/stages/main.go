package stages

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	_ "github.com/go-sql-driver/mysql" // the driver of the designs with a database
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/front"
)

// options say which stage to run and where the stores are.
type options struct {
	stage, addr, redis, prefix, dsn string
	stock                           int64
	listBytes                       int
	join                            bool
	sell, record                    bool
}

// Run runs one of the stages until ctx ends; the package comment lists them.
func Run(ctx context.Context, args []string, _, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("stage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.stage, "stage", "stream", "which `stage` to be; the package comment lists them")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	flags.StringVar(&o.redis, "redis", "127.0.0.1:6379", "`host:port` of Redis")
	flags.StringVar(&o.prefix, "prefix", "stages:", "in front of every Redis key")
	flags.StringVar(&o.dsn, "dsn", "", "DSN of an empty MySQL schema")
	flags.Int64Var(&o.stock, "stock", 1000, "units of the one voucher, whose id is 1")
	flags.IntVar(&o.listBytes, "list-bytes", 0, "how long the constant answer to a list is; of the stage gin only")
	flags.BoolVar(&o.join, "join", false, "the tables and the stock are there already")
	flags.BoolVar(&o.sell, "sell", true, "answer purchases; else the stage only records")
	flags.BoolVar(&o.record, "record", true, "record what is queued; else the stage only sells")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := run(ctx, o); err != nil {
		return fmt.Errorf("%s: %w", o.stage, err)
	}
	return nil
}

func run(ctx context.Context, o options) error {
	if o.stage == ginStage {
		return serveGin(ctx, o.addr, o.listBytes)
	}
	rdb := redis.NewClient(&redis.Options{Addr: o.redis, PoolSize: 128, MinIdleConns: 64})
	defer func() { _ = rdb.Close() }() // nothing is in flight any more
	db, err := sql.Open("mysql", o.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // the same
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	s := &shop{rdb: rdb, db: db, prefix: o.prefix}
	buyer, q, err := build(o.stage, s)
	if err != nil {
		return err
	}
	if c, ok := buyer.(*critical); ok {
		defer func() { fmt.Println(c.report()) }()
	}
	if o.stage != bareStage && !o.join {
		if err = s.prepare(ctx, o.stock, q != nil); err != nil {
			return err
		}
	}
	// The writer ends after the last purchase. Orders that it has not taken by then stay queued, to be counted.
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	var group errgroup.Group
	if q != nil && o.record {
		group.Go(func() error { return q.consume(writing, s.record) })
	}
	if !o.sell {
		buyer = closed{}
	}
	err = front.Serve(ctx, o.addr, []byte(os.Getenv("BENCH_SECRET")), buyer)
	stopWriting()
	return errors.Join(err, group.Wait())
}
