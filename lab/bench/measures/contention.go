package measures

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

const (
	contentionUnits   = 100  // on sale
	contentionUsers   = 1000 // users who want a unit
	contentionRepeats = 4    // requests of each user, at the same time
)

// launcher starts one process.
type launcher func(ctx context.Context, at *rig.Namespace) (*rig.Server, error)

// contender is a candidate of the short sale.
type contender struct {
	name      string
	processes []launcher
	right     bool // it must make no mistake
}

func (b *Bench) contenders() []contender {
	first := func(stage string) launcher {
		return func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return b.stage(stage).Start(ctx, at, contentionUnits)
		}
	}
	second := func(stage string) launcher {
		return func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
			return b.stage(stage).Launch(ctx, at, "-join")
		}
	}
	return []contender{
		{candidate.Check, []launcher{first("check")}, false},
		{candidate.Update, []launcher{first("update")}, false},
		{candidate.UserLock, []launcher{first("userlock")}, true},
		{candidate.UserLock + candidate.TwoOfThem, []launcher{first("userlock"), second("userlock")}, false},
		{candidate.RedisLock + candidate.TwoOfThem, []launcher{first("redislock"), second("redislock")}, true},
		{candidate.Service + candidate.TwoOfThem, []launcher{
			func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
				return b.service().Start(ctx, at, contentionUnits)
			},
			func(ctx context.Context, at *rig.Namespace) (*rig.Server, error) {
				return b.service().Launch(ctx, at, "bench-2")
			},
		}, true},
	}
}

// contention runs one short sale per candidate: every user sends several requests at the same time.
func (b *Bench) contention(ctx context.Context) ([]result.Contention, error) {
	var all []result.Contention
	for _, c := range b.contenders() {
		found := result.Contention{Candidate: c.name, Processes: len(c.processes), Units: contentionUnits}
		err := b.inNamespace(ctx, func(at *rig.Namespace) error { return b.contend(ctx, at, c.processes, &found) })
		text := fmt.Sprintf("%-48s %d units, %d orders: %d oversold, %d duplicates",
			c.name, found.Units, found.Orders, found.Oversold, found.Duplicates)
		if err == nil && c.right && found.Oversold+found.Duplicates > 0 {
			err = errors.New("it must make no mistake")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		fmt.Fprintln(b.progress, text)
		all = append(all, found)
	}
	return all, nil
}

func (b *Bench) contend(
	ctx context.Context, at *rig.Namespace, processes []launcher, found *result.Contention,
) (err error) {
	burst := load.Burst{
		Users: b.users, Connections: b.plan.Connections, Repeats: contentionRepeats,
		Limit: contentionUsers * contentionRepeats,
		Want:  http.StatusAccepted, Other: http.StatusConflict, Duration: time.Minute,
	}
	var voucher int64
	for _, launch := range processes {
		server, err := launch(ctx, at)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }() //nolint:gocritic // there are two
		voucher = max(voucher, server.Voucher)
		burst.Endpoints = append(burst.Endpoints, load.Endpoint{Addr: server.Addr, Vouchers: []int64{voucher}})
	}
	answers, err := burst.Send(ctx)
	if err != nil {
		return err
	}
	if err = at.AwaitRecorded(ctx, answers.Want); err != nil {
		return err
	}
	if found.Orders, err = at.Number(ctx, "SELECT COUNT(*) FROM tb_voucher_order"); err != nil {
		return err
	}
	users, err := at.Number(ctx, "SELECT COUNT(DISTINCT user_id) FROM tb_voucher_order")
	found.Oversold, found.Duplicates = max(found.Orders-contentionUnits, 0), found.Orders-users
	return err
}

const (
	overlapUsers   = 12 // who want a unit
	overlapRepeats = 8  // requests of each user, at the same time
)

// Overlaps sells under each kind of lock in Redis while some holders stall for longer than the lease, and counts the
// turns that began while another request held the same lock. The service's own must have none; a run in which a broken
// one has none shows nothing and fails.
func (b *Bench) Overlaps(ctx context.Context) ([]result.Overlap, error) {
	var all []result.Overlap
	for _, kind := range []struct {
		name, stage string
		broken      bool
	}{
		{candidate.Ownerless, "ownerless", true},
		{candidate.CheckDelete, "checkdelete", true},
		{candidate.Unrenewed, "unrenewed", true},
		{candidate.Renewed, "renewed", false},
	} {
		found := result.Overlap{Candidate: kind.name}
		err := b.inNamespace(ctx, func(at *rig.Namespace) error { return b.overlap(ctx, at, kind.stage, &found) })
		text := fmt.Sprintf("%-54s %d turns, %d overlaps: %d duplicates",
			kind.name, found.Turns, found.Overlaps, found.Duplicates)
		switch {
		case err != nil:
		case kind.broken && found.Overlaps == 0:
			err = errors.New("its fault did not show")
		case !kind.broken && found.Overlaps+found.Duplicates > 0:
			err = errors.New("it must make no mistake")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		fmt.Fprintln(b.progress, text)
		all = append(all, found)
	}
	return all, nil
}

func (b *Bench) overlap(ctx context.Context, at *rig.Namespace, stage string, found *result.Overlap) error {
	server, err := b.stage(stage).Start(ctx, at, overlapUsers*overlapRepeats)
	if err != nil {
		return err
	}
	_, err = load.Burst{
		Users: b.users, Endpoints: []load.Endpoint{server.Endpoint()}, Connections: overlapUsers * overlapRepeats,
		Repeats: overlapRepeats, Limit: overlapUsers * overlapRepeats,
		Want: http.StatusAccepted, Other: http.StatusConflict, Duration: time.Minute,
	}.Send(ctx)
	if err = errors.Join(err, server.Stop()); err != nil {
		return err
	}
	if found.Duplicates, err = at.Number(ctx,
		"SELECT COUNT(*) - COUNT(DISTINCT user_id) FROM tb_voucher_order"); err != nil {
		return err
	}
	_, counted, _ := strings.Cut(server.Log(), "overlaps: ")
	_, err = fmt.Sscanf(counted, "%d in %d turns", &found.Overlaps, &found.Turns)
	return err
}
