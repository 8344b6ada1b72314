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

// Names keeps the names and pictures of shops in memory: lists show many of few shops. It is safe for concurrent use.
type Names struct {
	read func(ctx context.Context, ids []int64) (map[int64]Face, error)
	now  func() time.Time

	mu      sync.Mutex
	known   map[int64]known
	changes int // calls of Forget
}

// known is a shop's face, and when its reading began.
type known struct {
	Face

	at time.Time
}

// NewNames returns Names that read shops' faces, in one query; those that are left out have neither name nor picture.
func NewNames(
	read func(ctx context.Context, ids []int64) (map[int64]Face, error), now func() time.Time,
) *Names {
	return &Names{read: read, now: now, known: make(map[int64]known)}
}

// Of returns the faces of shops, also of those without any. While they cannot be read it returns the last ones that
// were; shops that it does not know are left out, and it returns order.ErrUnavailable.
func (n *Names) Of(ctx context.Context, ids []int64) (map[int64]Face, error) {
	faces, old, changes := n.remembered(ids)
	if len(old) == 0 {
		return faces, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := n.now()
	read, err := n.read(ctx, old)
	if err != nil && slices.ContainsFunc(old, func(id int64) bool { _, has := faces[id]; return !has }) {
		return faces, err
	}
	if err != nil {
		return faces, nil
	}
	for _, id := range old {
		faces[id] = read[id]
	}
	n.keep(old, read, changes, began)
	return faces, nil
}

// remembered returns the faces of those shops that are in memory, and which are to be read: all that are not, or are
// old. changes is how many there have been so far.
func (n *Names) remembered(ids []int64) (faces map[int64]Face, old []int64, changes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	faces, now := make(map[int64]Face, len(ids)), n.now()
	for _, id := range ids {
		k, has := n.known[id]
		if has {
			faces[id] = k.Face
		}
		if !has || now.Sub(k.at) >= fresh {
			old = append(old, id)
		}
	}
	return faces, old, n.changes
}

// keep stores faces whose reading began after so many changes; not if there was another one, which they may lack. If
// there are too many, all others are forgotten: they are read again when they are asked for.
func (n *Names) keep(ids []int64, read map[int64]Face, changes int, began time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if changes != n.changes {
		return
	}
	for _, id := range ids {
		if _, has := n.known[id]; !has && len(n.known) >= mostKnown {
			clear(n.known)
		}
		n.known[id] = known{read[id], began}
	}
}

// Forget has a shop's face read again that was changed here.
func (n *Names) Forget(id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, id)
	n.changes++
}

// Known returns the names of shops. Those without a name are left out, and those that cannot be read now.
func (n *Names) Known(ctx context.Context, ids []int64) map[int64]string {
	faces, _ := n.Of(ctx, ids) // a list without names is still a list
	names := make(map[int64]string, len(faces))
	for id, face := range faces {
		if face.Name != "" {
			names[id] = face.Name
		}
	}
	return names
}
