package guards

// Change is an admin's change of the guards of a sale. Guards that it does not name stay as they are.
type Change struct {
	AllOff     bool // turns off all guards; the other fields are then ignored
	Limits     Edit[Limits]
	Conditions Edit[Conditions]
	Tickets    Edit[Tickets]
	Challenge  Edit[Challenge]
	CoolDown   Edit[CoolDown]
	Units      Edit[Units]
}

// Edit replaces the settings of one guard. The zero Edit leaves them as they are.
type Edit[T any] struct {
	Given bool
	To    *T // nil: off
}

func (e Edit[T]) of(was *T) *T {
	if e.Given {
		return e.To
	}
	return was
}

// Apply returns the changed settings, which it does not check, or nil if they have no guard.
func (c Change) Apply(s *Settings) *Settings {
	if c.AllOff {
		return nil
	}
	var is Settings
	if s != nil {
		is = *s
		is.Unreadable = false
	}
	is.Limits = c.Limits.of(is.Limits)
	is.Conditions = c.Conditions.of(is.Conditions)
	is.Tickets = c.Tickets.of(is.Tickets)
	is.Challenge = c.Challenge.of(is.Challenge)
	is.CoolDown = c.CoolDown.of(is.CoolDown)
	is.Units = c.Units.of(is.Units)
	if is == (Settings{}) {
		return nil
	}
	return &is
}
