package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"seckill/bench/result"
	"seckill/bench/rig"
)

// plan is what is measured, and for how long.
type plan struct {
	rounds   int
	duration time.Duration
	setups   []setup
}

// setup is how the service is started, and how many buyers ask at once, in turn.
type setup struct {
	Instances int `json:"instances"`
	Shares    int `json:"shares"` // of the sale, each in a partition of its own
	Batch     int `json:"batch"`  // most orders in a transaction, SECKILL_RECORD_BATCH
	crowds    []int
}

// full are the setups of a full run: first those that the model is fitted on, then what it predicts.
func full() []setup {
	setups := []setup{{1, 1, batch, []int{16, 32, 64, 128, 256, 512}}}
	for _, smaller := range []int{16, 32, 64, 128} {
		setups = append(setups, setup{1, 1, smaller, []int{128}})
	}
	for _, s := range []struct{ instances, shares int }{{2, 1}, {3, 1}, {1, 2}, {1, 4}, {1, 8}, {3, 4}} {
		setups = append(setups, setup{s.instances, s.shares, batch, []int{192, 384}})
	}
	return setups
}

// smoke are those that show that everything runs.
func smoke() []setup {
	return []setup{{1, 1, batch, []int{16, 64}}, {1, 1, 16, []int{64}}, {2, 2, batch, []int{64}}}
}

// maxRate is more purchases a second than two cores answer.
const maxRate = 60_000

// figures are what was measured.
type figures struct {
	Machine result.Machine `json:"machine"`
	Points  []point        `json:"points"`
}

// point is one measurement of the service as a whole, in each round.
type point struct {
	setup
	Crowd   int      `json:"crowd"`   // buyers who ask at once: each asks when the one before has an answer
	Samples []sample `json:"samples"` // one for each round
}

// sample is what an order cost up to its row, in µs of processor time.
type sample struct {
	Accepted float64 `json:"accepted"` // purchases a second
	Service  float64 `json:"service"`  // all instances
	Redis    float64 `json:"redis"`
	Database float64 `json:"database"`
}

// measure measures all points in each round.
func measure(ctx context.Context, p plan, progress io.Writer) (f figures, err error) {
	stores, err := rig.OpenStores(ctx)
	if err != nil {
		return f, err
	}
	defer stores.Close(context.WithoutCancel(ctx), progress)
	dir, err := os.MkdirTemp("", "seckill-scale-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(progress, "building server")
	service := rig.Service{Path: filepath.Join(dir, "server")}
	if err = rig.Build(ctx, ".", "seckill/cmd/server", service.Path); err != nil {
		return f, err
	}
	fmt.Fprintln(progress, "signing tokens")
	m := measurement{stores: stores, service: service, users: rig.NewUsers(int(1.4 * maxRate * p.duration.Seconds())), duration: p.duration, progress: progress}
	f.Machine = stores.Describe(ctx)
	for _, s := range p.setups {
		for _, crowd := range s.crowds {
			f.Points = append(f.Points, point{setup: s, Crowd: crowd})
		}
	}
	for round := range p.rounds {
		fmt.Fprintf(progress, "round %d/%d\n", round+1, p.rounds)
		points := f.Points
		for _, s := range p.setups {
			if err = m.with(ctx, s, points[:len(s.crowds)]); err != nil {
				return f, fmt.Errorf("%s, %s: %w", of(s.Instances, "instance"), of(s.Shares, "share"), err)
			}
			points = points[len(s.crowds):]
		}
	}
	return f, nil
}

// measurement is what all points share.
type measurement struct {
	stores   *rig.Stores
	service  rig.Service
	users    rig.Users
	duration time.Duration
	progress io.Writer
}

// with measures the points of one setup, in an empty schema, with new instances.
func (m *measurement) with(ctx context.Context, s setup, points []point) (err error) {
	at, err := m.stores.NewNamespace(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.Clear(context.WithoutCancel(ctx))) }()
	var servers []*rig.Server
	defer func() {
		for _, server := range servers {
			err = errors.Join(err, server.Stop())
		}
	}()
	for n := range s.Instances {
		server, err := m.service.Launch(ctx, at, fmt.Sprintf("bench-%d", n),
			fmt.Sprintf("SECKILL_PARTITIONS=%d", s.Shares), fmt.Sprintf("SECKILL_RECORD_BATCH=%d", s.Batch))
		if err != nil {
			return err
		}
		servers = append(servers, server)
	}
	sold := int64(0)
	for i := range points {
		burst, err := m.burst(ctx, at, servers, points[i])
		if err != nil {
			return err
		}
		taken, err := m.sell(ctx, at, burst, servers, &sold)
		if err != nil {
			return err
		}
		points[i].Samples = append(points[i].Samples, taken)
		fmt.Fprintf(m.progress, "%s, %s, batches of %d, %d buyers: %.0f/s, service %.1f µs, Redis %.1f µs, database %.1f µs\n",
			of(s.Instances, "instance"), of(s.Shares, "share"), s.Batch, points[i].Crowd, taken.Accepted, taken.Service, taken.Redis, taken.Database)
	}
	return nil
}

// burst is the load of a point, on a sale that it creates.
func (m *measurement) burst(ctx context.Context, at *rig.Namespace, servers []*rig.Server, p point) (b rig.Burst, err error) {
	first := servers[0]
	if err = first.SellShares(ctx, at, rig.Unlimited, p.Shares); err != nil {
		return b, err
	}
	b = rig.Burst{Users: m.users, Connections: p.Crowd, Want: http.StatusAccepted, Duration: m.duration}
	for _, server := range servers {
		if err = server.AwaitOnSale(ctx, first.Voucher); err != nil {
			return b, err
		}
		b.Endpoints = append(b.Endpoints, rig.Endpoint{Addr: server.Addr, Vouchers: []int64{first.Voucher}})
	}
	return b, nil
}

// sell lets buyers buy, after a while that is not measured, and returns what each of them cost up to the row of the last. It adds what is
// sold.
func (m *measurement) sell(ctx context.Context, at *rig.Namespace, burst rig.Burst, servers []*rig.Server, sold *int64) (s sample, err error) {
	send := func() (rig.Answers, error) {
		answers, err := burst.Send(ctx)
		if err != nil {
			return answers, err
		}
		*sold += answers.Want
		return answers, at.AwaitRecorded(ctx, *sold)
	}
	burst.Duration = m.duration / 4
	answers, err := send()
	if err != nil {
		return s, err
	}
	burst.First, burst.Duration = answers.Next, m.duration
	processes := m.stores.Processes(ctx, servers...)
	before := processes.Time()
	if answers, err = send(); err != nil {
		return s, err
	}
	spent := processes.Since(before)
	orders := float64(answers.Want)
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / orders }
	return sample{
		Accepted: orders / answers.Ended.Sub(answers.Began).Seconds(),
		Service:  micros(spent.Server), Redis: micros(spent.Redis), Database: micros(spent.Database),
	}, nil
}

// median returns the median of a figure over the rounds, with the lowest and the highest.
func (p point) median(of func(sample) float64) spread {
	values := make([]float64, len(p.Samples))
	for i, s := range p.Samples {
		values[i] = of(s)
	}
	return spreadOf(values)
}

// spread is a median with the lowest and the highest value.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return spread{median: (values[(n-1)/2] + values[n/2]) / 2, low: values[0], high: values[n-1]}
}
