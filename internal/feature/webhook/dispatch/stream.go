package dispatch

import (
	"context"
	"crypto/aes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"seckill/internal/kit/invalid"
)

// StreamSettles is how long after events begin to be written for a shop the stream of them begins. Instances learn it
// within a second, and a transaction that began before waits for locks for four seconds at most.
const StreamSettles = 10 * time.Second

// End is the text of an After that begins behind the last event.
const End = "end"

// Errors of the stream of events.
var (
	// ErrNotWritten: events of the caller's shops are not written, or a merchant asks before the stream is open.
	ErrNotWritten = errors.New("events are written for shops with an endpoint only")
	// ErrSettling: they have been written for less than StreamSettles.
	ErrSettling = errors.New("events have just begun to be written")
	// ErrNoStream: the stream was not opened yet, as a version 1.0 may live.
	ErrNoStream = errors.New("the stream of events is not open")
)

// GoneError says that events behind a cursor were deleted, or never written. Begin is the cursor before the oldest
// event that is whole from there on.
type GoneError struct{ Begin Cursor }

// Error implements error.
func (e *GoneError) Error() string { return "events behind this cursor are gone" }

// Cursor is a sealed Position: only its ledger can read it, so a merchant does not learn how much other shops sell.
type Cursor [aes.BlockSize]byte

// String returns the cursor as programs keep it.
func (c Cursor) String() string { return base64.RawURLEncoding.EncodeToString(c[:]) }

// Position is a place in the stream: behind the event with the number. Since names why events of the reader's shops
// have been written without a gap since then.
type Position struct {
	Number int64
	Since  Cover
}

// Cover is a reason why events are written: an endpoint, or that those of all shops are.
type Cover struct {
	Endpoint int64 // an endpoint's id; 0: events of all shops are written
	Epoch    int64 // since they began to be for the Epoch-th time; 0: Endpoint
}

// The parts of a sealed position, in bytes. The rest of the block is 0.
const (
	numberBytes = 6
	coverBytes  = 4
	saltBytes   = 3
)

// Seal returns the position as a cursor. key has 16 bytes. Cursors of one position differ, so that a reader cannot tell
// whether others have had events meanwhile.
func (p Position) Seal(key []byte) (c Cursor, err error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return c, fmt.Errorf("the key of cursors: %w", err)
	}
	cover := uint64(p.Since.Endpoint) << 1
	if p.Since.Epoch != 0 {
		cover = uint64(p.Since.Epoch)<<1 | 1
	}
	var plain Cursor
	copy(plain[:], binary.BigEndian.AppendUint64(nil, uint64(p.Number))[8-numberBytes:])
	copy(plain[numberBytes:], binary.BigEndian.AppendUint64(nil, cover)[8-coverBytes:])
	_, _ = rand.Read(plain[numberBytes+coverBytes:][:saltBytes]) // it never fails: without randomness the program ends
	block.Encrypt(c[:], plain[:])
	return c, nil
}

// Open returns the position that was sealed with the key; ok is false for a cursor that was sealed with another one.
func (c Cursor) Open(key []byte) (p Position, ok bool, err error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return p, false, fmt.Errorf("the key of cursors: %w", err)
	}
	var plain Cursor
	block.Decrypt(plain[:], c[:])
	var rest [aes.BlockSize - numberBytes - coverBytes - saltBytes]byte
	if [len(rest)]byte(plain[numberBytes+coverBytes+saltBytes:]) != rest {
		return p, false, nil
	}
	p.Number = unsigned(plain[:numberBytes])
	if cover := unsigned(plain[numberBytes : numberBytes+coverBytes]); cover&1 == 1 {
		p.Since.Epoch = cover >> 1
	} else {
		p.Since.Endpoint = cover >> 1
	}
	return p, true, nil
}

// unsigned reads a number of fewer than eight bytes.
func unsigned(bytes []byte) (n int64) {
	for _, b := range bytes {
		n = n<<8 | int64(b)
	}
	return n
}

// After says where a page of the stream begins: at a cursor, behind the last event, or else with the oldest one.
type After struct {
	Cursor *Cursor
	End    bool
}

// ParseAfter reads the parameter called name: a cursor, End, or "".
func ParseAfter(name, text string) (After, *invalid.Problem) {
	switch text {
	case "":
		return After{}, nil
	case End:
		return After{End: true}, nil
	}
	var c Cursor
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(bytes) != len(c) {
		return After{}, invalid.New(name, invalid.Malformed, cursorText, invalid.Data{"value": invalid.Clip(text)})
	}
	copy(c[:], bytes)
	return After{Cursor: &c}, nil
}

// StreamQuery asks for a page of the stream.
type StreamQuery struct {
	ShopID int64 // whose events; 0: those of all shops
	After  After
	Back   bool   // newest first: what is before After
	Types  []Type // nil: all
	Limit  int
}

// Check returns a problem if the query names a type that there is not, or one twice.
func (q StreamQuery) Check() *invalid.Problem { return checkTypes("type", q.Types) }

// StreamPage is a page of the stream.
type StreamPage struct {
	Events []Event
	Next   Cursor // where the following page begins
	More   bool   // there was more to read when the page was read
}

// Stream has the stored events in the order of their numbers: the ledger. Every method may return order.ErrUnavailable.
type Stream interface {
	// Events returns a page. Nothing is missing between the pages of one reader; those backwards have what is still
	// there. A page of some types only may be short, or empty, though there is more. Errors: ErrNoStream if the reader
	// may open it; ErrNotWritten, ErrSettling, *GoneError.
	Events(ctx context.Context, q StreamQuery) (StreamPage, error)
	// OpenStream opens the stream, once no version lives that writes or deletes events without knowing it.
	OpenStream(ctx context.Context) error
}
