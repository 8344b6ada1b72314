package draw_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"testing"
	"time"

	"seckill/internal/feature/guard/draw"
)

func begin() time.Time { return time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC) }

// Moments are what the formula says, computed here in another way, and spread evenly.
func TestMoments(t *testing.T) {
	t.Parallel()
	const delay, entries = 20_000, 20_000
	key := [draw.Bytes]byte{1, 2, 3}
	m := draw.NewMoments(key, "beacon", begin(), delay)
	halves := [2]int{}
	for entry := range int64(entries) {
		h := draw.EntryHash(draw.EntryText(5, 1, entry))
		if want := sha256.Sum256(fmt.Appendf(nil, "5-1-%016x", entry)); h != want {
			t.Fatalf("the hash of %d is %v, want %x", entry, h, want)
		}
		mac := hmac.New(sha256.New, append(key[:], "beacon"...))
		mac.Write(h[:])
		n := new(big.Int).SetUint64(binary.BigEndian.Uint64(mac.Sum(nil)))
		ms := n.Mul(n, big.NewInt(delay)).Rsh(n, 64).Int64()
		got := m.Of(h)
		if want := begin().Add(time.Duration(ms) * time.Millisecond); !got.Equal(want) || !got.Before(m.Last()) {
			t.Fatalf("the moment of %d is %v, want %v", entry, got, want)
		}
		halves[ms*2/delay]++
	}
	if d := halves[0] - halves[1]; d > 600 || d < -600 { // more than four standard deviations
		t.Errorf("%d moments in the first half, %d in the second", halves[0], halves[1])
	}
	none := draw.NewMoments(key, "", begin(), 0)
	if !none.Of(draw.Hash{}).Equal(begin()) || !none.Last().Equal(begin()) {
		t.Error("without a delay, moments are not the begin")
	}
}

// The root can be computed with sort and sha256sum.
func TestRoot(t *testing.T) {
	t.Parallel()
	a, b := draw.Hash{1}, draw.Hash{2}
	root := draw.NewRoot()
	root.Add(a)
	root.Add(b)
	if want := sha256.Sum256([]byte(a.String() + "\n" + b.String() + "\n")); root.Sum() != want {
		t.Errorf("%v, want %x", root.Sum(), want)
	}
}

func BenchmarkMoment(b *testing.B) {
	m := draw.NewMoments([draw.Bytes]byte{1}, "beacon", begin(), 20_000)
	for i := range int64(b.N) {
		m.Of(draw.EntryHash(draw.EntryText(5, 1, i)))
	}
}
