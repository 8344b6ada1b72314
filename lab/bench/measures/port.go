package measures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"

	"seckill/lab/rig"
)

// tutorialsRoute is where the tutorial sells, and where the service answers as the tutorial does.
const tutorialsRoute = "/voucher-order/seckill/"

// portsUsers is how many users a port has: more than it sells to in a trial.
const portsUsers = 200_000

// PortTrial is what one program accepted in one round.
type PortTrial struct {
	Port              bool
	Rate, P50, P99    float64 // accepted a second; milliseconds
	RecordedMeanwhile float64 // a second
	Micros            float64 // processor time of an accepted order, of all processes; of the port's mostly without row
}

// Port measures, in turn, how many purchases the service and a port of the tutorial accept on the route of the tutorial
// while each records them. source is the directory of the port's source.
func (b *Bench) Port(ctx context.Context, source string) (trials []PortTrial, err error) {
	fmt.Fprintln(b.progress, "building the port, signing its users in")
	port, err := rig.OpenPort(ctx, b.stores, source, b.dir, b.users[:min(portsUsers, len(b.users))])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, port.Close(context.WithoutCancel(ctx))) }()
	starters := []starter{b.service().Start, port.Start}
	for round := range b.plan.Rounds {
		for turn := range starters {
			which := (turn + round) % 2
			t := PortTrial{Port: which == 1}
			err = b.inNamespace(ctx, func(at *rig.Namespace) error {
				return b.besidePort(ctx, at, starters[which], &t)
			})
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(b.progress, "round %d/%d  %+v\n", round+1, b.plan.Rounds, t)
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// besidePort measures one program in one round.
func (b *Bench) besidePort(ctx context.Context, at *rig.Namespace, start starter, t *PortTrial) (err error) {
	server, err := start(ctx, at, rig.Unlimited)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	burst := b.burst(server, b.plan.Duration)
	burst.Endpoints[0].Route, burst.Want = tutorialsRoute, http.StatusOK
	processes := b.stores.Processes(ctx, server)
	before := processes.Time()
	a, err := burst.Send(ctx)
	if err != nil {
		return err
	}
	spent := processes.Since(before)
	t.Rate, t.P50, t.P99 = a.Rate, millis(a.P50), millis(a.P99)
	t.Micros = (spent.LoadGenerator + spent.Server + spent.Redis + spent.Database).Seconds() * 1e6 / float64(a.Want)
	rows, err := at.Number(ctx, "SELECT COUNT(*) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	t.RecordedMeanwhile = float64(rows) / a.Ended.Sub(a.Began).Seconds()
	if !t.Port {
		return at.AwaitRecorded(ctx, a.Want)
	}
	server.Kill() // it would work for minutes
	return nil
}

// PrintPort prints medians over the rounds, with lowest and highest, and the ratio of the rates of each round.
func PrintPort(trials []PortTrial, to io.Writer) error {
	spread := func(digits int, values []float64) string {
		slices.Sort(values)
		return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, values[len(values)/2], digits, values[0],
			digits, values[len(values)-1])
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "program\taccepted/s\trecorded/s meanwhile\tp50 ms\tp99 ms\tµs an order\t\n")
	rates := map[bool][]float64{}
	for _, port := range []bool{false, true} {
		of := func(figure func(PortTrial) float64) (all []float64) {
			for _, t := range trials {
				if t.Port == port {
					all = append(all, figure(t))
				}
			}
			return all
		}
		rates[port] = of(func(t PortTrial) float64 { return t.Rate })
		name := map[bool]string{false: "this service", true: "the port"}[port]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", name, spread(0, slices.Clone(rates[port])),
			spread(0, of(func(t PortTrial) float64 { return t.RecordedMeanwhile })),
			spread(1, of(func(t PortTrial) float64 { return t.P50 })),
			spread(1, of(func(t PortTrial) float64 { return t.P99 })),
			spread(0, of(func(t PortTrial) float64 { return t.Micros })))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	ratios := make([]float64, len(rates[true]))
	for i := range ratios {
		ratios[i] = rates[false][i] / rates[true][i]
	}
	_, err := fmt.Fprintf(to, "P21  accepted / by the port: %s, target ≥ 4\n", spread(2, ratios))
	return err
}
