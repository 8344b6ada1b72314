package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// scenario says how many contenders take locks, and which.
type scenario struct {
	name               string
	clients, perClient int
	names              naming
}

// naming says which locks the contenders of a scenario take.
type naming int

const (
	oneName    naming = iota // all the same one, again and again
	freshNames               // a new one each time
	ownNames                 // each their own one, again and again
)

func scenarios() []scenario {
	return []scenario{
		{"same name", 1, 1, oneName},
		{"fresh names", 1, 1, freshNames},
		{"64 names at once", 2, 32, ownNames},
		{"2 contenders", 2, 1, oneName},
		{"64 contenders", 2, 32, oneName},
	}
}

// lock returns the name of the lock that a contender takes next.
func (n naming) lock(turn string, contender int, time int64) string {
	switch n {
	case freshNames:
		return turn + "/" + strconv.FormatInt(time, 10)
	case ownNames:
		return turn + "/" + strconv.Itoa(contender)
	default:
		return turn
	}
}

// patience is how much longer a turn may last when a waiter does not notice that the lock is free.
const patience = 3 * time.Second

// pause precedes everything whose latency is measured.
const pause = 20 * time.Millisecond

// bench is what the turns share.
type bench struct {
	addr      string
	admin     *redis.Client
	turn      time.Duration
	handovers int
	names     int // number of locks so far: each turn has its own
}

func (b *bench) name() string {
	b.names++
	return "lock" + strconv.Itoa(b.names)
}

// slicesOfTurn is the number of slices of a library's turn at a scenario: compared libraries should meet the same state
// of the machine.
const slicesOfTurn = 4

// score is the sum of a library's slices so far.
type score struct {
	pairs, commands float64 // acquire + release; Redis commands that they took
	took, processor time.Duration
}

// contest counts what the contenders do at the same time.
type contest struct{ pairs, holders, contenders, turns atomic.Int64 }

// contend takes and releases locks until the end.
func (c *contest) contend(ctx context.Context, p process, names naming, name string, end time.Time) error {
	self := int(c.contenders.Add(1))
	for time.Now().Before(end) {
		release, err := p.lock(ctx, names.lock(name, self, c.turns.Add(1)))
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it missed a release; its pairs so far count, and so does the time
		}
		if err != nil {
			return err
		}
		if c.holders.Add(1) > 1 && names == oneName {
			return errors.New("two holders at once")
		}
		c.holders.Add(-1)
		if err := release(); err != nil {
			return err
		}
		c.pairs.Add(1)
	}
	return nil
}

// slice adds one slice of a scenario to the score.
func (b *bench) slice(ctx context.Context, l library, s scenario, to *score) error {
	before, err := b.count(ctx, l)
	if err != nil {
		return err
	}
	busyBefore, err := b.processor(ctx)
	if err != nil {
		return err
	}
	name := b.name()
	length := b.turn / slicesOfTurn
	limited, cancel := context.WithTimeout(ctx, length+patience)
	defer cancel()
	var c contest
	var group errgroup.Group
	begin := time.Now()
	for range s.clients {
		p, err := l.connect(b.addr)
		if err != nil {
			return err
		}
		defer p.close() //nolint:gocritic // two at most
		for range s.perClient {
			group.Go(func() error { return c.contend(limited, p, s.names, name, begin.Add(length)) })
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%s, %s: %w", l.name, s.name, err)
	}
	to.took += time.Since(begin) // including the last waiters
	busy, err := b.processor(ctx)
	if err != nil {
		return err
	}
	to.processor += busy - busyBefore
	after, err := b.count(ctx, l)
	if err != nil {
		return err
	}
	to.pairs += float64(c.pairs.Load())
	to.commands += float64(after - before)
	return nil
}

// handover returns the median time from the call of release to the other client's return from lock.
func (b *bench) handover(ctx context.Context, l library) (time.Duration, error) {
	name := b.name()
	var processes [2]process
	for i := range processes {
		p, err := l.connect(b.addr)
		if err != nil {
			return 0, err
		}
		defer p.close() //nolint:gocritic // two
		processes[i] = p
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	type got struct {
		release func() error
		at      time.Time
		err     error
	}
	release, err := processes[0].lock(ctx, name)
	if err != nil {
		return 0, err
	}
	var delays []time.Duration
	for i := range b.handovers {
		waiting := make(chan got, 1)
		go func() {
			release, err := processes[(i+1)%2].lock(ctx, name)
			waiting <- got{release, time.Now(), err}
		}()
		time.Sleep(pause) // until the other waits; no library says when it does
		begin := time.Now()
		if err := release(); err != nil {
			return 0, err
		}
		next := <-waiting
		if next.err != nil {
			return 0, next.err
		}
		delays = append(delays, next.at.Sub(begin))
		release = next.release
	}
	slices.Sort(delays)
	return delays[len(delays)/2], release()
}

// roundTrip returns the median time of a PING after a pause, as before a handover: both sides have idle threads.
func (b *bench) roundTrip(ctx context.Context) (time.Duration, error) {
	var times []time.Duration
	for range b.handovers {
		time.Sleep(pause)
		begin := time.Now()
		if err := b.admin.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// processor returns the processor time so far of this process and of Redis.
func (b *bench) processor(ctx context.Context) (time.Duration, error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, err
	}
	info, err := b.admin.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}

// count returns how many of the library's commands Redis has run. Commands within scripts count only if the library
// also sends such commands itself, which ours and redislock do not.
func (b *bench) count(ctx context.Context, l library) (int64, error) {
	stats, err := b.admin.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	var n int64
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if slices.Contains(l.commands, name) {
			number, _, _ := strings.Cut(rest, ",")
			calls, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return 0, err
			}
			n += calls
		}
	}
	return n, nil
}
