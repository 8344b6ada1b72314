package versus

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"seckill/lab/load"
	"seckill/lab/rig"
	"seckill/lab/version"
)

const usage = `Compares what a purchase costs in two builds of the server, run in turn.

  make versus OLD=COMMIT [NEW=COMMIT]
  go run seckill/test/services -- go run ./bench versus -old COMMIT [-new COMMIT] [flags]

Without -new it is the work tree. The same commit for both shows what the comparison can tell apart on this machine.
-smoke compares the work tree with itself, in seconds: only that it runs; its figures mean nothing.

`

// plan says what to measure, and for how long.
type plan struct {
	old, new    string // commits; "" is the work tree
	rounds      int
	connections int
	warmUp      time.Duration
	accept      time.Duration // how long users buy
	backlog     time.Duration // how long users buy while nothing is recorded
	refuse      time.Duration // how long users are refused because nothing is left
	margin      float64       // percentage that a figure's interval must exclude
	shares      string        // which builds' sales have shares: "", "new" or "both"
	out         string        // folder of the report; "" writes none
}

// Run compares the builds that the arguments name.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	p, err := parse(args, stderr)
	if err != nil {
		return err
	}
	return run(ctx, p, stdout, stderr)
}

func parse(args []string, stderr io.Writer) (p plan, err error) {
	flags := flag.NewFlagSet("versus", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is returned
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
	}
	flags.StringVar(&p.old, "old", "", "the `commit` to compare with")
	flags.StringVar(&p.new, "new", "", "the `commit` that is compared; none: the work tree")
	flags.IntVar(&p.rounds, "rounds", 12, "rounds")
	flags.IntVar(&p.connections, "connections", 128, "buyers at a time")
	seconds := flags.Duration("duration", 3*time.Second,
		"how long users buy from each build in a round; what else is measured takes as long again")
	flags.Float64Var(&p.margin, "margin", 2, "what must be excluded of a cost for it to be called excluded, `percent`")
	flags.StringVar(&p.shares, "shares", "",
		"give the sales of these `builds` shares of addresses: new or both; -duration is 2s at most")
	flags.StringVar(&p.out, "out", "", "the `folder` to write versus-<old>-<new>.md into")
	smoke := flags.Bool("smoke", false, "compare the work tree with itself, for seconds")
	quick := flags.Bool("quick", false, "three short rounds, less than a minute; tells large changes only")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	if *quick {
		p.rounds, *seconds = 3, time.Second
	}
	if *smoke {
		p.rounds, p.connections, *seconds = 1, 16, 300*time.Millisecond
	}
	if p.shares != "" {
		*seconds = min(*seconds, 2*time.Second) // else a quick machine uses up roomyShares
	}
	p.accept, p.warmUp, p.backlog, p.refuse = *seconds, *seconds/4, *seconds/3, *seconds/2
	known := slices.Contains([]string{"", "new", "both"}, p.shares)
	if flags.NArg() > 0 || !known || p.rounds < 1 || p.connections < 1 || *seconds <= 0 ||
		p.old == "" != *smoke || *smoke && p.out != "" {
		return p, errors.New("-old is needed, -rounds, -connections and -duration are positive, -shares is new or " +
			"both, there are no other arguments, and -smoke goes without -old and -out")
	}
	return p, nil
}

// run builds both, gives them load in turn, and reports.
func run(ctx context.Context, p plan, stdout, progress io.Writer) (err error) {
	st, err := rig.OpenStores(ctx)
	if err != nil {
		return err
	}
	defer st.Close(context.WithoutCancel(ctx), progress)
	dir, err := os.MkdirTemp("", "seckill-versus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := report{plan: p, machine: machine(st.Describe(ctx))}
	if r.old, err = build(ctx, p.old, filepath.Join(dir, "old"), progress); err != nil {
		return err
	}
	if r.new, err = build(ctx, p.new, filepath.Join(dir, "new"), progress); err != nil {
		return err
	}
	fmt.Fprintln(progress, "signing tokens")
	users := load.NewUsers(p.tokens())
	for n := range p.rounds {
		round, err := runRound(ctx, st, p, users, [...]string{
			oldTree: filepath.Join(dir, "old"), newTree: filepath.Join(dir, "new"), oldAgain: filepath.Join(dir, "old"),
		})
		if err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
		r.rounds = append(r.rounds, round)
		fmt.Fprintf(progress, "round %d/%d: %s\n", n+1, p.rounds, round)
	}
	text := r.markdown()
	fmt.Fprintln(stdout, text)
	if p.out == "" {
		return nil
	}
	path := filepath.Join(p.out, fmt.Sprintf("versus-%s-%s.md", r.old, r.new))
	fmt.Fprintln(progress, "writing", path)
	return os.WriteFile(path, []byte(text), 0o644)
}

// The most answers a second for which there are tokens.
const (
	mostAccepted = 40_000
	mostRefused  = 120_000
)

// tokens returns how many tokens a build may need in a round.
func (p plan) tokens() int {
	return int(mostAccepted*(p.warmUp+p.accept+p.backlog).Seconds() + mostRefused*p.refuse.Seconds())
}

// build builds a commit, or the work tree, into a file, and returns its short name.
func build(ctx context.Context, commit, file string, progress io.Writer) (name string, err error) {
	fmt.Fprintln(progress, "building", cmp.Or(commit, "the work tree"))
	root, err := version.Root(ctx, ".")
	if err != nil {
		return "", err
	}
	if commit == "" {
		if name, err = version.Describe(ctx, root); err != nil {
			return "", err
		}
		return name, version.BuildTree(ctx, root, file)
	}
	id, err := version.Resolve(ctx, root, commit)
	if err != nil {
		return "", err
	}
	return id[:7], version.Build(ctx, root, id, file)
}
