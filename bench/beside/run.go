package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"seckill/bench/rig"
	"seckill/internal/httpload"
)

// run measures both services in turn, and reports.
func run(ctx context.Context, p plan, stdout, progress io.Writer) (err error) {
	stores, err := rig.OpenStores(ctx)
	if err != nil {
		return err
	}
	defer stores.Close(context.WithoutCancel(ctx), progress)
	dir, err := os.MkdirTemp("", "seckill-beside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	service := rig.Service{Path: filepath.Join(dir, "server")}
	fmt.Fprintln(progress, "building this service")
	if err = rig.Build(ctx, ".", "seckill/cmd/server", service.Path); err != nil {
		return err
	}
	fmt.Fprintln(progress, "signing tokens")
	users := rig.NewUsers(int(rig.MaxRate * (p.warmUp + p.duration).Seconds()))
	rows, closeRows, err := p.openRows()
	if err != nil {
		return err
	}
	defer closeRows()
	var rounds []round
	for n := range p.rounds {
		var r round
		turns := []func() error{
			func() (err error) { r.ours, err = measureOurs(ctx, p, stores, service, users); return err },
			func() (err error) { r.other, err = p.measureOther(ctx, n, rows); return err },
		}
		for i := range turns { // another one begins each round
			if err = turns[(i+n)%len(turns)](); err != nil {
				return fmt.Errorf("round %d: %w", n+1, err)
			}
		}
		fmt.Fprintf(progress, "round %d/%d: this service %.0f accepted/s, %s %.0f/s\n", n+1, p.rounds, r.ours.rate, p.name, r.other.rate)
		rounds = append(rounds, r)
	}
	printReport(stdout, p, rounds, stores.Describe(ctx))
	return nil
}

// measureOurs measures this service in a namespace of its own, with a stock that no round can sell.
func measureOurs(ctx context.Context, p plan, stores *rig.Stores, service rig.Service, users rig.Users) (s sample, err error) {
	at, err := stores.NewNamespace(ctx)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, at.Clear(context.WithoutCancel(ctx))) }()
	server, err := service.Start(ctx, at, rig.Unlimited)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	path := "/voucher/seckill/" + strconv.FormatInt(server.Voucher, 10)
	processes := stores.Processes(ctx, server)
	c := candidate{
		url: &url.URL{Scheme: "http", Host: server.Addr},
		request: func(user int64) (httpload.Request, bool) {
			if user >= int64(len(users)) {
				return httpload.Request{}, false
			}
			return httpload.Request{Method: http.MethodPost, Path: path, Token: string(users[user])}, true
		},
		accepted: func(a httpload.Answer) bool { return a.Status == http.StatusAccepted },
		rows:     at.Recorded,
		time: func() time.Duration {
			t := processes.Time()
			return t.Server + t.Redis + t.Database
		},
	}
	return c.measure(ctx, p)
}

// measureOther measures the other service.
func (p plan) measureOther(ctx context.Context, round int, rows func(context.Context) (int64, error)) (sample, error) {
	c := p.other(round)
	c.rows = rows
	if len(p.pids) > 0 {
		c.time = func() (sum time.Duration) {
			for _, pid := range p.pids {
				sum += rig.TimeOf(pid)
			}
			return sum
		}
	}
	return c.measure(ctx, p)
}

// openRows returns what counts the other service's orders, nil if nothing does, and tries it.
func (p plan) openRows() (rows func(context.Context) (int64, error), end func(), err error) {
	if p.count == "" {
		return nil, func() {}, nil
	}
	db, err := sql.Open("mysql", p.dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("-dsn: %w", err)
	}
	return counting(db, p.count), func() { _ = db.Close() }, nil // it was only read
}

// counting counts rows by the query.
func counting(db *sql.DB, query string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		if err = db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			err = fmt.Errorf("-count %q: %w; wanted is a query that answers one number", query, err)
		}
		return n, err
	}
}
