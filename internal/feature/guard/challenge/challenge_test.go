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
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/keys"
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
	r, err := keys.NewRing(strings.Repeat("secret of ours!!", 2),
		salts{{ID: 3, Value: [keys.Bytes]byte{1, 2, 3}}}.GuardSalts,
		func() time.Time { return start }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	cs := challenge.New(r, budget.NewTable(func() time.Time { return start }), challenge.PoolDepth)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var making sync.WaitGroup
	making.Go(func() { _ = cs.Run(ctx) })
	t.Cleanup(func() { cancel(); making.Wait() })
	return cs, r
}

func solved(t testing.TB, cs *challenge.Challenges, who challenge.Caller) challenge.Payload {
	t.Helper()
	made, err := make1(t, cs, who, 4)
	if err != nil {
		t.Fatal(err)
	}
	p, err := challenge.Solve(t.Context(), made)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// make1 makes a challenge, however long that takes on a busy machine.
func make1(t testing.TB, cs *challenge.Challenges, who challenge.Caller, difficulty int) (challenge.Challenge, error) {
	t.Helper()
	for {
		made, err := cs.Make(t.Context(), who, difficulty, start)
		if !errors.Is(err, challenge.ErrBusy) {
			return made, err
		}
	}
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
		"another network": {
			text, challenge.Caller{SaleID: 7, UserID: 42, Address: abroad}, start, challenge.ErrUnsolved,
		},
		"another user": {
			text, challenge.Caller{SaleID: 7, UserID: 43, Address: home}, start, challenge.ErrUnsolved,
		},
		"another sale": {
			text, challenge.Caller{SaleID: 8, UserID: 42, Address: home}, start, challenge.ErrUnsolved,
		},
		"none":         {"", someone, start, challenge.ErrUnsolved},
		"not base64":   {"{}", someone, start, challenge.ErrUnsolved},
		"url alphabet": {"__--", someone, start, challenge.ErrUnsolved},
		"empty object": {base64.StdEncoding.EncodeToString([]byte("{}")), someone, start, challenge.ErrUnsolved},
		"two values":   {base64.StdEncoding.EncodeToString([]byte("{}{}")), someone, start, challenge.ErrUnsolved},
		"unknown field": {
			base64.StdEncoding.EncodeToString([]byte(`{"x":1}`)), someone, start, challenge.ErrUnsolved,
		},
		"too long": {strings.Repeat("A", 1<<20), someone, start, challenge.ErrUnsolved},
		"a longer life": {
			altered(func(p *challenge.Payload) { p.Challenge.Parameters.ExpiresAt++ }), someone,
			start, challenge.ErrUnsolved,
		},
		"a shorter prefix": {
			altered(func(p *challenge.Payload) { p.Challenge.Parameters.KeyPrefix = "" }), someone,
			start, challenge.ErrUnsolved,
		},
		"a lower cost": {
			altered(func(p *challenge.Payload) { p.Challenge.Parameters.Cost = 2 }), someone,
			start, challenge.ErrUnsolved,
		},
		"another salt": {
			altered(func(p *challenge.Payload) { p.Challenge.Parameters.Data.Key = 4 }), someone,
			start, challenge.ErrUnsolved,
		},
		"no signature": {
			altered(func(p *challenge.Payload) { p.Challenge.Signature = "" }), someone, start, challenge.ErrUnsolved,
		},
		"no answer": {
			altered(func(p *challenge.Payload) { p.Solution.DerivedKey = "" }), someone, start, challenge.ErrUnsolved,
		},
		"the prefix alone": {altered(func(p *challenge.Payload) {
			p.Solution.DerivedKey = p.Challenge.Parameters.KeyPrefix + strings.Repeat("0", 32)
		}), someone, start, challenge.ErrUnsolved},
		"another's answer": {
			altered(func(p *challenge.Payload) { p.Solution = other.Solution }), someone, start, challenge.ErrUnsolved,
		},
		"a bad answer": {
			altered(func(p *challenge.Payload) { p.Solution.DerivedKey = strings.Repeat("zz", 32) }), someone,
			start, challenge.ErrUnsolved,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := cs.Check(tt.text, tt.who, tt.now); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestWidget holds that a challenge that ALTCHA's own library made and solved under our keys is good: both sign and
// derive alike. testdata/README.md says how it was made.
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
	if err != nil || again.Solution.Counter != p.Solution.Counter ||
		again.Solution.DerivedKey != p.Solution.DerivedKey {
		t.Errorf("we find %+v, %v; ALTCHA's library found %+v", again.Solution, err, p.Solution)
	}
}

// TestBadSolutions tries solutions that are none: forged, shared, late. None is accepted.
func TestBadSolutions(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	random := rand.New(rand.NewPCG(17, 6))
	good := solved(t, cs, someone)
	text := encode(t, good)
	refused := func(kind, text string, who challenge.Caller, now time.Time) {
		if err := cs.Check(text, who, now); !errors.Is(err, challenge.ErrUnsolved) &&
			!errors.Is(err, challenge.ErrTryAgain) {
			t.Fatalf("%s was answered %v", kind, err)
		}
	}
	const each = 500
	for i := range each {
		forged := good
		forged.Solution.DerivedKey = good.Challenge.Parameters.KeyPrefix + fmt.Sprintf("%016x%016x",
			random.Uint64(), random.Uint64())
		refused("a guess", encode(t, forged), someone, start)

		shared := someone
		shared.UserID += 1 + int64(i)
		refused("a shared one", text, shared, start)

		refused("a late one", text, someone, start.Add(challenge.Life+time.Duration(i)*time.Second))

		signed := good
		signed.Challenge.Signature = fmt.Sprintf("%016x%016x%016x%016x",
			random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
		refused("one that nobody signed", encode(t, signed), someone, start)
	}
}

// TestBusy holds that callers are sent away within a bound while nobody makes challenges.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := keys.NewRing(strings.Repeat("secret of ours!!", 2), salts{{ID: 3}}.GuardSalts, time.Now,
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		cs := challenge.New(r, budget.NewTable(time.Now), challenge.PoolDepth)
		began := time.Now()
		var asking sync.WaitGroup
		var atOnce atomic.Int64
		for range 1000 {
			asking.Go(func() {
				if _, err := cs.Make(t.Context(), someone, 16, start); !errors.Is(err, challenge.ErrBusy) {
					t.Errorf("%v, want ErrBusy", err)
				}
				if time.Since(began) == 0 {
					atOnce.Add(1)
				}
			})
		}
		asking.Wait()
		if took := time.Since(began); took > time.Second || atOnce.Load() < 900 {
			t.Errorf("%d of 1000 were sent away at once, the last after %v", atOnce.Load(), took)
		}
	})
}

// TestPuzzlesAreGivenOnce holds that no two challenges have the same answer: one who has solved theirs may tell others.
func TestPuzzlesAreGivenOnce(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	seen := map[string]bool{}
	for range 40 {
		made, err := make1(t, cs, someone, 2)
		if err != nil {
			t.Fatal(err)
		}
		if seen[made.Parameters.KeyPrefix] {
			t.Fatal("a puzzle was given twice")
		}
		seen[made.Parameters.KeyPrefix] = true
	}
}

// TestAskingAgain holds that an account has one challenge until it is solved or nearly over, and only from the network
// that it was made for.
func TestAskingAgain(t *testing.T) {
	t.Parallel()
	cs, _ := newChallenges(t)
	if again, is := cs.Again(someone, start); is {
		t.Fatalf("before the first: %+v", again)
	}
	first, err := make1(t, cs, someone, 2)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, another, other := someone, someone, someone
	elsewhere.Address = netip.MustParseAddr("198.51.100.7")
	another.UserID++
	other.SaleID++
	for name, c := range map[string]struct {
		who   challenge.Caller
		at    time.Duration
		again bool
	}{
		"at once":         {someone, 0, true},
		"later":           {someone, challenge.Life - 11*time.Second, true},
		"nearly over":     {someone, challenge.Life - 9*time.Second, false},
		"another network": {elsewhere, 0, false},
		"another account": {another, 0, false},
		"another sale":    {other, 0, false},
	} {
		got, is := cs.Again(c.who, start.Add(c.at))
		if is != c.again || is && got != first {
			t.Errorf("%s: %t, %+v; want %+v", name, is, got, first)
		}
	}
	solution, err := challenge.Solve(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a solution may be sent again
		if err := cs.Check(encode(t, solution), someone, start); err != nil {
			t.Fatal(err)
		}
		if _, is := cs.Again(someone, start); is {
			t.Error("a challenge that is solved was given again")
		}
	}
}

func TestDifficulty(t *testing.T) {
	t.Parallel()
	now := start
	cs := challenge.New(nil, budget.NewTable(func() time.Time { return now }), challenge.PoolDepth)
	ask := func(who challenge.Caller, hardest, want int) {
		t.Helper()
		if got, err := cs.Difficulty(who, 16, hardest); err != nil || got != want {
			t.Errorf("user %d: %d tries, %v; want %d", who.UserID, got, err, want)
		}
	}
	for _, want := range []int{16, 16, 32, 48, 64, 64, 64, 64, 64} { // 1000 is beyond what is allowed
		ask(someone, 1000, want)
	}
	ask(someone, 4, 4)
	if _, err := cs.Difficulty(someone, 16, 64); wait(err) != 30*time.Second {
		t.Errorf("the eleventh: %v, want a wait of half a minute", err)
	}
	ask(challenge.Caller{SaleID: 8, UserID: 42, Address: home}, 64, 16)
	now = now.Add(300 * time.Second)
	ask(someone, 64, 16)

	for user := range int64(200) {
		if _, err := cs.Difficulty(challenge.Caller{SaleID: 7, UserID: 1000 + user, Address: abroad}, 16,
			64); err != nil {
			t.Fatal(err)
		}
	}
	ask(challenge.Caller{SaleID: 7, UserID: 1, Address: abroad}, 64, 16+8*3)
	ask(challenge.Caller{SaleID: 7, UserID: 2, Address: netip.MustParseAddr("2001:db8::1")}, 64, 16)
	var refused error
	for user := int64(2000); user < 7000 && refused == nil; user++ {
		_, refused = cs.Difficulty(challenge.Caller{SaleID: 7, UserID: user, Address: abroad}, 16, 64)
	}
	if wait(refused) == 0 {
		t.Errorf("5000 accounts of a network at once: %v", refused)
	}
}

// wait is after which time a caller may ask again.
func wait(err error) time.Duration {
	if rate, is := errors.AsType[*budget.RateError](err); is {
		return rate.Retry
	}
	return 0
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
		if err != nil || p.Challenge != good.Challenge || !strings.EqualFold(p.Solution.DerivedKey,
			good.Solution.DerivedKey) {
			t.Errorf("%q was accepted", text)
		}
	})
}

// BenchmarkMake is how fast challenges are made when all of the pool was given away: half of a processor's tries.
func BenchmarkMake(b *testing.B) {
	cs, _ := newChallenges(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := make1(b, cs, someone, 16); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAsk is what an ask costs that finds no challenge, or too many asks of its account.
func BenchmarkAsk(b *testing.B) {
	cs, _ := newChallenges(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = cs.Difficulty(someone, 16, 64)
	}
}

// BenchmarkAgain is what it costs to give a challenge again that was not solved.
func BenchmarkAgain(b *testing.B) {
	cs, _ := newChallenges(b)
	if _, err := make1(b, cs, someone, 16); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, is := cs.Again(someone, start); !is {
			b.Fatal("it is not given again")
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
