package lock

import (
	"context"
	"time"

	"seckill/internal/lock/internal/member"
)

// Member shows package group more of the lock. Nobody else has a pass.
func (l *Lock) Member(member.Pass) member.Lock[*Lock, *Hold, Client] { return asMember{l} }

// asMember is a lock's member.Lock.
type asMember struct{ lock *Lock }

// As is a member.Lock's.
func (m asMember) As(owner string) *Lock {
	if m.lock.kind.owned {
		return m.lock
	}
	as := *m.lock
	as.owner = Owner(owner)
	return &as
}

// Matches is a member.Lock's.
func (m asMember) Matches(other *Lock) bool {
	return m.lock.name == other.name && m.lock.kind.name == other.kind.name &&
		m.lock.settings == other.settings && m.lock.owner == other.owner
}

// Place is a member.Lock's.
func (m asMember) Place() (client Client, key string) { return m.lock.locker.client, m.lock.key }

// Server is a member.Lock's.
func (m asMember) Server(ctx context.Context) (Client, error) {
	return serverOf(ctx, m.lock.locker.client, m.lock.key)
}

// Lease is a member.Lock's.
func (m asMember) Lease() time.Duration { return m.lock.settings.lease }

// Mark is a member.Lock's.
func (m asMember) Mark(parent context.Context, h *Hold) context.Context { return h.mark(parent) }

// GiveUp is a member.Lock's.
func (m asMember) GiveUp(h *Hold, err error) { h.end(err, true) }

// RaiseToken is a member.Lock's.
func (m asMember) RaiseToken(ctx context.Context, h *Hold, token int64) error {
	if h.token >= token {
		return nil
	}
	held, err := h.lock.ask(ctx, h.lock.callRaise(h.claim, token)).Int()
	if err == nil && held == 1 {
		h.token = token
		h.lock.locker.sawToken(token)
		return nil
	}
	if err == nil {
		err = errTooLate // its lease is over, or it was taken away
	}
	h.end(err, true)
	go h.lock.abandon(ctx, h.claim)
	return h.lock.wrap("raise token", err)
}
