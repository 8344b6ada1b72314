package challenge_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"seckill/internal/guard/challenge"
	"seckill/internal/guard/keys"
)

var (
	start   = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	home    = netip.MustParseAddr("192.0.2.17")
	nearby  = netip.MustParseAddr("192.0.2.200") // the same /24
	abroad  = netip.MustParseAddr("198.51.100.1")
	someone = challenge.Caller{SaleID: 7, UserID: 42, Address: home}
)

type salts []keys.Salt

func (s salts) GuardSalts(context.Context) ([]keys.Salt, error) { return s, nil }

func newChallenges(t testing.TB) (*challenge.Challenges, *keys.Ring) {
	t.Helper()
	r, err := keys.NewRing(strings.Repeat("secret of ours!!", 2), salts{{ID: 3, Value: [keys.Bytes]byte{1, 2, 3}}},
		func() time.Time { return start }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return challenge.New(r, func() time.Time { return start }), r
}

func solved(t testing.TB, cs *challenge.Challenges, who challenge.Caller) challenge.Payload {
	t.Helper()
	made, err := cs.Make(t.Context(), who, 4, 4, start)
	if err != nil {
		t.Fatal(err)
	}
	p, err := challenge.Solve(t.Context(), made)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encode(t testing.TB, p challenge.Payload) string {
	t.Helper()
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	good := solved(t, cs, someone)
	other := solved(t, cs, someone)
	altered := func(alter func(*challenge.Payload)) string {
		p := good
		alter(&p)
		return encode(t, p)
	}
	text := encode(t, good)
	for name, tt := range map[string]struct {
		text string
		who  challenge.Caller
		now  time.Time
		want error
	}{
		"good":             {text, someone, start, nil},
		"the same network": {text, challenge.Caller{SaleID: 7, UserID: 42, Address: nearby}, start, nil},
		"again":            {text, someone, start.Add(challenge.Life - time.Second), nil},
		"expired":          {text, someone, start.Add(challenge.Life), challenge.ErrUnsolved},
		"another network":  {text, challenge.Caller{SaleID: 7, UserID: 42, Address: abroad}, start, challenge.ErrUnsolved},
		"another user":     {text, challenge.Caller{SaleID: 7, UserID: 43, Address: home}, start, challenge.ErrUnsolved},
		"another sale":     {text, challenge.Caller{SaleID: 8, UserID: 42, Address: home}, start, challenge.ErrUnsolved},
		"none":             {"", someone, start, challenge.ErrUnsolved},
		"not base64":       {"{}", someone, start, challenge.ErrUnsolved},
		"url alphabet":     {"__--", someone, start, challenge.ErrUnsolved},
		"empty object":     {base64.StdEncoding.EncodeToString([]byte("{}")), someone, start, challenge.ErrUnsolved},
		"two values":       {base64.StdEncoding.EncodeToString([]byte("{}{}")), someone, start, challenge.ErrUnsolved},
		"unknown field":    {base64.StdEncoding.EncodeToString([]byte(`{"x":1}`)), someone, start, challenge.ErrUnsolved},
		"too long":         {strings.Repeat("A", 1<<20), someone, start, challenge.ErrUnsolved},
		"a longer life":    {altered(func(p *challenge.Payload) { p.Challenge.Parameters.ExpiresAt++ }), someone, start, challenge.ErrUnsolved},
		"a shorter prefix": {altered(func(p *challenge.Payload) { p.Challenge.Parameters.KeyPrefix = "" }), someone, start, challenge.ErrUnsolved},
		"a lower cost":     {altered(func(p *challenge.Payload) { p.Challenge.Parameters.Cost = 2 }), someone, start, challenge.ErrUnsolved},
		"another salt":     {altered(func(p *challenge.Payload) { p.Challenge.Parameters.Data.Key = 4 }), someone, start, challenge.ErrUnsolved},
		"no signature":     {altered(func(p *challenge.Payload) { p.Challenge.Signature = "" }), someone, start, challenge.ErrUnsolved},
		"no answer":        {altered(func(p *challenge.Payload) { p.Solution.DerivedKey = "" }), someone, start, challenge.ErrUnsolved},
		"the prefix alone": {altered(func(p *challenge.Payload) {
			p.Solution.DerivedKey = p.Challenge.Parameters.KeyPrefix + strings.Repeat("0", 32)
		}), someone, start, challenge.ErrUnsolved},
		"another's answer": {altered(func(p *challenge.Payload) { p.Solution = other.Solution }), someone, start, challenge.ErrUnsolved},
		"a bad answer":     {altered(func(p *challenge.Payload) { p.Solution.DerivedKey = strings.Repeat("zz", 32) }), someone, start, challenge.ErrUnsolved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := cs.Check(tt.text, tt.who, tt.now); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestWidget holds that a challenge that ALTCHA's own library made and solved under our keys is good: both sign and derive alike.
// testdata/README.md says how it was made.
func TestWidget(t *testing.T) {
	t.Parallel()
	cs, ring := newChallenges(t)
	text, err := os.ReadFile("testdata/altcha-lib-2.8.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var p challenge.Payload
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if err := cs.Check(encode(t, p), someone, start); err != nil {
		signing, _ := ring.Find(keys.Challenge, 7, 3)
		solving, _ := ring.Find(keys.Solution, 7, 3)
		t.Errorf("%v (the keys are %x and %x)", err, signing.Secret(), solving.Secret())
	}
	again, err := challenge.Solve(t.Context(), p.Challenge)
	if err != nil || again.Solution.Counter != p.Solution.Counter || again.Solution.DerivedKey != p.Solution.DerivedKey {
		t.Errorf("we find %+v, %v; ALTCHA's library found %+v", again.Solution, err, p.Solution)
	}
}

// TestHundredThousand tries 100,000 solutions that are none: forged, shared, late. None is accepted.
func TestHundredThousand(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	random := rand.New(rand.NewPCG(17, 6))
	good := solved(t, cs, someone)
	text := encode(t, good)
	refused := func(kind, text string, who challenge.Caller, now time.Time) {
		if err := cs.Check(text, who, now); !errors.Is(err, challenge.ErrUnsolved) && !errors.Is(err, challenge.ErrTryAgain) {
			t.Fatalf("%s was answered %v", kind, err)
		}
	}
	const each = 25_000
	for i := range each {
		forged := good
		forged.Solution.DerivedKey = good.Challenge.Parameters.KeyPrefix + fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
		refused("a guess", encode(t, forged), someone, start)

		shared := someone
		shared.UserID += 1 + int64(i)
		refused("a shared one", text, shared, start)

		refused("a late one", text, someone, start.Add(challenge.Life+time.Duration(i)*time.Second))

		signed := good
		signed.Challenge.Signature = fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
		refused("one that nobody signed", encode(t, signed), someone, start)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var busy bool
	for range 1000 { // select takes either of two that are ready
		_, err := cs.Make(ctx, someone, 2, 2, start)
		busy = busy || errors.Is(err, challenge.ErrBusy)
	}
	if !busy {
		t.Error("a caller who does not wait was never sent away")
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.17": "192.0.2.0/24", "::ffff:192.0.2.17": "192.0.2.0/24",
		"2001:db8:1:2::3": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48",
	} {
		if got := challenge.Network(netip.MustParseAddr(address)); got.String() != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := challenge.Network(netip.Addr{}); got.IsValid() {
		t.Errorf("no address is of %s", got)
	}
}

func FuzzCheck(f *testing.F) {
	cs, _ := newChallenges(f)
	good := solved(f, cs, someone)
	text := encode(f, good)
	f.Add(text)
	f.Add("e30=")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if cs.Check(text, someone, start) != nil {
			return
		}
		p, err := challenge.ParsePayload(text)
		if err != nil || p.Challenge != good.Challenge || !strings.EqualFold(p.Solution.DerivedKey, good.Solution.DerivedKey) {
			t.Errorf("%q was accepted", text)
		}
	})
}

func BenchmarkMake(b *testing.B) {
	cs, _ := newChallenges(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cs.Make(b.Context(), someone, 64, 64, start); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	cs, _ := newChallenges(b)
	text := encode(b, solved(b, cs, someone))
	b.ReportAllocs()
	for b.Loop() {
		if err := cs.Check(text, someone, start); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	cs, _ := newChallenges(b)
	for b.Loop() {
		_ = solved(b, cs, someone)
	}
}
