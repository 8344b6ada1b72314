package bulkhead

// Load is the current state of a class in a bulkhead.
type Load struct {
	Class   Class
	InUse   int
	Waiting int
	Most    int   // the permits it can have while the others use only their reserves
	Shed    int64 // refused since the start
}

// Loads returns the state of each class.
func (b *Bulkhead) Loads() []Load {
	b.mu.Lock()
	defer b.mu.Unlock()
	loads := make([]Load, len(b.users))
	for i, c := range b.users {
		s := &b.classes[c]
		loads[i] = Load{Class: c, InUse: s.held, Waiting: s.waiting.Len(), Most: s.reserve + s.limit, Shed: s.shed}
	}
	return loads
}

// Taken returns how many permits are taken, and how many exist.
func (b *Bulkhead) Taken() (taken, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.users {
		taken, size = taken+b.classes[c].held, size+b.classes[c].reserve
	}
	return taken, size + b.free
}

// Add adds the load of the same class in another bulkhead.
func (l *Load) Add(other Load) {
	l.InUse, l.Waiting, l.Most, l.Shed = l.InUse+other.InUse, l.Waiting+other.Waiting,
		l.Most+other.Most, l.Shed+other.Shed
}
