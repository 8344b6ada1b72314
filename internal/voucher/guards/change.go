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
	Draw       Edit[Draw] // of the tickets, which there must be
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
	is.Tickets = c.tickets(is.Tickets)
	is.Challenge = c.Challenge.of(is.Challenge)
	is.CoolDown = c.CoolDown.of(is.CoolDown)
	is.Units = c.Units.of(is.Units)
	if is == (Settings{}) {
		return nil
	}
	return &is
}

// tickets returns the changed tickets: with the draw that they had, unless the change names another.
func (c Change) tickets(was *Tickets) *Tickets {
	is := c.Tickets.of(was)
	if is == nil {
		return nil
	}
	draw := is.Draw
	if was != nil {
		draw = was.Draw
	}
	if draw = c.Draw.of(draw); draw == is.Draw {
		return is
	}
	changed := *is
	changed.Draw = draw
	return &changed
}
