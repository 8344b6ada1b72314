package redemption

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func key(id int, secret string) Key {
	k := Key{ID: id}
	copy(k.Secret[:], secret)
	return k
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Code{
		"0123456789ABCDEF":           "0123456789ABCDEF",
		"-0123-4567 89ab--cdef-":     "0123456789ABCDEF",
		"OoIiLl6789abcdef":           "0011116789ABCDEF",
		"\ufeff0123456789ABCDEF\r\n": "0123456789ABCDEF", // a scanner
		"0123\t4567\t89AB\tCDEF":     "0123456789ABCDEF",
		"０１２３－４５６７－８９ａｂ－ｃｄｅｆ":       "0123456789ABCDEF", // a Chinese keyboard
		"0123—4567–89AB‑CDEF":       "0123456789ABCDEF", // dashes of a text program
		"\u200e0123_4567.89AB/CDEF": "0123456789ABCDEF",
		"０123456789ABCDE":           "",
		"":                          "",
		"0123456789ABCDE":           "",
		"0123456789ABCDEFG":         "",
		"U123456789ABCDEF":          "", // no symbol
		"0123456789ABCDEÉ":          "",
		"0123456789ABCDE\x00":       "", // 15
		"0123456789ABCD²F":          "0123456789ABCD2F",
		"0123456789ABCDE٣":          "", // a digit, but none of ours
		strings.Repeat("-", 9999):   "",
	} {
		got, err := Parse(text)
		if got != want || (want == "") != errors.Is(err, ErrMalformed) {
			t.Errorf("Parse(%.20q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

// A code is read again however people write it, and its key alone has made it.
func TestCodesAreTheirKeysAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.IntRange(0, MaxKeyID).Draw(t, "key")
		k := key(id, rapid.String().Draw(t, "secret"))
		code := k.NewCode()
		for _, written := range []string{string(code), code.Shown(), strings.ToLower(code.Shown())} {
			if got, err := Parse(written); got != code || err != nil {
				t.Fatalf("Parse(%q) = %q, %v", written, got, err)
			}
		}
		if !k.Made(code) || code.KeyID() != id || key(id, "another").Made(code) {
			t.Fatalf("code %s of key %d", code, id)
		}
		if masked := code.Masked(); strings.Contains(masked, string(code[:12])) ||
			!strings.HasSuffix(masked, string(code[12:])) {
			t.Fatalf("masked: %q", masked)
		}
		i := rapid.IntRange(0, CodeLength-1).Draw(t, "typing error")
		wrong := []byte(code)
		wrong[i] = symbols[(strings.IndexByte(symbols, wrong[i])+1+
			rapid.IntRange(0, len(symbols)-2).Draw(t, "by"))%len(symbols)]
		if i >= CodeLength-checkSymbols && k.Made(Code(wrong)) { // elsewhere one in a million is right by chance
			t.Fatalf("%s is as good as %s", wrong, code)
		}
	})
}

// The form never changes: people have codes on paper.
func TestCodesOfToday(t *testing.T) {
	t.Parallel()
	k := key(3, "the key of this test")
	if sum := string(k.checksum([]byte("3ABCDEFGHJKM"))); !k.Made(Code("3ABCDEFGHJKM"+sum)) || sum != "X983" {
		t.Errorf("the checksum has become %s", sum)
	}
}

func TestGuessesAreRefused(t *testing.T) {
	t.Parallel()
	const guesses = 50_000
	k, other := key(0, "a"), key(0, "b")
	hits := 0
	for range guesses {
		if k.Made(other.NewCode()) {
			hits++
		}
	}
	if hits > 3 { // 0.05 are expected
		t.Errorf("%d of %d guesses have a right checksum", hits, guesses)
	}
}

// TestOlderReadOfKeys: a slow read that began earlier does not bring an older key back.
func TestOlderReadOfKeys(t *testing.T) {
	t.Parallel()
	l, now := &Ledger{}, time.Now()
	for _, step := range []struct {
		id, want int
		began    time.Duration
	}{{0, 0, 0}, {2, 2, 2 * time.Second}, {1, 2, time.Second}, {3, 3, 3 * time.Second}} {
		l.learn(&keyInUse{key: Key{ID: step.id}, from: now.Add(step.began)})
		if k, err := l.currentKey(); err != nil || k.ID != step.want {
			t.Errorf("after key %d, read from %v: key %d, %v; want %d", step.id, step.began, k.ID, err, step.want)
		}
	}
}
