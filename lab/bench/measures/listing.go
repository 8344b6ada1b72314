package measures

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

const (
	shortList = 50  // vouchers, the sale among them
	longList  = 240 // vouchers with the longest rules: some 1 MB
)

// fillLongList adds vouchers to the shop of the sale until its list has 1 MB. The list changes as the sale sells.
func fillLongList(ctx context.Context, server *rig.Server) error {
	if err := server.FillShop(ctx, longList-1, strings.Repeat("🎟", 1024)); err != nil {
		return err
	}
	_, err := server.ListLength(ctx, longList)
	return err
}

// listing measures how many times per second the list of a shop is answered, and how often an answer calls a store.
func listing(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
	server, err := r.service().Start(ctx, at, rig.Unlimited)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err = server.FillShop(ctx, shortList-1, strings.Repeat("One to a person. ", 12)); err != nil {
		return t, err
	}
	length, err := server.ListLength(ctx, shortList)
	if err != nil {
		return t, err
	}
	idle, err := r.storeCalls(ctx, func() error { return sleep(ctx, r.plan.WarmUp+r.plan.Duration) })
	if err != nil {
		return t, err
	}
	calls, err := r.storeCalls(ctx, func() error { return r.readLists(ctx, server, &t) })
	if err != nil {
		return t, err
	}
	t.Figures[result.BodyBytes] = float64(length)
	// At least one, since a figure of 0 counts as not measured.
	t.Figures[result.StoreCalls] = float64(max(calls-idle, 1)) / t.Figures[result.Answered]
	return t, nil
}

// plainListing measures plain Gin with a constant answer as long as the service's list in this round.
func plainListing(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
	length := int(r.figure(candidate.ServiceList, result.BodyBytes))
	if length == 0 {
		return t, errors.New("it is measured behind " + candidate.ServiceList)
	}
	server, err := r.stage("gin").Launch(ctx, at, "-list-bytes", strconv.Itoa(length))
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	err = r.readLists(ctx, server, &t)
	return t, err
}

// readLists reads lists one after the other, as fast as they are answered.
func (r *round) readLists(ctx context.Context, server *rig.Server, t *result.Trial) error {
	burst := r.burst(server, r.plan.Duration)
	burst.Get, burst.Want = rig.ListPath(), http.StatusOK
	processes := r.stores.Processes(ctx, server)
	before := processes.Time()
	answers, err := burst.Send(ctx)
	if err != nil {
		return err
	}
	t.Figures = figuresOf(answers)
	addTime(t.Figures, processes.Since(before), answers.Want)
	return nil
}

// storeCalls counts the calls of both stores while meanwhile runs.
func (r *round) storeCalls(ctx context.Context, meanwhile func() error) (int64, error) {
	before, err := r.stores.Calls(ctx)
	if err != nil {
		return 0, err
	}
	if err = meanwhile(); err != nil {
		return 0, err
	}
	after, err := r.stores.Calls(ctx)
	return after - before, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
