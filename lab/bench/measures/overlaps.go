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
