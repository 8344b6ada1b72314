package group

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// replicaTime is how long replicas have at most to say that they have a lock.
const replicaTime = time.Second

// server is who gave a member of a Redlock: the members must be of different ones that have not forgotten.
type server struct {
	id     string // "" when it does not say
	uptime time.Duration
}

// tryMember takes a member, if it is free.
func (l *Lock) tryMember(ctx context.Context, number int, owner lock.Owner) (*part, error) {
	return l.observed(ctx, number, owner, (*lock.Lock).TryLock)
}

// observed takes a member in one of its ways, and finds out what else has to be known: how many replicas have it, and
// which server gave it. What cannot be kept it releases.
func (l *Lock) observed(
	ctx context.Context, number int, owner lock.Owner, take func(*lock.Lock, context.Context) (*lock.Hold, error),
) (*part, error) {
	m := l.members[number]
	h, err := take(m.As(owner), ctx)
	if err != nil {
		return nil, err
	}
	p := &part{Hold: h, member: number}
	if l.replicas > 0 {
		err = ask(ctx, func(ctx context.Context) error { return l.copied(ctx, m) })
	}
	if err == nil && l.asks {
		err = ask(ctx, func(ctx context.Context) (err error) {
			p.server, err = l.serverID(ctx, m)
			return err
		})
	}
	if err != nil {
		l.giveBack(ctx, []*part{p})
		return nil, err
	}
	return p, nil
}

// askTime is how long a server has to say what has to be known of it. It is asked twice, as the connection may say
// nothing.
const askTime = 1500 * time.Millisecond

// ask asks something of a server, and returns when ctx is over.
func ask(ctx context.Context, do func(ctx context.Context) error) error {
	answered := make(chan error, 1)
	go func() {
		var err error
		for range 2 {
			own, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
			err = do(own)
			silent := own.Err() != nil
			cancel()
			if !silent {
				break
			}
			err = fmt.Errorf("%w: %s", lock.ErrNoAnswer, err.Error()) // whose context is not the caller's
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", lock.ErrNoAnswer, ctx.Err())
	}
}

// masters is what a cluster's client can say besides.
type masters interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// serverClient returns a client of the server that has the lock: what has no key goes to any one of a cluster.
func serverClient(ctx context.Context, m *lock.Lock) (lock.Client, error) {
	if nodes, several := m.Client().(masters); several {
		return nodes.MasterForKey(ctx, m.Key())
	}
	return m.Client(), nil
}

// copied returns an error if fewer replicas have the lock than are asked for. Redis counts those that have all that it
// had written when a connection wrote last, so one is asked that writes now.
func (l *Lock) copied(ctx context.Context, m *lock.Lock) error {
	client, err := serverClient(ctx, m)
	if err != nil {
		return err
	}
	var copies *redis.Cmd
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		// Their errors are the pipeline's, and nothing is left.
		_ = p.Set(ctx, m.Key()+":copied", "", time.Second)
		_ = p.Del(ctx, m.Key()+":copied")
		copies = p.Do(ctx, "WAIT", l.replicas, min(replicaTime, m.Lease()/2).Milliseconds())
		return nil
	})
	if err != nil {
		return fmt.Errorf("count replicas: %w", err)
	}
	if n, err := copies.Int(); err != nil || n < l.replicas { // it may not say
		return fmt.Errorf("%w: %d of %d", ErrTooFewReplicas, n, l.replicas)
	}
	return nil
}

// serverID asks the server that has the lock who it is, and returns an error if it may have forgotten other holders.
// One that does not say counts.
func (l *Lock) serverID(ctx context.Context, m *lock.Lock) (id string, err error) {
	client, err := serverClient(ctx, m)
	if err != nil {
		return "", err
	}
	asked, ok := client.(interface {
		Info(ctx context.Context, sections ...string) *redis.StringCmd
	})
	if !ok {
		return "", nil
	}
	text, err := asked.Info(ctx, "server").Result()
	if _, refused := errors.AsType[redis.Error](err); refused {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask which server it is: %w", err)
	}
	s := parseServer(text)
	if s.id != "" && s.uptime < m.Lease()+time.Second { // it says whole seconds
		return "", fmt.Errorf("%w: %v", ErrRestarted, s.uptime)
	}
	return s.id, nil
}

// parseServer reads Redis's INFO.
func parseServer(info string) (s server) {
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "run_id":
			s.id = value
		case "uptime_in_seconds":
			seconds, err := strconv.Atoi(value)
			if err != nil {
				return server{}
			}
			s.uptime = time.Duration(seconds) * time.Second
		}
	}
	return s
}
