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
	compare := func(p *measures.Plan) { p.Compare = true }
	full := options{plan: with(measures.Full(), compare), out: "docs/benchmarks"}
	quick := options{plan: with(measures.Quick(), compare)}
	smoke := options{plan: with(measures.Smoke(), func(p *measures.Plan) { p.Compare, p.Limits = true, true })}
	changed := func(o options, change func(*options)) options { change(&o); return o }
	tests := []struct {
		args string
		want options
		bad  bool
	}{
		{args: "", want: full},
		{args: "-limits", want: changed(full, func(o *options) { o.plan.Compare, o.plan.Limits = false, true })},
		{args: "-rounds 2 -connections 7", want: changed(full, func(o *options) { o.plan.Rounds, o.plan.Connections = 2, 7 })},
		{args: "-quick", want: quick},
		{args: "-quick -limits", want: changed(quick, func(o *options) { o.plan.Compare, o.plan.Limits = false, true })},
		{args: "-quick -out elsewhere", want: changed(quick, func(o *options) { o.out = "elsewhere" })},
		{args: "-smoke", want: smoke},
		{args: "-smoke -rounds 4 -duration 1s", want: changed(smoke, func(o *options) { o.plan.Rounds, o.plan.Duration = 4, time.Second })},
		{args: "-render some.json", want: changed(full, func(o *options) { o.render = "some.json" })},
		{args: "-before 649a67a", want: changed(full, func(o *options) { o.plan.Before = "649a67a" })},
		{args: "-rounds 0", bad: true},
		{args: "-duration -1s", bad: true},
		{args: "-connections 0", bad: true},
		{args: "more", bad: true},
		{args: "-fast", bad: true},
		{args: "-only (", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			got, err := parse(strings.Fields(tt.args), io.Discard)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %t", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{})); err == nil && diff != "" {
				t.Errorf("options differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseOnly: a part of the comparison is never written.
func TestParseOnly(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-only", "^this service$", "-out", "somewhere"}, io.Discard)
	if err != nil || o.out != "" || !o.plan.Only.MatchString("this service") {
		t.Errorf("out %q, only %v, %v", o.out, o.plan.Only, err)
	}
}

// TestRender: a stored result is reported again without stores, into the same files.
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
	args := []string{"-render", filepath.Join(first, "2026-01-02-abc.json"), "-out", again}
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
	if code := realMain(t.Context(), []string{"-render", "main.go"}, &out, &errs); code != 1 {
		t.Errorf("a file that is no result: exit code %d", code)
	}
}
