package guards

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func all() *Settings {
	return &Settings{
		Limits:     &Limits{PerAddress: &Rate{20, 10}, PerNetwork: &Rate{200, 10}, PerUser: &Rate{5, 10}},
		Conditions: &Conditions{MinLevel: 2, MinAgeDays: 7},
		Tickets:    &Tickets{DelayMs: 1500, LeadMinutes: 10, ExpiryMinutes: 30},
		Challenge:  &Challenge{Difficulty: 16, MaxDifficulty: 64},
		CoolDown:   &CoolDown{Expired: 2, Minutes: 30},
	}
}

func TestSettingsCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Settings)
		fields []string
	}{
		"all right": {func(*Settings) {}, nil},
		"no delay":  {func(s *Settings) { s.Tickets.DelayMs = 0 }, nil},
		"limits without any": {
			func(s *Settings) { s.Limits = &Limits{DryRun: true} }, []string{"guards.limits"},
		},
		"no request": {
			func(s *Settings) { s.Limits.PerUser.Requests = 0 }, []string{"guards.limits.perUser.requests"},
		},
		"no time": {
			func(s *Settings) { s.Limits.PerAddress.Seconds = -1 }, []string{"guards.limits.perAddress.seconds"},
		},
		"more than a day": {
			func(s *Settings) { s.Limits.PerNetwork.Seconds = MaxSeconds + 1 },
			[]string{"guards.limits.perNetwork.seconds"},
		},
		"conditions without any": {
			func(s *Settings) { s.Conditions = &Conditions{} }, []string{"guards.conditions"},
		},
		"a level below none": {
			func(s *Settings) { s.Conditions.MinLevel = -1 }, []string{"guards.conditions.minLevel"},
		},
		"an age of two centuries": {
			func(s *Settings) { s.Conditions.MinAgeDays = 73_000 }, []string{"guards.conditions.minAgeDays"},
		},
		"a delay of an hour": {
			func(s *Settings) { s.Tickets.DelayMs = 3_600_000 }, []string{"guards.tickets.delayMs"},
		},
		"tickets without a time": {
			func(s *Settings) { s.Tickets = &Tickets{} },
			[]string{"guards.tickets.leadMinutes", "guards.tickets.expiryMinutes"},
		},
		"a press without a ticket": {
			func(s *Settings) { s.Limits.PerUser.Requests = 2 }, []string{"guards.limits.perUser.requests"},
		},
		"a ticket and a press": {func(s *Settings) { s.Limits.PerUser.Requests, s.Challenge = 2, nil }, nil},
		"a challenge alone":    {func(s *Settings) { s.Tickets = nil }, []string{"guards.challenge"}},
		"a challenge upside down": {
			func(s *Settings) { s.Challenge.MaxDifficulty = 8 }, []string{"guards.challenge.maxDifficulty"},
		},
		"a challenge for a century": {
			func(s *Settings) { s.Challenge.MaxDifficulty = 1 << 50 }, []string{"guards.challenge.maxDifficulty"},
		},
		"cooling down at once": {func(s *Settings) { s.CoolDown.Expired = 0 }, []string{"guards.coolDown.expired"}},
		"cooling down for a month": {
			func(s *Settings) { s.CoolDown.Minutes = 43_200 }, []string{"guards.coolDown.minutes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := all()
			c.change(s)
			var fields []string
			for _, p := range s.Check() {
				fields = append(fields, p.Field)
				if p.Reason.Code == "" || p.Allowed.Code == "" {
					t.Errorf("%+v lacks words", p)
				}
			}
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
	if p := (*Settings)(nil).Check(); p != nil {
		t.Errorf("no guards: %v", p)
	}
}

func TestSettingsAreStoredWhole(t *testing.T) {
	t.Parallel()
	s := all()
	s.Limits.DryRun = true
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Settings
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*s, got); diff != "" {
		t.Errorf("stored and read (-want +got):\n%s", diff)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	two := &Settings{Conditions: &Conditions{MinLevel: 1}, CoolDown: &CoolDown{Expired: 2, Minutes: 30}}
	for name, c := range map[string]struct {
		was    *Settings
		change Change
		want   *Settings
	}{
		"nothing":            {two, Change{}, two},
		"nothing of nothing": {nil, Change{}, nil},
		"the first": {
			nil, Change{Conditions: Edit[Conditions]{true, two.Conditions}}, &Settings{Conditions: two.Conditions},
		},
		"one more": {
			&Settings{Conditions: two.Conditions}, Change{CoolDown: Edit[CoolDown]{true, two.CoolDown}}, two,
		},
		"another": {two, Change{Conditions: Edit[Conditions]{true, &Conditions{MinLevel: 9}}}, &Settings{
			Conditions: &Conditions{MinLevel: 9}, CoolDown: two.CoolDown,
		}},
		"one off": {
			two, Change{Conditions: Edit[Conditions]{Given: true}}, &Settings{CoolDown: two.CoolDown},
		},
		"the last off": {
			&Settings{Conditions: two.Conditions}, Change{Conditions: Edit[Conditions]{Given: true}}, nil,
		},
		"all off":               {two, Change{AllOff: true}, nil},
		"one off that is off":   {two, Change{Limits: Edit[Limits]{Given: true}}, two},
		"all off, without any ": {nil, Change{AllOff: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _ := json.Marshal(c.was)
			got := c.change.Apply(c.was)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(c.was); !bytes.Equal(before, after) {
				t.Errorf("the settings before were changed: %s to %s", before, after)
			}
		})
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	s := all()
	s.Limits.DryRun, s.Challenge, s.Tickets.DryRun = true, nil, true
	want := map[Name]State{
		LimitsGuard: DryRun, ConditionsGuard: On, CoolDownGuard: On, TicketsGuard: DryRun,
		ChallengeGuard: Off, "else": Off,
	}
	for n, state := range want {
		if got := s.State(n); got != state {
			t.Errorf("%s is %s, want %s", n, got, state)
		}
		if got := (*Settings)(nil).State(n); got != Off {
			t.Errorf("%s is %s without settings", n, got)
		}
	}
}
