package redemption

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
)

// Code redeems a paid order. It has CodeLength symbols, in the form in which it is stored.
//
//	K RRRRRRRRRRR CCCC
//	│ │           └ checksum under the key: 20 bits
//	│ └ random: 55 bits
//	└ id of the key
//
// By the checksum, typing errors and all but one in a million guesses are refused without a query. The form must never
// change: codes are stored, and people have them on paper.
type Code string

// CodeLength is how many symbols a code has.
const CodeLength = 16

const (
	// symbols are Crockford's base 32: no two of them look alike, and no code spells a word with U.
	symbols      = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	checkSymbols = 4
	codeGroup    = 4 // symbols between two hyphens when a code is shown
)

// ErrMalformed says that a typed or scanned text does not have the form of a code.
var ErrMalformed = errors.New("not a code: it has 16 letters and digits")

// Parse reads a code as people type it: in any case, with spaces and hyphens anywhere, with I and L for 1 and O for 0.
// It may return ErrMalformed.
func Parse(text string) (Code, error) {
	code := make([]byte, 0, CodeLength)
	for _, r := range strings.ToUpper(text) {
		switch r {
		case ' ', '-':
			continue
		case 'O':
			r = '0'
		case 'I', 'L':
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

// Masked returns the last group of the code only, for people who may not redeem it.
func (c Code) Masked() string {
	return "····-····-····-" + string(c[max(0, len(c)-codeGroup):])
}

// KeyID returns which key made the checksum.
func (c Code) KeyID() int { return strings.IndexByte(symbols, c[0]) }

// MaxKeyID is the highest id of a key: a code has one symbol for it.
const MaxKeyID = len(symbols) - 1

// KeyBytes is how long a key's secret is: the width of its hash.
const KeyBytes = sha256.Size

// Key makes and checks the checksums of codes. Without the key nobody can tell a right code from a wrong one.
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

// Made reports whether the code's checksum is this key's.
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
