package measures

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"seckill/lab/load"
	"seckill/lab/rig"
)

const (
	quietRate        = 100 // purchases a second on the quiet sale
	quietConnections = 16
)

// QuietTrial is a quiet sale beside rushes on other sales of its partition.
type QuietTrial struct {
	Version   string // " of " an older commit; "": this checkout
	Fsync     string
	Rushes    int // sales with a rush; 0: the quiet sale is alone
	Rate      float64
	P50, P99  float64 // of the quiet sale's purchases, in milliseconds
	RushesP99 float64 // of the others
}

// Quiet measures, in turn with the plan's older commit, what buyers of a quiet sale notice of 1, 2, 4 and 8 rushes in
// their partition, and how many purchases these answer.
func (b *Bench) Quiet(ctx context.Context) (trials []QuietTrial, err error) {
	versions := []*Bench{b}
	if b.before != nil {
		versions = []*Bench{b.before, b}
	}
	for range b.plan.Rounds {
		for _, fsync := range []string{rig.EverySecond, "always"} {
			if err = b.stores.SetFsync(ctx, fsync); err != nil {
				return nil, err
			}
			for _, version := range versions {
				found, err := version.quiet(ctx, fsync)
				if err != nil {
					return nil, err
				}
				trials = append(trials, found...)
			}
			slices.Reverse(versions)
		}
	}
	return trials, nil
}

// quiet measures one version in one round.
func (b *Bench) quiet(ctx context.Context, fsync string) (trials []QuietTrial, err error) {
	err = b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (accepted int64, err error) {
		for _, rushes := range []int{0, 1, 2, 4, 8} {
			t := QuietTrial{Version: b.name, Fsync: fsync, Rushes: rushes}
			n, err := b.beside(ctx, server, &t)
			if err != nil {
				return 0, err
			}
			fmt.Fprintf(b.progress, "%+v\n", t)
			trials, accepted = append(trials, t), accepted+n
			if err = at.AwaitRecorded(ctx, accepted); err != nil {
				return 0, err
			}
		}
		return accepted, nil
	})
	return trials, err
}

// beside measures one trial on new sales, and returns how many purchases were accepted.
func (b *Bench) beside(ctx context.Context, server *rig.Server, t *QuietTrial) (int64, error) {
	sales, err := server.CreateSales(ctx, t.Rushes+1, rig.Unlimited)
	if err != nil {
		return 0, err
	}
	quiet := b.burst(server, b.plan.Duration)
	quiet.Endpoints[0].Vouchers, quiet.Connections, quiet.Rate = sales[:1], quietConnections, quietRate
	var quietly, rushing load.Answers
	var group errgroup.Group
	group.Go(func() (err error) { quietly, err = quiet.Send(ctx); return err })
	if t.Rushes > 0 {
		rush := b.burst(server, b.plan.Duration)
		rush.Endpoints[0].Vouchers = sales[1:]
		group.Go(func() (err error) { rushing, err = rush.Send(ctx); return err })
	}
	err = group.Wait()
	t.Rate, t.RushesP99 = rushing.Rate, millis(rushing.P99)
	t.P50, t.P99 = millis(quietly.P50), millis(quietly.P99)
	return quietly.Want + rushing.Want, err
}

// label names a version in the table.
func label(version string) string {
	if version == "" {
		return "this one"
	}
	return strings.TrimPrefix(version, " of ")
}

// PrintQuiet prints medians over the rounds, and the quiet sale's p99 beside that without a rush.
func PrintQuiet(trials []QuietTrial, to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "appendfsync\trushes\tversion\tpurchases/s\ttheir p99 ms\t"+
		"quiet p50 ms\tquiet p99 ms\t÷ alone\t\n")
	p99 := func(t QuietTrial) float64 { return t.P99 }
	for _, fsync := range []string{rig.EverySecond, "always"} {
		for _, rushes := range []int{0, 1, 2, 4, 8} {
			var of []string
			for _, t := range trials {
				if !slices.Contains(of, t.Version) {
					of = append(of, t.Version)
				}
			}
			slices.Sort(of)
			for _, version := range of {
				median := func(rushes int, figure func(QuietTrial) float64) float64 {
					var all []float64
					for _, t := range trials {
						if t.Version == version && t.Fsync == fsync && t.Rushes == rushes {
							all = append(all, figure(t))
						}
					}
					slices.Sort(all)
					return all[len(all)/2]
				}
				fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", fsync, rushes, label(version),
					median(rushes, func(t QuietTrial) float64 { return t.Rate }),
					median(rushes, func(t QuietTrial) float64 { return t.RushesP99 }),
					median(rushes, func(t QuietTrial) float64 { return t.P50 }), median(rushes, p99),
					median(rushes, p99)/median(0, p99))
			}
		}
	}
	return table.Flush()
}
