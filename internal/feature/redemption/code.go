package redemption

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"seckill/internal/kit/periodic"
)

// Code is the code that redeems a paid order. It has CodeLength symbols, in the form in which it is stored.
//
//	K RRRRRRRRRRR CCCC
//	│ │           └ checksum under the key: 20 bits
//	│ └ random: 55 bits
//	└ id of the key
//
// Thanks to the checksum, typing errors and all but one in a million guesses are refused without a query. The form must
// never change: codes are stored, and people have them on paper.
type Code string

// CodeLength is how many symbols a code has.
const CodeLength = 16

const (
	// symbols are Crockford's base 32: no two of them look alike, and no code spells a word with U.
	symbols      = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	checkSymbols = 4
	codeGroup    = 4 // symbols between two hyphens when a code is shown
)

// ErrMalformed is the error for a typed or scanned text that does not have the form of a code.
var ErrMalformed = errors.New("not a code: it has 16 letters and digits")

// Parse reads a code as people type it, and as scanners and keyboards write it: in any case and width, with I and L for
// 1 and O for 0. Whatever is neither a letter nor a digit does not matter. Error: ErrMalformed.
func Parse(text string) (Code, error) {
	code := make([]byte, 0, CodeLength)
	for _, r := range strings.ToUpper(norm.NFKC.String(text)) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			continue
		case r == 'O':
			r = '0'
		case r == 'I', r == 'L':
			r = '1'
		}
		if !strings.ContainsRune(symbols, r) || len(code) == CodeLength {
			return "", ErrMalformed
		}
		code = append(code, byte(r)) // a symbol is one byte
	}
	if len(code) != CodeLength {
		return "", ErrMalformed
	}
	return Code(code), nil
}

// Shown returns the code in groups of four, for people.
func (c Code) Shown() string {
	var b strings.Builder
	for i := range len(c) {
		if i > 0 && i%codeGroup == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(c[i])
	}
	return b.String()
}

// Masked returns only the last group of the code, for people who may not redeem it.
func (c Code) Masked() string {
	return "····-····-····-" + string(c[max(0, len(c)-codeGroup):])
}

// KeyID returns the id of the key that made the checksum.
func (c Code) KeyID() int { return strings.IndexByte(symbols, c[0]) }

// MaxKeyID is the highest id of a key: a code has one symbol for it.
const MaxKeyID = len(symbols) - 1

// KeyBytes is how long a key's secret is: the width of its hash.
const KeyBytes = sha256.Size

// Key makes and checks the checksums of codes. Without the key nobody can tell a genuine code from a forged one.
type Key struct {
	ID     int // 0 to MaxKeyID
	Secret [KeyBytes]byte
}

// NewCode returns a random code. Two codes may be equal: among a hundred million there is an equal pair with a
// probability of about 1 in 10.
func (k Key) NewCode() Code {
	code := make([]byte, CodeLength)
	_, _ = rand.Read(code) // it never fails: without randomness the program ends
	code[0] = symbols[k.ID]
	for i := 1; i < CodeLength-checkSymbols; i++ {
		code[i] = symbols[code[i]%byte(len(symbols))] // 256 is a multiple of 32
	}
	copy(code[CodeLength-checkSymbols:], k.checksum(code[:CodeLength-checkSymbols]))
	return Code(code)
}

// Made reports whether this key made the code's checksum.
func (k Key) Made(c Code) bool {
	const checked = CodeLength - checkSymbols
	return len(c) == CodeLength && hmac.Equal(k.checksum([]byte(c[:checked])), []byte(c[checked:]))
}

// checksum returns the last symbols of a code.
func (k Key) checksum(text []byte) []byte {
	mac := hmac.New(sha256.New, k.Secret[:])
	mac.Write(text)
	bits := binary.BigEndian.Uint32(mac.Sum(nil))
	sum := make([]byte, checkSymbols)
	for i := range sum {
		sum[i] = symbols[bits%uint32(len(symbols))]
		bits /= uint32(len(symbols))
	}
	return sum
}

// reloadEvery bounds how often wrong codes make the keyring ask the ledger for an unknown key.
const reloadEvery = time.Second

// Keyring has the keys of all codes that were ever made. It reads the keys again when a code names an unknown key,
// because another instance may have rotated the key.
type Keyring struct {
	read func(context.Context) ([]Key, error)
	now  func() time.Time

	asking chan struct{} // taken by the caller that asks the ledger

	mu        sync.Mutex
	keys      map[int]Key
	loaded    time.Time // when the keys were last read
	questions int       // how often the ledger was asked
	failed    error     // why the last question failed
}

// NewKeyring returns an empty keyring, for which read reads all keys from the ledger.
func NewKeyring(read func(context.Context) ([]Key, error), now func() time.Time) *Keyring {
	return &Keyring{read: read, now: now, asking: make(chan struct{}, 1)}
}

// Made reports whether one of the keys made the code's checksum. It returns an error if the key cannot be read from the
// ledger. A caller that waits while another asks the ledger shares the other's error.
func (k *Keyring) Made(ctx context.Context, c Code) (bool, error) {
	key, known, questions := k.key(c.KeyID())
	if !known {
		select {
		case k.asking <- struct{}{}:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		err := k.ask(ctx, questions)
		<-k.asking
		if err != nil {
			return false, err
		}
		key, known, _ = k.key(c.KeyID())
	}
	return known && key.Made(c), nil
}

// key returns a key if it is known, and the number of questions to the ledger so far.
func (k *Keyring) key(id int) (key Key, known bool, questions int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known = k.keys[id]
	return key, known, k.questions
}

// ask reads the keys from the ledger, unless they were read a moment ago. If another caller has read them since the
// count was questions, it returns that caller's result.
func (k *Keyring) ask(ctx context.Context, questions int) error {
	k.mu.Lock()
	recent := !k.loaded.IsZero() && k.now().Sub(k.loaded) < reloadEvery
	asked, failed := k.questions != questions, k.failed
	k.mu.Unlock()
	switch {
	case asked:
		return failed
	case recent:
		return nil
	}
	keys, err := k.read(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.questions, k.failed = k.questions+1, err
	if err == nil {
		k.loaded, k.keys = k.now(), make(map[int]Key, len(keys))
		for _, key := range keys {
			k.keys[key.ID] = key
		}
	}
	return err
}

// loadKeysEvery is how long an instance may go on making codes with the old key after a rotation.
const loadKeysEvery = 20 * time.Second

// loadKeys is the job that reads the keys of codes every loadKeysEvery, so that the ledger makes new codes with the
// newest key and no payment waits for a key. While the keys cannot be read, the last known key stays in use.
func loadKeys(
	read func(context.Context) ([]Key, error), log *slog.Logger,
) func(context.Context) error {
	return func(ctx context.Context) error {
		return periodic.Every(ctx, loadKeysEvery, func(ctx context.Context) {
			if _, err := read(ctx); err != nil && ctx.Err() == nil {
				log.DebugContext(ctx, "the keys of codes cannot be read; the one that is known stays in use",
					"error", err)
			}
		})
	}
}
