package lock

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicaTime is how long replicas have at most to say that they have a lock.
const replicaTime = time.Second

// WithReplicas asks that at least n replicas have a lock before it is obtained; with fewer it is released again, and
// the error is ErrTooFewReplicas. So it outlives a failover to one of them. They have a second for it, or half of a
// lease that is shorter. It costs a round trip to the replicas for each acquire, and while there are too few of them
// a refusal takes that time, too; that a lease was renewed is not waited for.
//
// It is Redis's command WAIT, of which Redis says that it makes the loss of a write at a failover unlikely, and not
// that it excludes it: a replica that does not have the lock may be the one that is promoted.
func WithReplicas(n int) Option {
	return func(s *settings) { s.replicas = n }
}

// server is who answered an acquire: for a Redlock, whose members must be different ones that have not forgotten.
type server struct {
	id     string // "" when it does not say
	uptime time.Duration
}

// runObserved runs an acquire and asks on the same connection what else has to be known: how many replicas have what it
// wrote, within their time, and which server answered: 0 and none when Redis does not say.
func (l *Lock) runObserved(ctx context.Context, acquire call) (answer, error) {
	client := l.locker.client
	if nodes, ok := client.(masters); ok { // its pipelines send what has no key to any node
		node, err := nodes.MasterForKey(ctx, l.key)
		if err != nil {
			return answer{}, err
		}
		client = node
	}
	var told, wait *redis.Cmd
	var info *redis.StringCmd
	// What went wrong stands in each answer. The script's text goes along: if Redis had to ask for it, the replicas
	// would be waited for in vain before.
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		told = acquire.script.Eval(ctx, p, acquire.keys, acquire.args...)
		if n := l.settings.replicas; n > 0 {
			wait = p.Do(ctx, "WAIT", n, min(replicaTime, l.settings.lease/2).Milliseconds())
		}
		if l.elected {
			info = p.Info(ctx, "server")
		}
		return nil
	})
	a, err := read(told)
	if wait != nil && err == nil {
		var lost error
		if a.replicas, lost = wait.Int(); uncertain(lost) {
			err = lost
		}
	}
	if info != nil && err == nil {
		if uncertain(info.Err()) {
			err = info.Err()
		}
		a.server = parseServer(info.Val())
	}
	return a, err
}

// parseServer reads Redis's INFO. It says whole seconds.
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
