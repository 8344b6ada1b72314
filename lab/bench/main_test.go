package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/measures"
	"seckill/lab/bench/report"
	"seckill/lab/bench/result"
)

func TestParse(t *testing.T) {
	t.Parallel()
	with := func(p measures.Plan, change func(*measures.Plan)) measures.Plan { change(&p); return p }
	comparing := func(p *measures.Plan) { p.Compare = true }
	limiting := func(p *measures.Plan) { p.Limits = true }
	full := options{plan: with(measures.Full(), comparing), out: reports}
	quick := options{plan: with(measures.Quick(), comparing)}
	changed := func(o options, change func(*options)) options { change(&o); return o }
	parseTrace := func(args []string, stderr io.Writer) (options, error) {
		return parseInto("trace", "directory", args, stderr)
	}
	tests := []struct {
		parse func([]string, io.Writer) (options, error)
		args  string
		want  options
		bad   bool
	}{
		{parse: parseCompare, args: "", want: full},
		{parse: parseLimits, args: "", want: options{plan: with(measures.Full(), limiting), out: reports}},
		{parse: parseCompare, args: "-rounds 2 -connections 7", want: changed(full,
			func(o *options) { o.plan.Rounds, o.plan.Connections = 2, 7 })},
		{parse: parseCompare, args: "-quick", want: quick},
		{parse: parseLimits, args: "-quick", want: options{plan: with(measures.Quick(), limiting)}},
		{parse: parseCompare, args: "-quick -out elsewhere", want: changed(quick,
			func(o *options) { o.out = "elsewhere" })},
		{parse: parseCompare, args: "-smoke", want: options{plan: with(measures.Smoke(), comparing)}},
		{
			parse: parseCompare, args: "-smoke -rounds 4 -duration 1s",
			want: options{plan: with(measures.Smoke(), func(p *measures.Plan) {
				p.Compare, p.Rounds, p.Duration = true, 4, time.Second
			})},
		},
		{parse: parseCompare, args: "-before 649a67a", want: changed(full,
			func(o *options) { o.plan.Before = "649a67a" })},
		{parse: parseTrace, args: "-duration 1s bin/trace", want: options{
			plan: with(measures.Full(), func(p *measures.Plan) { p.Duration = time.Second }), path: "bin/trace",
		}},
		{parse: parseTrace, args: "-quick", bad: true},
		{parse: parseCompare, args: "-rounds 0", bad: true},
		{parse: parseCompare, args: "-duration -1s", bad: true},
		{parse: parseCompare, args: "-connections 0", bad: true},
		{parse: parseCompare, args: "more", bad: true},
		{parse: parseCompare, args: "-fast", bad: true},
		{parse: parseCompare, args: "-only (", bad: true},
		{parse: parseLimits, args: "-before 649a67a", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			got, err := tt.parse(strings.Fields(tt.args), io.Discard)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %t", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{})); err == nil && diff != "" {
				t.Errorf("options differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseOnly: a comparison of some candidates is never written.
func TestParseOnly(t *testing.T) {
	t.Parallel()
	o, err := parseCompare([]string{"-only", "^this service$", "-out", "somewhere"}, io.Discard)
	if err != nil || o.out != "" || !o.plan.Only.MatchString("this service") {
		t.Errorf("out %q, only %v, %v", o.out, o.plan.Only, err)
	}
}

// TestCommands: without a command all are listed, and an unknown command is an error.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"fast"}} {
		var errs bytes.Buffer
		if code := realMain(t.Context(), args, io.Discard, &errs); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
		for _, c := range commands() {
			if !strings.Contains(errs.String(), "  "+c.name+" ") {
				t.Errorf("%v does not list %s", args, c.name)
			}
		}
	}
}

// TestPortNeedsItsSource: it is by others, so no directory is its usual place.
func TestPortNeedsItsSource(t *testing.T) {
	t.Parallel()
	if err := port(t.Context(), []string{"-quick"}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "-source") {
		t.Errorf("without -source: %v", err)
	}
}

// TestRender: a stored result can be reported again, without stores, into the same files.
func TestRender(t *testing.T) {
	t.Parallel()
	run := result.Run{
		Machine: result.Machine{Date: "2026-01-02T03:04:05Z", Commit: "abc"},
		Comparison: &result.Comparison{Candidates: result.Collect([]result.Trial{
			{Candidate: candidate.Service, Round: 1, Figures: map[result.Name]float64{result.Rate: 12345}},
		})},
	}
	first, again := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "again")
	if err := report.Write(run, first, io.Discard); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"render", "-out", again, filepath.Join(first, "2026-01-02-abc.json")}
	if code := realMain(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "12345 (12345–12345)") {
		t.Errorf("printed:\n%s", out.String())
	}
	files, err := os.ReadDir(first)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(first, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(again, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", f.Name(), diff)
		}
	}
	if code := realMain(t.Context(), []string{"render", "main.go"}, &out, &errs); code != 1 {
		t.Errorf("a file that is no result: exit code %d", code)
	}
}
