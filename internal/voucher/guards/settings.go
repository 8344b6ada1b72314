package guards

import (
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"seckill/internal/kit/moment"
)

// Settings are the guards of a sale. A guard that is nil is off. They are stored as JSON, and never changed once they
// are shared: a [Change] makes new ones.
type Settings struct {
	Limits     *Limits     `json:"limits,omitempty"`
	Conditions *Conditions `json:"conditions,omitempty"`
	Tickets    *Tickets    `json:"tickets,omitempty"`
	Challenge  *Challenge  `json:"challenge,omitempty"`
	CoolDown   *CoolDown   `json:"coolDown,omitempty"`
	Units      *Units      `json:"units,omitempty"`
	// Unreadable: the stored text is not valid, because somebody has changed it by hand. The sale then goes on without
	// guards.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Text returns the settings in their stored form; "" for nil.
func (s *Settings) Text() string {
	if s == nil {
		return ""
	}
	text, _ := json.Marshal(s) //nolint:errchkjson // numbers and flags always have a JSON form
	return string(text)
}

// Parse reads the stored form from Text, also that of a later version, which may have more fields.
func Parse(text string) *Settings {
	if text == "" {
		return nil
	}
	var s Settings
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Check() != nil {
		return &Settings{Unreadable: true}
	}
	return &s
}

// Rate lets that many requests through in that many seconds in the long run, and as many at once.
type Rate struct {
	Requests int64 `json:"requests"`
	Seconds  int64 `json:"seconds"`
}

// Limits bound how often callers may ask for a unit of the sale. A nil rate is no limit.
type Limits struct {
	PerAddress *Rate `json:"perAddress,omitempty"` // an IPv4 address, or the 64 bits of IPv6 that one line has
	PerNetwork *Rate `json:"perNetwork,omitempty"` // a /24 of IPv4, a /48 of IPv6
	PerUser    *Rate `json:"perUser,omitempty"`
	DryRun     bool  `json:"dryRun,omitempty"`
}

// Conditions are the requirements on a buyer's account, checked by the claims of its token. 0 is no condition.
type Conditions struct {
	MinLevel   int64 `json:"minLevel,omitempty"`   // claim level
	MinAgeDays int64 `json:"minAgeDays,omitempty"` // since the time in the claim since
	DryRun     bool  `json:"dryRun,omitempty"`
}

// Tickets give every buyer a moment of their own, drawn from the first DelayMs milliseconds of the sale.
type Tickets struct {
	DelayMs       int64 `json:"delayMs"`
	LeadMinutes   int64 `json:"leadMinutes"`   // how long before the sale tickets are given out
	ExpiryMinutes int64 `json:"expiryMinutes"` // how long a ticket can be used from its moment on
	DryRun        bool  `json:"dryRun,omitempty"`
	// Draw: moments are drawn so that anybody can check it afterwards; nil: by the user's number. A change of tickets
	// leaves it as it is.
	Draw *Draw `json:"draw,omitempty"`
}

// Draw names what is known of a draw beforehand.
type Draw struct {
	CloseTime moment.Time `json:"closeTime"` // who asks for a ticket before then enters
	// Source publishes a value that nobody can foresee, and Round says which: the beacon. Without one, both are empty.
	Source string `json:"source,omitempty"`
	Round  string `json:"round,omitempty"`
}

// Equal reports whether two draws are announced in the same way; nil is none.
func (d *Draw) Equal(other *Draw) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.CloseTime.Equal(other.CloseTime.Time) && d.Source == other.Source && d.Round == other.Round
}

// Drawn returns the draw of the settings; nil if there is none.
func (s *Settings) Drawn() *Draw {
	if s == nil || s.Tickets == nil {
		return nil
	}
	return s.Tickets.Draw
}

// Undrawn returns the settings without a draw, for another sale.
func (s *Settings) Undrawn() *Settings {
	if s.Drawn() == nil {
		return s
	}
	other, tickets := *s, *s.Tickets
	tickets.Draw, other.Tickets = nil, &tickets
	return &other
}

// From returns the time from which tickets of a sale with that begin are given out.
func (t *Tickets) From(begin time.Time) time.Time {
	return begin.Add(-time.Duration(t.LeadMinutes) * time.Minute)
}

// Longest returns the longest delay of a buyer's moment.
func (t *Tickets) Longest() time.Duration { return time.Duration(t.DelayMs) * time.Millisecond }

// Challenge is the work that a ticket costs: how many tries a solver needs at most, half of them on average. A try
// takes scrypt with half a mebibyte: some ten milliseconds on a slow telephone.
type Challenge struct {
	Difficulty    int64 `json:"difficulty"`
	MaxDifficulty int64 `json:"maxDifficulty"` // for networks and accounts that ask for many tickets
	DryRun        bool  `json:"dryRun,omitempty"`
}

// CoolDownMemory is the longest cool-down. A user's count of expired orders begins anew if none has expired for that
// long.
const CoolDownMemory = 7 * 24 * time.Hour

// CoolDown makes users wait after Expired of their orders have expired unpaid. It counts the orders of all sales with a
// cool-down.
type CoolDown struct {
	Expired int64 `json:"expired"`
	Minutes int64 `json:"minutes"` // the wait, from the last expired order on
	DryRun  bool  `json:"dryRun,omitempty"`
}

// Units bound how many units of the sale go to one address and one network. 0 is no bound.
type Units struct {
	PerAddress int64 `json:"perAddress,omitempty"` // as in Limits
	PerNetwork int64 `json:"perNetwork,omitempty"`
	// Shared are addresses and networks, separated by commas, to which no bound applies: a campus, a carrier.
	Shared string `json:"shared,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// IsShared reports whether an address is in Shared.
func (u *Units) IsShared(a netip.Addr) bool {
	for entry := range strings.SplitSeq(u.Shared, ",") {
		if n, err := parseNetwork(entry); err == nil && n.Contains(a) {
			return true
		}
	}
	return false
}

// parseNetwork reads a network; a single address is a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Prefix(a.BitLen())
	}
	return netip.ParsePrefix(text)
}

// Name is the word for a guard in settings, figures, metrics and answers.
type Name string

// The guards, in the order in which they check a purchase. ChallengeGuard does not check purchases: a challenge is
// solved to get a ticket.
const (
	LimitsGuard     Name = "limits"
	ConditionsGuard Name = "conditions"
	CoolDownGuard   Name = "coolDown"
	TicketsGuard    Name = "tickets"
	UnitsGuard      Name = "units"
	ChallengeGuard  Name = "challenge"
)

// Names returns the names of all guards, in their order.
func Names() []Name {
	return []Name{LimitsGuard, ConditionsGuard, CoolDownGuard, TicketsGuard, UnitsGuard, ChallengeGuard}
}

// State is whether a guard is on.
type State string

// The states of a guard.
const (
	Off    State = "off"
	DryRun State = "dryRun"
	On     State = "on"
)

// State returns the state of a guard. With nil settings all guards are Off.
func (s *Settings) State(n Name) State {
	if s == nil {
		return Off
	}
	switch n {
	case LimitsGuard:
		return stateOf(s.Limits != nil, s.Limits.dryRun)
	case ConditionsGuard:
		return stateOf(s.Conditions != nil, s.Conditions.dryRun)
	case CoolDownGuard:
		return stateOf(s.CoolDown != nil, s.CoolDown.dryRun)
	case TicketsGuard:
		return stateOf(s.Tickets != nil, s.Tickets.dryRun)
	case UnitsGuard:
		return stateOf(s.Units != nil, s.Units.dryRun)
	case ChallengeGuard:
		return stateOf(s.Challenge != nil, s.Challenge.dryRun)
	default:
		return Off
	}
}

func stateOf(set bool, dryRun func() bool) State {
	switch {
	case !set:
		return Off
	case dryRun():
		return DryRun
	default:
		return On
	}
}

func (l *Limits) dryRun() bool     { return l.DryRun }
func (c *Conditions) dryRun() bool { return c.DryRun }
func (c *CoolDown) dryRun() bool   { return c.DryRun }
func (t *Tickets) dryRun() bool    { return t.DryRun }
func (u *Units) dryRun() bool      { return u.DryRun }
func (c *Challenge) dryRun() bool  { return c.DryRun }
