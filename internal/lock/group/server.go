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

// replicaTime is the most time that replicas have to confirm a lock.
const replicaTime = time.Second

// server is the identity and uptime that a member's server reports. The members of a Redlock must be on different
// servers, and no server may have forgotten a holder.
type server struct {
	id     string // "" if the server may not say
	uptime time.Duration
}

// tryMember takes a member if it is free.
func (l *Lock) tryMember(ctx context.Context, number int, owner lock.Owner) (*part, error) {
	return l.observed(ctx, number, owner, (*lock.Lock).TryLock)
}

// observed calls take for a member. If the lock asks for that, it then counts the replicas that have the member and
// identifies its server; if one of these checks fails, it releases the member.
func (l *Lock) observed(
	ctx context.Context, number int, owner lock.Owner, take func(*lock.Lock, context.Context) (*lock.Hold, error),
) (*part, error) {
	m := l.members[number]
	h, err := take(m.door.As(string(owner)), ctx)
	if err != nil {
		return nil, err
	}
	p := &part{Hold: h, door: m.door, member: number}
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

// askTime is how long one question to a server may take. ask repeats an unanswered question once, because the first may
// have used a dead connection.
const askTime = 1500 * time.Millisecond

// ask calls do, which asks a server something, and returns early once ctx ends.
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
			err = fmt.Errorf("%w: %s", lock.ErrNoAnswer, err.Error()) // hides do's own context error
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

// copied returns an error if fewer than l.replicas replicas have the lock. WAIT counts the replicas that have
// everything up to the connection's last write, so copied writes something first.
func (l *Lock) copied(ctx context.Context, m one) error {
	client, err := m.door.Server(ctx)
	if err != nil {
		return err
	}
	_, key := m.door.Place()
	var copies *redis.Cmd
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		// The pipeline reports their errors; the key is deleted again.
		_ = p.Set(ctx, key+":copied", "", time.Second)
		_ = p.Del(ctx, key+":copied")
		copies = p.Do(ctx, "WAIT", l.replicas, min(replicaTime, m.door.Lease()/2).Milliseconds())
		return nil
	})
	if err != nil {
		return fmt.Errorf("count replicas: %w", err)
	}
	if n, err := copies.Int(); err != nil || n < l.replicas { // WAIT may be forbidden
		return fmt.Errorf("%w: %d of %d", ErrTooFewReplicas, n, l.replicas)
	}
	return nil
}

// serverID returns the run id of the server that has the lock, or an error if the server started so recently that it
// may have forgotten other holders. A server that may not run INFO passes, with the id "".
func (l *Lock) serverID(ctx context.Context, m one) (id string, err error) {
	client, err := m.door.Server(ctx)
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
	if s.id != "" && s.uptime < m.door.Lease()+time.Second { // INFO gives whole seconds
		return "", fmt.Errorf("%w: %v", ErrRestarted, s.uptime)
	}
	return s.id, nil
}

// parseServer reads the run id and the uptime from Redis's INFO.
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
