package draw

import (
	"slices"

	"seckill/internal/kit/moment"
)

// The states of a draw.
const (
	Open   = "open"   // who asks for a ticket enters
	Closed = "closed" // nobody enters any more, and the root or the beacon is missing
	Drawn  = "drawn"  // all moments are decided
	Over   = "over"   // the sale is over: key and list are public
	Void   = "void"   // it counts no more, and the sale begins for nobody
)

// What a draw proves.
const (
	Committed = "committed" // the key was fixed beforehand, but whoever chose it knew the order
	Checkable = "checkable" // a beacon was added, so nobody could choose the order
)

// The outcomes of an entry.
const (
	Bought = "order"  // an order was recorded
	Failed = "failed" // an order was accepted, and could not be recorded
	None   = "none"   // the entrant did not buy
)

// Commitment is what is public of a draw from its beginning.
type Commitment struct {
	Number     int64       `json:"drawNumber"`
	KeyHash    string      `json:"keyHash"`
	BeginTime  moment.Time `json:"beginTime"`
	DelayMs    int64       `json:"delayMs"`
	CloseTime  moment.Time `json:"closeTime"`
	Source     string      `json:"source,omitempty"`
	Round      string      `json:"round,omitempty"`
	CreateTime moment.Time `json:"createTime"`
	// The draw counts no more since VoidTime, and VoidReason says why: changed, off, restored.
	VoidTime   *moment.Time `json:"voidTime,omitempty"`
	VoidReason string       `json:"voidReason,omitempty"`
}

// List is a draw as it is published, one page of its entries at a time.
type List struct {
	VoucherID int64  `json:"voucherId"`
	State     string `json:"state"`
	Proof     string `json:"proof"` // Committed or Checkable
	Commitment
	ClosedTime *moment.Time `json:"closedTime,omitempty"`
	Entries    *int64       `json:"entries,omitempty"` // with the root
	Root       string       `json:"root,omitempty"`
	Beacon     string       `json:"beacon,omitempty"`
	BeaconTime *moment.Time `json:"beaconTime,omitempty"`
	Key        string       `json:"drawKey,omitempty"` // once the sale is over, like all that follows
	// Orders of users without an entry, and when the first of them was recorded.
	OtherOrders *int64       `json:"otherOrders,omitempty"`
	FirstOther  *moment.Time `json:"firstOtherTime,omitempty"`
	Entrants    []Entrant    `json:"entrants,omitempty"` // sorted by hash
	Earlier     []Commitment `json:"earlier,omitempty"`  // draws of the sale that this one has replaced
}

// Decided reports whether the moments were ever decided: the draw was closed, and has its beacon if one was named.
func (l *List) Decided() bool { return l.Root != "" && (l.Source == "" || l.Beacon != "") }

// sold reports whether anybody had an order, or whether that is not said.
func (l *List) sold() bool {
	return l.OtherOrders == nil || *l.OtherOrders > 0 ||
		slices.ContainsFunc(l.Entrants, func(e Entrant) bool { return e.Outcome != None })
}

// Sooner returns how many entrants had an earlier moment than this one, and how many of those have an order.
func (l *List) Sooner(than Entrant) (entrants, bought int) {
	for _, e := range l.Entrants {
		if !e.MomentTime.Before(than.MomentTime.Time) {
			continue
		}
		entrants++
		if e.Outcome == Bought {
			bought++
		}
	}
	return entrants, bought
}

// Entrant is what became of an entry.
type Entrant struct {
	Hash       string       `json:"hash"`
	MomentTime moment.Time  `json:"momentTime"`
	Outcome    string       `json:"outcome"`
	DecideTime *moment.Time `json:"decideTime,omitempty"` // when the first order was recorded
}
