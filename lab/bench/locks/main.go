package locks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"seckill/internal/testkit/server"
)

// Run compares the locks, as the package comment says.
func Run(ctx context.Context, args []string, _, stderr io.Writer) error {
	flags := flag.NewFlagSet("locks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "where the figures go, without extension; empty: only to the terminal")
	rounds := flags.Int("rounds", 5, "rounds")
	turn := flags.Duration("turn", 2*time.Second, "how long each library has each scenario")
	handovers := flags.Int("handovers", 40, "handovers of each library in each round")
	many := flags.Duration("many", time.Minute,
		"how long is waited for what many names leave; 0: the cost of many is not measured")
	before := flags.String("before", "", "a `commit` whose locks have their turns as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *before != "" {
		return runBeside(ctx, *before, flags)
	}
	return run(ctx, *out, *rounds, *turn, *handovers, *many)
}

func run(
	ctx context.Context, out string, rounds int, turn time.Duration, handovers int, many time.Duration,
) (err error) {
	redis, err := server.StartRedis(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	b := &bench{addr: redis.Addr, admin: client(redis.Addr), turn: turn, handovers: handovers}
	defer func() { _ = b.admin.Close() }() // nothing is under way
	r := newReport(redis.Name+" "+redis.Version, turn, handovers)
	for round := range rounds {
		if err := b.round(ctx, r, round); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
	}
	if many > 0 {
		if r.Costs, err = costs(ctx, redis.Addr, many); err != nil {
			return err
		}
	}
	fmt.Print(r.markdown())
	if out == "" {
		return nil
	}
	return r.write(out)
}

// round gives each library its turns, a different one first each time.
func (b *bench) round(ctx context.Context, r *report, round int) error {
	trip, err := b.roundTrip(ctx)
	if err != nil {
		return err
	}
	r.RoundTrip = append(r.RoundTrip, micros(trip))
	all := libraries()
	for _, s := range scenarios() {
		scores := make([]score, len(all))
		for i := range slicesOfTurn * len(all) {
			n := (i + i/len(all) + round) % len(all)
			if err := b.slice(ctx, all[n], s, &scores[n]); err != nil {
				return err
			}
		}
		for n, got := range scores {
			r.add(all[n].name, s.name, got.pairs/got.took.Seconds())
			r.add(all[n].name, processorTime+s.name, micros(got.processor)/got.pairs)
			if s.name == "64 contenders" {
				r.add(all[n].name, perHandover, got.commands/got.pairs)
			}
		}
	}
	for i := range all {
		l := all[(i+round)%len(all)]
		delay, err := b.handover(ctx, l)
		if err != nil {
			return fmt.Errorf("%s, handover: %w", l.name, err)
		}
		r.add(l.name, handoverTime, micros(delay))
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
