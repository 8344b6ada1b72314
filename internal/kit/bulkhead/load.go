package bulkhead

// Load is what a class has of a bulkhead now.
type Load struct {
	Class   Class
	InUse   int
	Waiting int
	Most    int   // what it can have while the others take nothing of the rest
	Shed    int64 // refused since the start
}

// Loads returns what each class has.
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

// Taken returns how many permits are taken, and how many there are.
func (b *Bulkhead) Taken() (taken, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.users {
		taken, size = taken+b.classes[c].held, size+b.classes[c].reserve
	}
	return taken, size + b.free
}

// Add adds what the same class has of another bulkhead.
func (l *Load) Add(other Load) {
	l.InUse, l.Waiting, l.Most, l.Shed = l.InUse+other.InUse, l.Waiting+other.Waiting,
		l.Most+other.Most, l.Shed+other.Shed
}
