package guards

import (
	"strings"

	"seckill/internal/kit/invalid"
)

// Bounds of the settings.
const (
	MaxRequests      = 1_000_000
	MaxSeconds       = 24 * 60 * 60
	MaxLevel         = 1_000_000
	MaxAgeDays       = 36_500
	MaxDelayMs       = 10 * 60 * 1000
	MaxLeadMinutes   = 24 * 60
	MaxExpiryMinutes = 24 * 60
	MinDifficulty    = 2  // tries that a challenge may take at most
	MaxDifficulty    = 64 // less than a second on a slow telephone that does nothing else (docs/guards.md)
	MaxExpired       = 100
	MaxCoolDown      = 7 * 24 * 60 // minutes
	MaxShare         = 100_000     // units of an address or a network
	MaxShared        = 1000        // characters
	MaxSource        = 128         // characters
	MaxRound         = 64          // characters
)

// Check returns all problems of the settings, with the fields' names as in requests.
func (s *Settings) Check() invalid.Problems {
	if s == nil {
		return nil
	}
	var c checks
	if s.Limits != nil {
		c.limits(s.Limits)
	}
	if s.Conditions != nil {
		c.conditions(s.Conditions)
	}
	if s.Tickets != nil {
		c.tickets(s.Tickets)
	}
	if s.Challenge != nil {
		c.challenge(s)
	}
	if s.Limits != nil && s.Tickets != nil {
		c.enoughForTickets(s)
	}
	if d := s.CoolDown; d != nil {
		c.Number("guards.coolDown.expired", d.Expired, 1, MaxExpired)
		c.Number("guards.coolDown.minutes", d.Minutes, 1, MaxCoolDown)
	}
	if s.Units != nil {
		c.units(s.Units)
	}
	return c.Problems
}

func (c *checks) tickets(t *Tickets) {
	c.Number("guards.tickets.delayMs", t.DelayMs, 0, MaxDelayMs)
	c.Number("guards.tickets.leadMinutes", t.LeadMinutes, 1, MaxLeadMinutes)
	c.Number("guards.tickets.expiryMinutes", t.ExpiryMinutes, 1, MaxExpiryMinutes)
	if t.Draw == nil {
		return
	}
	if t.DryRun {
		c.Bad("guards.tickets.dryRun", dryDraw, invalid.Omit, nil)
	}
	c.Line("source", t.Draw.Source, 0, MaxSource)
	c.Line("round", t.Draw.Round, 0, MaxRound)
	if set, other := "source", "round"; (t.Draw.Source == "") != (t.Draw.Round == "") {
		if t.Draw.Source == "" {
			set, other = other, set
		}
		c.Bad(set, withoutOther, togetherWithOther, invalid.Data{"other": other})
	}
}

// checks collects the problems of settings.
type checks struct{ invalid.Problems }

func (c *checks) limits(l *Limits) {
	if l.PerAddress == nil && l.PerNetwork == nil && l.PerUser == nil {
		c.Bad("guards.limits", nothingSet, someOf,
			invalid.Data{"values": []string{"perAddress", "perNetwork", "perUser"}})
	}
	for _, r := range []struct {
		field string
		rate  *Rate
	}{{"perAddress", l.PerAddress}, {"perNetwork", l.PerNetwork}, {"perUser", l.PerUser}} {
		if r.rate != nil {
			c.Number("guards.limits."+r.field+".requests", r.rate.Requests, 1, MaxRequests)
			c.Number("guards.limits."+r.field+".seconds", r.rate.Seconds, 1, MaxSeconds)
		}
	}
}

func (c *checks) conditions(d *Conditions) {
	c.Number("guards.conditions.minLevel", d.MinLevel, 0, MaxLevel)
	c.Number("guards.conditions.minAgeDays", d.MinAgeDays, 0, MaxAgeDays)
	if d.MinLevel == 0 && d.MinAgeDays == 0 {
		c.Bad("guards.conditions", nothingSet, someOf,
			invalid.Data{"values": []string{"minLevel", "minAgeDays"}})
	}
}

func (c *checks) challenge(s *Settings) {
	c.Number("guards.challenge.difficulty", s.Challenge.Difficulty, MinDifficulty, MaxDifficulty)
	c.Number("guards.challenge.maxDifficulty", s.Challenge.MaxDifficulty, MinDifficulty, MaxDifficulty)
	if s.Challenge.MaxDifficulty < s.Challenge.Difficulty {
		c.Bad("guards.challenge.maxDifficulty", belowOther, atLeastOther,
			invalid.Data{"other": "guards.challenge.difficulty"})
	}
	if s.Tickets == nil {
		c.Bad("guards.challenge", withoutOther, togetherWith, invalid.Data{"other": "guards.tickets"})
	}
}

func (c *checks) units(u *Units) {
	c.Number("guards.units.perAddress", u.PerAddress, 0, MaxShare)
	c.Number("guards.units.perNetwork", u.PerNetwork, 0, MaxShare)
	if u.PerAddress == 0 && u.PerNetwork == 0 {
		c.Bad("guards.units", nothingSet, someOf,
			invalid.Data{"values": []string{"perAddress", "perNetwork"}})
	}
	c.Text("guards.units.shared", u.Shared, 0, MaxShared)
	if u.Shared == "" {
		return
	}
	for entry := range strings.SplitSeq(u.Shared, ",") {
		if _, err := parseNetwork(entry); err != nil {
			c.Bad("guards.units.shared", invalid.Entry, networksText, invalid.Data{"value": invalid.Clip(entry)})
			return
		}
	}
}

// enoughForTickets checks that the limits allow the requests of one purchase: for a ticket, with a solution if there is
// a challenge, and the purchase itself.
func (c *checks) enoughForTickets(s *Settings) {
	least := int64(2)
	if s.Challenge != nil {
		least = 3
	}
	for _, r := range []struct {
		field string
		rate  *Rate
	}{{"perAddress", s.Limits.PerAddress}, {"perNetwork", s.Limits.PerNetwork}, {"perUser", s.Limits.PerUser}} {
		if r.rate != nil && r.rate.Requests > 0 && r.rate.Requests < least {
			c.Bad("guards.limits."+r.field+".requests", tooFewRequests, atLeast,
				invalid.Data{"value": r.rate.Requests, "min": least, "other": "guards.tickets"})
		}
	}
}
