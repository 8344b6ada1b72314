package guard

import (
	"fmt"

	"seckill/internal/invalid"
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
	MinDifficulty    = 2
	MaxDifficulty    = 64 // less than a second on a slow telephone that does nothing else (docs/guards.md)
	MaxExpired       = 100
	MaxCoolDown      = 7 * 24 * 60 // minutes
)

// Check returns everything that is wrong with the settings, with the fields' names as in requests.
func (s *Settings) Check() []invalid.Problem {
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
	if t := s.Tickets; t != nil {
		c.number("guards.tickets.delayMs", t.DelayMs, 0, MaxDelayMs)
		c.number("guards.tickets.leadMinutes", t.LeadMinutes, 1, MaxLeadMinutes)
		c.number("guards.tickets.expiryMinutes", t.ExpiryMinutes, 1, MaxExpiryMinutes)
	}
	if s.Challenge != nil {
		c.challenge(s)
	}
	if s.Limits != nil && s.Tickets != nil {
		c.enoughForTickets(s)
	}
	if d := s.CoolDown; d != nil {
		c.number("guards.coolDown.expired", d.Expired, 1, MaxExpired)
		c.number("guards.coolDown.minutes", d.Minutes, 1, MaxCoolDown)
	}
	return c.problems
}

// checks collects what is wrong with settings.
type checks struct{ problems []invalid.Problem }

func (c *checks) bad(field, reason, allowed string) {
	c.problems = append(c.problems, invalid.Problem{Field: field, Reason: reason, Allowed: allowed})
}

func (c *checks) number(field string, n, least, most int64) {
	if n < least || n > most {
		c.bad(field, fmt.Sprintf("is %d", n), fmt.Sprintf("a whole number from %d to %d", least, most))
	}
}

func (c *checks) limits(l *Limits) {
	if l.PerAddress == nil && l.PerNetwork == nil && l.PerUser == nil {
		c.bad("guards.limits", "bounds nothing", "at least one of perAddress, perNetwork, perUser; or null, which turns the limits off")
	}
	for _, r := range []struct {
		field string
		rate  *Rate
	}{{"perAddress", l.PerAddress}, {"perNetwork", l.PerNetwork}, {"perUser", l.PerUser}} {
		if r.rate != nil {
			c.number("guards.limits."+r.field+".requests", r.rate.Requests, 1, MaxRequests)
			c.number("guards.limits."+r.field+".seconds", r.rate.Seconds, 1, MaxSeconds)
		}
	}
}

func (c *checks) conditions(d *Conditions) {
	c.number("guards.conditions.minLevel", d.MinLevel, 0, MaxLevel)
	c.number("guards.conditions.minAgeDays", d.MinAgeDays, 0, MaxAgeDays)
	if d.MinLevel == 0 && d.MinAgeDays == 0 {
		c.bad("guards.conditions", "asks for nothing", "minLevel or minAgeDays above 0; or null, which turns the conditions off")
	}
}

func (c *checks) challenge(s *Settings) {
	c.number("guards.challenge.difficulty", s.Challenge.Difficulty, MinDifficulty, MaxDifficulty)
	c.number("guards.challenge.maxDifficulty", s.Challenge.MaxDifficulty, MinDifficulty, MaxDifficulty)
	if s.Challenge.MaxDifficulty < s.Challenge.Difficulty {
		c.bad("guards.challenge.maxDifficulty", "is below difficulty", "difficulty or more")
	}
	if s.Tickets == nil {
		c.bad("guards.challenge", "is set without tickets", "together with guards.tickets: a challenge is solved for a ticket")
	}
}

// enoughForTickets: a buyer asks for a ticket before they buy, and once more with a solution where there is a challenge.
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
			c.bad("guards.limits."+r.field+".requests", fmt.Sprintf("is %d, and a buyer needs %d requests with tickets", r.rate.Requests, least),
				fmt.Sprintf("%d or more while guards.tickets is on", least))
		}
	}
}
