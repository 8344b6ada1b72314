package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/rehearsal"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// The rehearsals of BenchmarkRehearsal: the default crowd of server rehearse.
const (
	rehearsedStock  = 2000
	rehearsedBuyers = 20 * rehearsedStock
)

// measured has the figures of a sale to a crowd.
type measured struct {
	rehearsal.Figures
	processor time.Duration // of all instances
}

// BenchmarkRehearsal compares forecasts with sales: each round rehearses a sale on two instances whose Redis and
// database flush every write, and then sells to a crowd of the same size that comes at other moments: once at a rate
// that two processors serve with ease, and once at one that they do not. Use -benchtime=5x.
func BenchmarkRehearsal(b *testing.B) {
	redis := testkit.StartRedis(b, "--appendonly", "yes", "--appendfsync", "always")
	s := box.SiteOn(b, 2, redis.Addr, "", testkit.StartMariaDB(b).DSN("rehearsed"))
	for _, within := range []time.Duration{20 * time.Second, 2 * time.Second} {
		b.Run("within="+within.String(), func(b *testing.B) { forecasts(b, s, within) })
	}
}

func forecasts(b *testing.B, s *box.Site, within time.Duration) {
	var table strings.Builder
	table.WriteString("\n| | sold out after | | p50 | | p99 | | no clear answer | | Redis, more | | processor time a " +
		"request | |\n| --- " + strings.Repeat("| ---: ", 12) + "|\n")
	var soldOut, p99 float64 // the largest errors
	for round := 1; b.Loop(); round++ {
		sale := s.CreateWindow(b, rehearsedStock, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
		forecast, came := rehearsedSale(b, s, sale, within), soldSale(b, s, sale, within, round)
		fmt.Fprintf(&table, "| %d %s |\n", round, beside(forecast, came))
		soldOut = max(soldOut, wrongBy(forecast.SoldOut, came.SoldOut))
		p99 = max(p99, wrongBy(forecast.P99, came.P99))
	}
	b.ReportMetric(soldOut, "max-wrong-sold-out-%")
	b.ReportMetric(p99, "max-wrong-p99-%")
	b.Log(table.String())
}

// rehearsedSale runs server rehearse for the sale, and returns its figures.
func rehearsedSale(b *testing.B, s *box.Site, sale int64, within time.Duration) (m measured) {
	b.Helper()
	before := processorTime(b, s)
	got := box.Command(b, s.Servers[0].Settings, "rehearse", "-voucher", strconv.FormatInt(sale, 10), "-duration",
		within.String(), "-url", s.URLs(), "-loadgen", box.Loadgen(b))
	if got.Code != 0 && got.Code != 3 || !strings.Contains(got.Stdout, "VERIFIED") {
		b.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	m.processor = processorTime(b, s) - before
	var figures string
	row := s.Ledger.DB.QueryRowContext(b.Context(), "SELECT figures FROM tb_rehearsal WHERE of_voucher = ?", sale)
	if err := row.Scan(&figures); err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal([]byte(figures), &m.Figures); err != nil {
		b.Fatal(err)
	}
	return m
}

// soldSale lets the sale begin, a crowd of the same size buy, and the sale end.
func soldSale(b *testing.B, s *box.Site, sale int64, within time.Duration, seed int) (m measured) {
	b.Helper()
	name := filepath.Join(b.TempDir(), "report.json")
	changeSale(b, s, sale, "beginTime", time.Now().Add(3*time.Second))
	m.MemoryIdle = usedMemory(b, s)
	before := processorTime(b, s)
	cmd := exec.CommandContext(b.Context(), box.Loadgen(b), "-voucher", strconv.FormatInt(sale, 10), "-buyers",
		strconv.Itoa(rehearsedBuyers),
		"-duration", within.String(), "-url", s.URLs(), "-seed", strconv.Itoa(1+seed), "-json", name)
	cmd.Env = []string{"SECKILL_JWT_SECRET=" + box.Secret}
	through, stop := context.WithCancel(b.Context())
	peak := make(chan int64, 1)
	go func() { peak <- peakMemory(through, b, s) }()
	out, err := cmd.CombinedOutput()
	stop()
	m.MemoryPeak = max(m.MemoryIdle, <-peak)
	if err != nil {
		b.Fatalf("the crowd: %v\n%s", err, out)
	}
	m.processor = processorTime(b, s) - before
	readReport(b, name, &m.Figures)
	changeSale(b, s, sale, "endTime", time.Now().Add(5*time.Second))
	s.AwaitState(b, sale, "ended")
	return m
}

// readReport reads loadgen's report.
func readReport(b *testing.B, name string, f *rehearsal.Figures) {
	b.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	var r struct {
		Requests int64
		SoldOut  float64                    `json:"soldOutSeconds"`
		FromDue  struct{ P50, P99 float64 } // milliseconds
		Timeline []struct{ Unclear int64 }
	}
	if err := json.Unmarshal(text, &r); err != nil {
		b.Fatal(err)
	}
	f.Requests, f.SoldOut = r.Requests, time.Duration(r.SoldOut*float64(time.Second))
	f.P50, f.P99 = time.Duration(r.FromDue.P50*float64(time.Millisecond)),
		time.Duration(r.FromDue.P99*float64(time.Millisecond))
	for _, second := range r.Timeline {
		f.Unclear += second.Unclear
	}
}

// changeSale sets a time of the sale.
func changeSale(b *testing.B, s *box.Site, sale int64, field string, at time.Time) {
	b.Helper()
	s.Client.Must(b, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: s.URL("/voucher/" + strconv.FormatInt(sale, 10)), Token: box.AdminToken(),
		Body: map[string]any{field: at.UTC().Format(time.RFC3339Nano)},
	})
}

// peakMemory returns the most memory that Redis used until ctx ended, sampled as often as in a rehearsal.
func peakMemory(ctx context.Context, b *testing.B, s *box.Site) (peak int64) {
	b.Helper()
	for {
		select {
		case <-ctx.Done():
			return peak
		case <-time.After(time.Second):
			peak = max(peak, usedMemory(b, s))
		}
	}
}

func usedMemory(b *testing.B, s *box.Site) int64 {
	b.Helper()
	text, err := s.Redis.Info(context.WithoutCancel(b.Context()), "memory").Result()
	_, after, _ := strings.Cut(text, "\r\nused_memory:")
	value, _, _ := strings.Cut(after, "\r\n")
	used, bad := strconv.ParseInt(value, 10, 64)
	if err != nil || bad != nil {
		b.Errorf("Redis's memory: %v, %v", err, bad)
	}
	return used
}

// processorTime returns the processor time of all instances so far.
func processorTime(b *testing.B, s *box.Site) (all time.Duration) {
	b.Helper()
	for _, srv := range s.Servers {
		_, after, _ := strings.Cut(srv.Metrics(b), "\nprocess_cpu_seconds_total ")
		value, _, _ := strings.Cut(after, "\n")
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		all += time.Duration(seconds * float64(time.Second))
	}
	return all
}

// beside formats both, each figure of the forecast before the sale's.
func beside(forecast, came measured) string {
	var row strings.Builder
	for _, f := range []func(m measured) string{
		func(m measured) string { return fmt.Sprintf("%.2f s", m.SoldOut.Seconds()) },
		func(m measured) string { return fmt.Sprintf("%.0f ms", m.P50.Seconds()*1000) },
		func(m measured) string { return fmt.Sprintf("%.0f ms", m.P99.Seconds()*1000) },
		func(m measured) string { return fmt.Sprintf("%.1f %%", 100*float64(m.Unclear)/float64(m.Requests)) },
		func(m measured) string { return fmt.Sprintf("%.1f MiB", float64(m.MemoryPeak-m.MemoryIdle)/(1<<20)) },
		func(m measured) string {
			return fmt.Sprintf("%d µs", m.processor.Microseconds()/max(1, m.Requests))
		},
	} {
		row.WriteString("| " + f(forecast) + " | " + f(came) + " ")
	}
	return row.String()
}

// wrongBy returns a forecast's error, in percent of the actual figure.
func wrongBy(forecast, came time.Duration) float64 {
	return 100 * math.Abs(float64(forecast-came)) / float64(came)
}
