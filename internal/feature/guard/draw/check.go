package draw

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"seckill/internal/kit/moment"
)

// Tolerance is by how much the clock by which orders are recorded may be behind the one by which moments come.
const Tolerance = time.Second

// Wrong is something about a published draw that is not as it must be.
type Wrong struct {
	Line int // of the list, from 1; 0: the draw as a whole
	What string
}

// String returns the problem as one line of text.
func (w Wrong) String() string {
	if w.Line == 0 {
		return w.What
	}
	return fmt.Sprintf("line %d: %s", w.Line, w.What)
}

// checker collects what is wrong.
type checker struct {
	list  *List
	sold  bool // somebody bought, or it is not said whether anybody did
	wrong []Wrong
}

func (c *checker) bad(line int, format string, args ...any) {
	c.wrong = append(c.wrong, Wrong{line, fmt.Sprintf(format, args...)})
}

// Check checks a whole published draw whose sale is over, and returns everything that is wrong with it. before is the
// same draw as somebody saw it earlier, or nil.
func Check(l, before *List) []Wrong {
	c := &checker{list: l, sold: l.sold()}
	if l.State != Over {
		c.bad(0, "the sale is not over: the state is %s", l.State)
		return c.wrong
	}
	if l.VoidTime != nil {
		c.bad(0, "the draw counts no more since %v: %s", l.VoidTime, l.VoidReason)
	}
	c.times()
	c.beacon()
	c.root()
	if key, ok := c.key(); ok {
		c.entrants(NewMoments(key, l.Beacon, l.BeginTime.Time, l.DelayMs))
	}
	if before != nil {
		c.before(before)
	}
	return c.wrong
}

// times checks that everything happened in the order that makes a choice impossible.
func (c *checker) times() {
	l := c.list
	if l.ClosedTime == nil {
		if c.sold {
			c.bad(0, "closedTime is missing: nobody could have had a moment")
		}
		return
	}
	if !l.CreateTime.Before(l.CloseTime.Time) || l.ClosedTime.Before(l.CloseTime.Time) {
		c.bad(0, "the draw was made at %v and closed at %v, and should have been open until %v", l.CreateTime,
			l.ClosedTime, l.CloseTime)
	}
	if !l.CloseTime.Before(l.BeginTime.Time) {
		c.bad(0, "the draw closed at %v, after the sale's begin at %v", l.CloseTime, l.BeginTime)
	}
}

// beacon checks that the draw has a beacon exactly if one was named, and since when.
func (c *checker) beacon() {
	l := c.list
	named := l.Source != "" && l.Round != ""
	switch has := l.Beacon != "" && l.BeaconTime != nil; {
	case named && l.Beacon == "" && l.BeaconTime == nil && !c.sold: // the sale was over before
	case named != has:
		c.bad(0, "beacon and source do not go together: a named beacon binds, and no other counts")
	case named && l.ClosedTime != nil && l.BeaconTime.Before(l.ClosedTime.Time):
		c.bad(0, "the beacon was entered at %v, before the draw was closed", l.BeaconTime)
	case named && !l.BeaconTime.Before(l.BeginTime.Time):
		c.bad(0, "the beacon was entered at %v, after the sale's begin", l.BeaconTime)
	}
	if want := map[bool]string{true: Checkable, false: Committed}[named]; l.Proof != want {
		c.bad(0, "proof is %s, and can only be %s", l.Proof, want)
	}
}

// root checks the list as it was closed: its order, its length and its root.
func (c *checker) root() {
	l, root, last := c.list, NewRoot(), ""
	if l.Root == "" && l.Entries == nil && !c.sold { // the sale was over before the draw was closed
		return
	}
	for i, e := range l.Entrants {
		h, ok := parse(e.Hash)
		switch {
		case !ok:
			c.bad(i+1, "%q is not a hash", e.Hash)
		case e.Hash == last:
			c.bad(i+1, "%s is there twice", e.Hash)
		case e.Hash < last:
			c.bad(i+1, "%s is behind %s: the list is not in ascending order", e.Hash, last)
		}
		last = e.Hash
		root.Add(h)
	}
	if l.Entries == nil || *l.Entries != int64(len(l.Entrants)) {
		c.bad(0, "the list has %d lines, and another number was published when the draw closed", len(l.Entrants))
	}
	if got := root.Sum().String(); got != l.Root {
		c.bad(0, "the root of the list is %s, and %s was published: entrants were added, removed or replaced", got,
			l.Root)
	}
}

// key returns the published key if it is the one that the draw was committed to.
func (c *checker) key() ([Bytes]byte, bool) {
	key, ok := parse(c.list.Key)
	if !ok {
		c.bad(0, "drawKey is missing, or is not %d bytes in hexadecimal", Bytes)
		return key, false
	}
	if got := KeyHash(key).String(); got != c.list.KeyHash {
		c.bad(0, "the hash of the key is %s, and the draw was committed to %s", got, c.list.KeyHash)
		return key, false
	}
	return key, true
}

// entrants checks each line's moment, and that nobody bought before theirs.
func (c *checker) entrants(m *Moments) {
	for i, e := range c.list.Entrants {
		h, ok := parse(e.Hash)
		if !ok {
			continue
		}
		if want := m.Of(h); !want.Equal(e.MomentTime.Time) {
			c.bad(i+1, "the moment is %v, and should be %v", e.MomentTime, moment.Of(want))
		}
		switch decided := e.DecideTime != nil; {
		case e.Outcome != Bought && e.Outcome != Failed && e.Outcome != None:
			c.bad(i+1, "%q is no outcome", e.Outcome)
		case decided != (e.Outcome != None):
			c.bad(i+1, "outcome and decideTime do not go together")
		case decided && e.DecideTime.Add(Tolerance).Before(m.Of(h)):
			c.bad(i+1, "the order is of %v, before the moment %v", e.DecideTime, moment.Of(m.Of(h)))
		}
	}
	others := c.list.OtherOrders
	switch first := c.list.FirstOther; {
	case others == nil:
		c.bad(0, "otherOrders is missing: nobody knows who else bought")
	case (*others > 0) != (first != nil):
		c.bad(0, "otherOrders and firstOtherTime do not go together")
	case first != nil && first.Add(Tolerance).Before(m.Last()):
		c.bad(0, "somebody without an entry had an order at %v, before %v", first, moment.Of(m.Last()))
	}
}

// before compares the draw with what somebody saw earlier of it. Nothing that was published then may have changed.
func (c *checker) before(was *List) {
	now := c.list
	for _, m := range [][3]string{
		{"voucherId", fmt.Sprint(was.VoucherID), fmt.Sprint(now.VoucherID)},
		{"drawNumber", fmt.Sprint(was.Number), fmt.Sprint(now.Number)},
		{"keyHash", was.KeyHash, now.KeyHash},
		{"beginTime", was.BeginTime.String(), now.BeginTime.String()},
		{"delayMs", fmt.Sprint(was.DelayMs), fmt.Sprint(now.DelayMs)},
		{"closeTime", was.CloseTime.String(), now.CloseTime.String()},
		{"source and round", was.Source + " " + was.Round, now.Source + " " + now.Round},
		{"root", was.Root, now.Root},
		{"beacon", was.Beacon, now.Beacon},
	} {
		if m[1] != "" && m[1] != m[2] {
			c.bad(0, "%s was %q, and is %q", m[0], m[1], m[2])
		}
	}
}

// Own returns the number of an entry's line, from 1, or says why the list does not have it.
func Own(l *List, text string) (line int, err error) {
	if !strings.HasPrefix(text, fmt.Sprintf("%d-%d-", l.VoucherID, l.Number)) {
		return 0, fmt.Errorf("your entry, %s, is none of this draw: those begin with %d-%d-. Was it typed right?", text,
			l.VoucherID, l.Number)
	}
	want := EntryHash(text).String()
	for i, e := range l.Entrants {
		if e.Hash == want {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("your entry, %s, is not in the list: no line has the hash %s. Was it typed right?", text, want)
}

// parse reads a hash, which has exactly one valid spelling.
func parse(text string) (h Hash, ok bool) {
	n, err := hex.Decode(h[:], []byte(text[:min(len(text), 2*Bytes)]))
	return h, err == nil && n == Bytes && len(text) == 2*Bytes && text == strings.ToLower(text)
}
