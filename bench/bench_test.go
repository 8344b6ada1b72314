package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	full := plan{
		compares: true,
		rounds:   5, duration: 4 * time.Second, warmUp: 500 * time.Millisecond, maxDrain: 15 * time.Second, connections: 128,
		scale: scalePlan{1000, 1_000_000, 20_000}, sale: salePlan{1_000_000, 100_000}, stampede: 100_000,
		waiting: 10_000, closing: closingPlan{200_000, 5000, 15 * time.Second}, out: "docs/benchmarks",
	}
	quick := plan{
		compares: true,
		rounds:   5, duration: 500 * time.Millisecond, warmUp: 200 * time.Millisecond, maxDrain: time.Second, connections: 128,
		scale: scalePlan{100, 100_000, 2000}, sale: salePlan{100_000, 10_000}, stampede: 5000,
		waiting: 5000, closing: closingPlan{20_000, 5000, 3 * time.Second},
	}
	smoke := plan{
		compares: true, limits: true,
		rounds: 1, duration: 200 * time.Millisecond, warmUp: 50 * time.Millisecond, maxDrain: 100 * time.Millisecond, connections: 128,
		scale: scalePlan{10, 5000, 500}, sale: salePlan{5000, 500}, stampede: 200,
		waiting: 200, closing: closingPlan{1000, 500, time.Second},
	}
	with := func(p plan, change func(*plan)) plan { change(&p); return p }
	tests := []struct {
		args string
		want plan
		bad  bool
	}{
		{args: "", want: full},
		{args: "-limits", want: with(full, func(p *plan) { p.compares, p.limits = false, true })},
		{args: "-quick", want: quick},
		{args: "-quick -out elsewhere", want: with(quick, func(p *plan) { p.out = "elsewhere" })},
		{args: "-smoke", want: smoke},
		// All small sales together must last for all rounds.
		{args: "-smoke -rounds 4 -duration 1s", want: with(smoke, func(p *plan) {
			p.rounds, p.duration, p.scale.requests = 4, time.Second, 250
		})},
		{args: "-rounds 0", bad: true},
		{args: "-duration -1s", bad: true},
		{args: "-connections 0", bad: true},
		{args: "more", bad: true},
		{args: "-fast", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			got, err := parse(strings.Fields(tt.args), io.Discard)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %t", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(plan{}, scalePlan{}, salePlan{}, closingPlan{})); err == nil && diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	r := report{Turns: []turn{
		{Contestant: serviceName, Round: 1, Rate: 30},
		{Contestant: bareName, Round: 1, Rate: 60},
		{Contestant: bareName, Round: 2, Rate: 10},
		{Contestant: serviceName, Round: 2, Rate: 8},
		{Contestant: bareName, Round: 3, Rate: 50},
		{Contestant: serviceName, Round: 3, Rate: 20},
	}}
	r.summarize()
	// The median of the ratios, not the ratio of the medians.
	want := spread{Median: 0.5, Low: 0.4, High: 0.8}
	if diff := cmp.Diff(want, r.Ratios[1].spread); diff != "" {
		t.Errorf("service / bare handler differs (-want +got):\n%s", diff)
	}
	if len(r.Lines) != 2 || r.Lines[0].Contestant != bareName || r.Lines[1].Contestant != serviceName {
		t.Fatalf("lines: %v", r.Lines)
	}
	if diff := cmp.Diff(spread{20, 8, 30}, r.Lines[1].Rate); diff != "" {
		t.Errorf("line of %s differs (-want +got):\n%s", r.Lines[1].Contestant, diff)
	}
	if r.Lines[1].Drain != (spread{}) {
		t.Errorf("a drain that nobody measured is %v", r.Lines[1].Drain)
	}
	if got := over([]float64{4, 1, 3, 2}); got != (spread{2.5, 1, 4}) {
		t.Errorf("spread of an even number of figures: %v", got)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	micros := make([]uint32, 200)
	for i := range micros {
		micros[i] = uint32(200 - i)
	}
	for q, want := range map[float64]int64{0.5: 100, 0.99: 198, 1: 200, 0: 1} {
		if got := percentile(micros, q).Microseconds(); got != want {
			t.Errorf("percentile %v is %d µs, want %d", q, got, want)
		}
	}
}

// TestToken: what is signed here by hand is what a library reads.
func TestToken(t *testing.T) {
	t.Parallel()
	token := string(sign(42, time.Now().Add(time.Minute).Unix()))
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(secret), nil }, jwt.WithValidMethods([]string{"HS256"}))
	if err != nil {
		t.Fatal(err)
	}
	if sub, err := parsed.Claims.GetSubject(); err != nil || sub != "42" {
		t.Errorf("subject %q, %v", sub, err)
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	good := "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\ncontent-length: 2\r\n\r\n{}"
	r := bufio.NewReader(strings.NewReader(good + good + "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"))
	for _, want := range [][2]int{{202, 0}, {201, 202}} {
		if status, err := readAnswer(r, want[0], want[1]); err != nil || status != 202 {
			t.Fatal(status, err)
		}
	}
	if _, err := readAnswer(r, 202, 409); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "busy") {
		t.Errorf("another status: %v", err)
	}
	for what, answer := range map[string]string{
		"without a length": "HTTP/1.1 202 Accepted\r\n\r\n",
		"cut off":          good[:len(good)-1],
		"of another kind":  "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		if _, err := readAnswer(bufio.NewReader(strings.NewReader(answer)), 202, 0); err == nil {
			t.Errorf("an answer %s passes", what)
		}
	}
}
