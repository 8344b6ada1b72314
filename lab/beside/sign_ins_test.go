package beside

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

const (
	signIns = 4000 // users of each algorithm
	again   = 5    // times that each of them signs in after the first
	issuer  = "https://login.example/bench"
)

// BenchmarkSignInsBesideASale has users of a provider sign in as fast as 64 callers can, beside a sale that runs on the
// same two instances: with each algorithm, for the first time, which makes their account, and again. It reports
// sign-ins a second, their p99, the processor time of the instances for one, and the sale's own p99 meanwhile. Use
// -benchtime=1x.
func BenchmarkSignInsBesideASale(b *testing.B) {
	keys := idp.Keys(b)
	s := siteOfIssuer(b, keys)
	tokens := map[string][]string{}
	for algorithm, key := range keys {
		for n := range signIns {
			tokens[algorithm] = append(tokens[algorithm], key.Sign(b, map[string]any{"kid": algorithm}, map[string]any{
				"iss": issuer, "sub": algorithm + strconv.Itoa(n), "aud": idp.Audience,
				"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
			}))
		}
	}
	load := startAside(b, s)
	for b.Loop() {
		start, before := time.Now(), processorTime(b, s)
		load.took.reset()
		time.Sleep(5 * time.Second) // it is a measurement
		alone := (processorTime(b, s) - before) / time.Since(start).Seconds()
		load.took.report(b, "alone", time.Since(start))
		for _, algorithm := range []string{"RS256", "ES256", "EdDSA"} {
			signInAside(b, s, load, algorithm+"-first", tokens[algorithm], 1, alone)
			signInAside(b, s, load, algorithm+"-again", tokens[algorithm], again, alone)
		}
	}
}

// siteOfIssuer starts two instances that believe an issuer's keys.
func siteOfIssuer(b *testing.B, keys map[string]idp.Key) *box.Site {
	b.Helper()
	dir := b.TempDir()
	file, set := filepath.Join(dir, "issuers.json"), filepath.Join(dir, "keys.json")
	entry, err := json.Marshal(map[string]any{"issuers": []any{map[string]any{
		"issuer": issuer, "jwksFile": set, "audience": idp.Audience, "tokens": "id",
		"algorithms": []string{"RS256", "ES256", "EdDSA"},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	for path, text := range map[string][]byte{file: entry, set: idp.Set(b, keys)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	_, prefix := testkit.Redis(b)
	dsn := testkit.MySQL(b)
	s := box.EmptySite(b, testkit.RedisAddr(b), prefix, dsn)
	for range 2 {
		s.Add(b, testkit.RedisAddr(b), dsn, map[string]string{"SECKILL_ISSUERS": file, "SECKILL_SESSION_RATE": "0"})
	}
	s.Start(b)
	return s
}

// signInAside has each token exchanged so many times, and reports the figures. alone is the processor time that the
// sale takes by itself, in seconds a second.
func signInAside(b *testing.B, s *box.Site, load *aside, name string, tokens []string, times int, alone float64) {
	b.Helper()
	start, before := time.Now(), processorTime(b, s)
	eachAside(b, s, load, name, times*len(tokens), func(i int) box.Request {
		return box.Request{
			Method: http.MethodPost, URL: "/session", Body: map[string]string{"token": tokens[i%len(tokens)]},
		}
	}, http.StatusCreated)
	used := processorTime(b, s) - before - alone*time.Since(start).Seconds()
	b.ReportMetric(used/float64(times*len(tokens))*1e6, name+"-cpu-us")
}

// processorTime returns how much processor time the instances have used, in seconds.
func processorTime(b *testing.B, s *box.Site) (seconds float64) {
	b.Helper()
	const name = "process_cpu_seconds_total "
	for _, server := range s.Servers {
		found := false
		for lines := bufio.NewScanner(strings.NewReader(server.Metrics(b))); lines.Scan(); {
			text, is := strings.CutPrefix(lines.Text(), name)
			if !is {
				continue
			}
			used, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.Fatal(err)
			}
			seconds, found = seconds+used, true
		}
		if !found {
			b.Fatalf("no %sin the metrics", name)
		}
	}
	return seconds
}
