package shops

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limits of the names in memory.
const (
	fresh     = 10 * time.Second // for which a name is not read again
	mostKnown = 10_000
	patience  = time.Second // for a query
)

// Names keeps the names of shops in memory: lists show many of few shops. It is safe for concurrent use.
type Names struct {
	read func(ctx context.Context, ids []int64) (map[int64]string, error)
	now  func() time.Time

	mu    sync.Mutex
	known map[int64]known
}

// known is a name, "" for none, and when it was read.
type known struct {
	name string
	at   time.Time
}

// NewNames returns Names that read shops' names, in one query; those that are left out have none.
func NewNames(
	read func(ctx context.Context, ids []int64) (map[int64]string, error), now func() time.Time,
) *Names {
	return &Names{read: read, now: now, known: make(map[int64]known)}
}

// Of returns the names of shops, "" for those without one. While they cannot be read it returns the last ones that
// were; names that it does not know are left out, and it returns order.ErrUnavailable.
func (n *Names) Of(ctx context.Context, ids []int64) (map[int64]string, error) {
	names, old := n.remembered(ids)
	if len(old) == 0 {
		return names, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	read, err := n.read(ctx, old)
	if err != nil && slices.ContainsFunc(old, func(id int64) bool { _, has := names[id]; return !has }) {
		return names, err
	}
	if err != nil {
		return names, nil
	}
	for _, id := range old {
		names[id] = read[id]
		n.Put(id, read[id])
	}
	return names, nil
}

// remembered returns the names of those shops that are in memory, and which are to be read: all that are not, or are
// old.
func (n *Names) remembered(ids []int64) (names map[int64]string, old []int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	names, now := make(map[int64]string, len(ids)), n.now()
	for _, id := range ids {
		k, has := n.known[id]
		if has {
			names[id] = k.name
		}
		if !has || now.Sub(k.at) >= fresh {
			old = append(old, id)
		}
	}
	return names, old
}

// Put stores a name. If there are too many, all others are forgotten: they are read again when they are asked for.
func (n *Names) Put(id int64, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, has := n.known[id]; !has && len(n.known) >= mostKnown {
		clear(n.known)
	}
	n.known[id] = known{name, n.now()}
}

// Known returns the names of shops. Those without a name are left out, and those that cannot be read now.
func (n *Names) Known(ctx context.Context, ids []int64) map[int64]string {
	names, _ := n.Of(ctx, ids) // a list without names is still a list
	for id, name := range names {
		if name == "" {
			delete(names, id)
		}
	}
	return names
}
