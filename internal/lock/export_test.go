package lock

// Left returns how many calls of a Locker go on though nobody waits for them, and how many there may be.
func Left(l *Locker) (n, most int) { return int(l.left.Load()), mostLeft }

// Unsent returns how many calls of the locker wait to be sent together.
func Unsent(l *Locker) int { return l.sends.Waiting() }

// OneServer makes a Redlock of one server's locks: what servers say of themselves is not asked.
func OneServer(l *Lock) *Lock {
	for _, m := range l.group.members {
		m.elected = false
	}
	return l
}
