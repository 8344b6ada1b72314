// Package drawtest has published draws: one in which nothing is wrong, and many that were tampered with.
package drawtest

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/kit/moment"
)

// Own is an entry of the fair list.
const Own = "5-2-0000000000000003"

// Where a tampered list is wrong, if that is not a line of it.
const (
	Whole = 0  // the draw as a whole
	Saved = -1 // it is found only with an earlier answer
)

// Tampered is a list with which somebody has tampered.
type Tampered struct {
	Line   int // from 1, or Whole, or Saved
	Tamper func(l *draw.List)
}

// List returns the list.
func (t Tampered) List() *draw.List {
	l := Fair()
	t.Tamper(l)
	return l
}

// Lists returns lists that were tampered with, each in another way.
func Lists() map[string]Tampered {
	return map[string]Tampered{
		"another key":              {Whole, func(l *draw.List) { l.Key = strings.Repeat("ab", 32) }},
		"no key":                   {Whole, func(l *draw.List) { l.Key = "" }},
		"a key cut short":          {Whole, func(l *draw.List) { l.Key = l.Key[:62] }},
		"a key in capitals":        {Whole, func(l *draw.List) { l.Key = strings.ToUpper("ab" + l.Key[2:]) }},
		"another hash of the key":  {Whole, func(l *draw.List) { l.KeyHash = draw.Hash{1}.String() }},
		"another key and its hash": {Saved, func(l *draw.List) { rekeyed(l, [draw.Bytes]byte{8}) }},
		"another beacon":           {1, func(l *draw.List) { l.Beacon = "c0ffef" }},
		"another beacon, moments":  {Saved, func(l *draw.List) { l.Beacon = "c0ffef"; moved(l) }},
		"no beacon":                {Whole, func(l *draw.List) { l.Beacon = ""; moved(l) }},
		"a beacon that nobody named": {Whole, func(l *draw.List) {
			l.Source, l.Round, l.Proof = "", "", draw.Committed
		}},
		"a beacon before the list": {Whole, func(l *draw.List) { l.BeaconTime = new(at(-11 * time.Minute)) }},
		"a beacon after the begin": {Whole, func(l *draw.List) { l.BeaconTime = new(at(time.Second)) }},
		"a beacon without a time":  {Whole, func(l *draw.List) { l.BeaconTime = nil }},
		"another source":           {Saved, func(l *draw.List) { l.Source = "a friend" }},
		"another round":            {Saved, func(l *draw.List) { l.Round = "4712" }},
		"checkable without a beacon": {Whole, func(l *draw.List) {
			l.Source, l.Round, l.Beacon, l.BeaconTime = "", "", "", nil
			moved(l)
		}},
		"another begin":          {1, func(l *draw.List) { l.BeginTime = at(time.Second) }},
		"another begin, moments": {Saved, func(l *draw.List) { l.BeginTime = at(time.Second); moved(l) }},
		"another delay":          {1, func(l *draw.List) { l.DelayMs = 30_000 }},
		"another delay, moments": {Saved, func(l *draw.List) { l.DelayMs = 15_000; moved(l) }},
		"closed late":            {Saved, func(l *draw.List) { l.CloseTime = at(-20 * time.Minute) }},
		"closed early":           {Whole, func(l *draw.List) { l.ClosedTime = new(at(-11 * time.Minute)) }},
		"never closed":           {Whole, func(l *draw.List) { l.ClosedTime = nil }},
		"closed after the begin": {Whole, func(l *draw.List) { l.CloseTime = at(time.Second) }},
		"made after it closed":   {Whole, func(l *draw.List) { l.CreateTime = at(-time.Minute) }},
		"a line removed":         {Whole, func(l *draw.List) { l.Entrants = slices.Delete(l.Entrants, 3, 4) }},
		"a line removed, rooted": {Saved, func(l *draw.List) {
			l.Entrants = slices.Delete(l.Entrants, 3, 4)
			rooted(l)
		}},
		"a line added":         {Whole, func(l *draw.List) { added(l, 77) }},
		"a line added, rooted": {Saved, func(l *draw.List) { added(l, 77); rooted(l) }},
		"a line replaced":      {5, func(l *draw.List) { l.Entrants[4].Hash = l.Entrants[4].Hash[:63] + "0" }},
		"a line twice":         {4, func(l *draw.List) { l.Entrants[3] = l.Entrants[2] }},
		"two lines exchanged": {3, func(l *draw.List) {
			l.Entrants[1], l.Entrants[2] = l.Entrants[2], l.Entrants[1]
		}},
		"two hashes exchanged": {2, func(l *draw.List) {
			l.Entrants[0].Hash, l.Entrants[1].Hash = l.Entrants[1].Hash, l.Entrants[0].Hash
		}},
		"a line that is no hash":  {7, func(l *draw.List) { l.Entrants[6].Hash = "x" }},
		"a hash in capitals":      {7, func(l *draw.List) { l.Entrants[6].Hash = strings.ToUpper(l.Entrants[6].Hash) }},
		"another number of lines": {Whole, func(l *draw.List) { n := int64(8); l.Entries = &n }},
		"another root":            {Whole, func(l *draw.List) { l.Root = draw.Hash{1}.String() }},
		"an earlier moment":       {2, func(l *draw.List) { l.Entrants[1].MomentTime = at(0) }},
		"a later moment":          {9, func(l *draw.List) { l.Entrants[8].MomentTime = at(19 * time.Second) }},
		"two moments exchanged": {1, func(l *draw.List) {
			e := l.Entrants
			e[0].MomentTime, e[1].MomentTime = e[1].MomentTime, e[0].MomentTime
		}},
		"bought before the moment": {1, func(l *draw.List) {
			l.Entrants[0].DecideTime = new(moment.Of(l.Entrants[0].MomentTime.Add(-1001 * time.Millisecond)))
		}},
		"bought at no time":        {3, func(l *draw.List) { l.Entrants[2].DecideTime = nil }},
		"nothing bought at a time": {1, func(l *draw.List) { l.Entrants[0].Outcome = draw.None }},
		"an unknown outcome":       {6, func(l *draw.List) { l.Entrants[5].Outcome = "gone" }},
		"strangers first":          {Whole, func(l *draw.List) { l.FirstOther = new(at(18 * time.Second)) }},
		"strangers hidden":         {Whole, func(l *draw.List) { l.OtherOrders = nil }},
		"strangers without a time": {Whole, func(l *draw.List) { l.FirstOther = nil }},
		"another voucher":          {Saved, func(l *draw.List) { l.VoucherID = 6 }},
		"another draw":             {Saved, func(l *draw.List) { l.Number = 3 }},
		"a draw that is void":      {Whole, func(l *draw.List) { l.VoidTime = new(at(0)) }},
		"a sale that runs":         {Whole, func(l *draw.List) { l.State = draw.Drawn }},
	}
}

// CalledOff returns lists of sales that were called off before their draw was closed, or had its beacon. Nothing is
// wrong with them, as nobody bought.
func CalledOff() map[string]*draw.List {
	lists := map[string]*draw.List{}
	for name, off := range map[string]func(l *draw.List){
		"no beacon": func(l *draw.List) { l.Beacon, l.BeaconTime = "", nil },
		"not closed": func(l *draw.List) {
			l.Beacon, l.BeaconTime, l.ClosedTime, l.Root, l.Entries = "", nil, nil, "", nil
		},
		"not closed, without a beacon": func(l *draw.List) {
			l.Source, l.Round, l.Proof = "", "", draw.Committed
			l.Beacon, l.BeaconTime, l.ClosedTime, l.Root, l.Entries = "", nil, nil, "", nil
		},
	} {
		l := Fair()
		off(l)
		l.OtherOrders, l.FirstOther = new(int64(0)), nil
		for i := range l.Entrants {
			l.Entrants[i].Outcome, l.Entrants[i].DecideTime = draw.None, nil
		}
		moved(l)
		lists[name] = l
	}
	return lists
}

// Bought returns a list of CalledOff in which somebody bought all the same, or may have, in each way.
func Bought(l *draw.List) map[string]*draw.List {
	lists := map[string]*draw.List{}
	for name, buys := range map[string]func(l *draw.List){
		"an entrant": func(l *draw.List) {
			l.Entrants[3].Outcome, l.Entrants[3].DecideTime = draw.Failed, new(l.Entrants[3].MomentTime)
		},
		"a stranger":   func(l *draw.List) { l.OtherOrders, l.FirstOther = new(int64(1)), new(at(20*time.Second)) },
		"it is hidden": func(l *draw.List) { l.OtherOrders, l.FirstOther = nil, nil },
	} {
		bought := *l
		bought.Entrants = slices.Clone(l.Entrants)
		buys(&bought)
		lists[name] = &bought
	}
	return lists
}

// begin is the start of the list's sale.
func begin() time.Time { return time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC) }

func at(d time.Duration) moment.Time { return moment.Of(begin().Add(d)) }

// Fair returns a list in which nothing is wrong: every second of nine entrants has bought.
func Fair() *draw.List {
	key, n, others := [draw.Bytes]byte{7}, int64(9), int64(2)
	l := &draw.List{
		VoucherID: 5, State: draw.Over, Proof: draw.Checkable,
		Commitment: draw.Commitment{
			Number: 2, KeyHash: draw.KeyHash(key).String(), BeginTime: at(0), DelayMs: 20_000,
			CloseTime: at(-10 * time.Minute), Source: "drand", Round: "4711", CreateTime: at(-time.Hour),
		},
		ClosedTime: new(at(-9 * time.Minute)), Entries: &n, Beacon: "c0ffee", BeaconTime: new(at(-time.Minute)),
		Key: hex.EncodeToString(key[:]), OtherOrders: &others, FirstOther: new(at(20 * time.Second)),
		Earlier: []draw.Commitment{{Number: 1, VoidTime: new(at(-time.Hour)), VoidReason: "changed"}},
	}
	var hashes []draw.Hash
	for entry := range n {
		hashes = append(hashes, draw.EntryHash(draw.EntryText(5, 2, entry)))
	}
	slices.SortFunc(hashes, func(a, b draw.Hash) int { return strings.Compare(a.String(), b.String()) })
	m, root := draw.NewMoments(key, l.Beacon, begin(), l.DelayMs), draw.NewRoot()
	for i, h := range hashes {
		root.Add(h)
		e := draw.Entrant{Hash: h.String(), MomentTime: moment.Of(m.Of(h)), Outcome: draw.None}
		if i%2 == 0 {
			e.Outcome, e.DecideTime = draw.Bought, new(moment.Of(m.Of(h).Add(30*time.Millisecond)))
		}
		l.Entrants = append(l.Entrants, e)
	}
	l.Root = root.Sum().String()
	return l
}

// rooted replaces the root by that of the list as it is now, as a shop could that nobody has watched.
func rooted(l *draw.List) {
	root, n := draw.NewRoot(), int64(len(l.Entrants))
	for _, e := range l.Entrants {
		h, _ := hex.DecodeString(e.Hash)
		root.Add(draw.Hash(h))
	}
	l.Root, l.Entries = root.Sum().String(), &n
}

// moved computes all moments anew.
func moved(l *draw.List) {
	key, _ := hex.DecodeString(l.Key)
	m := draw.NewMoments([draw.Bytes]byte(key), l.Beacon, l.BeginTime.Time, l.DelayMs)
	for i, e := range l.Entrants {
		h, _ := hex.DecodeString(e.Hash)
		l.Entrants[i].MomentTime = moment.Of(m.Of(draw.Hash(h)))
		if e.DecideTime != nil {
			l.Entrants[i].DecideTime = new(l.Entrants[i].MomentTime)
		}
	}
}

func rekeyed(l *draw.List, key [draw.Bytes]byte) {
	l.Key, l.KeyHash = hex.EncodeToString(key[:]), draw.KeyHash(key).String()
	moved(l)
}

func added(l *draw.List, entry int64) {
	h := draw.EntryHash(draw.EntryText(5, 2, entry))
	l.Entrants = append(l.Entrants, draw.Entrant{Hash: h.String(), Outcome: draw.None})
	slices.SortFunc(l.Entrants, func(a, b draw.Entrant) int { return strings.Compare(a.Hash, b.Hash) })
	moved(l)
}
