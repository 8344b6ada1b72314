// Scale measures what a purchase costs in each process, by how many instances sell and in how many shares a sale is split, and calculates
// from it what many more purchases a second would need:
//
//	go run ./test/services -- go run ./bench/scale -out docs/benchmarks/scale.json
//	go run ./bench/scale -render docs/benchmarks/scale.json
//
// A model of six figures (model.go) is fitted on one instance and a sale that is not split. It predicts what several instances and shares
// cost, and the report (report.go) shows beside each prediction what was measured (measure.go). The report has the
// calculation only if all predictions with several instances or several shares are near enough; those with both at once widen its ranges.
//
// Everything is processor time, which tells who works, and changes little with what else the machine does. It says nothing of
// networks, and nothing of what a store does when it has no processor left.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"seckill/bench/report"
)

const usage = `Measures what a purchase costs by instances and shares, and calculates what many more would need.

  go run ./test/services -- go run ./bench/scale [-out file.json] [flags]
  go run ./bench/scale -render file.json

`

// page has the report.
const page = "docs/scale.md"

// options are the command line's.
type options struct {
	plan   plan
	out    string // where the figures are written; "" writes nothing
	render string // figures to report instead of measuring
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := run(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "scale:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.StringVar(&o.out, "out", "", "the `file` for the figures; the sections of "+page+" are written too. Empty: only printed")
	flags.StringVar(&o.render, "render", "", "measure nothing; write the sections of "+page+" from the figures in this `file`")
	flags.IntVar(&o.plan.rounds, "rounds", 3, "rounds")
	flags.DurationVar(&o.plan.duration, "duration", 3*time.Second, "of each measurement")
	smokes := flags.Bool("smoke", false, "measure a few points, for seconds: only that it runs; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	modes := 0
	for _, given := range []bool{o.out != "", o.render != "", *smokes} {
		if given {
			modes++
		}
	}
	if flags.NArg() > 0 || o.plan.rounds < 1 || o.plan.duration < 200*time.Millisecond || modes > 1 {
		fmt.Fprintln(stderr, "scale: -rounds is at least 1, -duration at least 200ms; of -out, -render and -smoke there is one; there are no other arguments")
		return o, errors.New("usage")
	}
	o.plan.setups = full()
	if *smokes {
		o.plan = plan{rounds: 1, duration: 300 * time.Millisecond, setups: smoke()}
	}
	return o, nil
}

// run measures and reports, or only reports.
func run(ctx context.Context, o options, stdout, progress io.Writer) (err error) {
	var f figures
	if o.render != "" {
		f, err = readFigures(o.render)
	} else {
		f, err = measure(ctx, o.plan, progress)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		if err = writeFigures(o.out, f); err != nil {
			return err
		}
	}
	sections := sectionsOf(f)
	for _, name := range sectionNames() {
		fmt.Fprintln(stdout, sections[name])
	}
	if o.out == "" && o.render == "" {
		return nil
	}
	updated, err := report.UpdatePage(page, sections)
	if err == nil && !updated {
		err = fmt.Errorf("%s is not there: run it from the root of the module", page)
	}
	return err
}

func readFigures(path string) (f figures, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	if err = json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func writeFigures(path string, f figures) error {
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
