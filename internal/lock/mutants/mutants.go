package main

import "slices"

// mutant is one bug, and who should notice it.
type mutant struct {
	name    string
	changes []change
	kind    string // of lock
	row     int
}

// change replaces the one place of a file, beside the package's, where a text stands.
type change struct{ file, from, to string }

// mutants returns all bugs. A new kind of lock adds its own.
func mutants() []mutant { return slices.Concat(inScripts(), inPackage(), inQueues()) }

// inScripts are those in what Redis runs.
func inScripts() []mutant {
	return []mutant{
		{"release without owner check", []change{
			{"mutex_release.lua", `if plain or state == ARGV[1] .. ' w' then`, `if state then`},
		}, "Mutex", 6},
		{"release without owner check, reentrant", []change{
			{"reentrant_release.lua", `if holding(KEYS[1], ARGV[1], ARGV[4], now) then`, `if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DEL', KEYS[1])`},
		}, "Reentrant", 6},
		{"expiry not atomic with acquire", []change{
			{"mutex_acquire.lua", `.. token, 'PX', ARGV[2])`, `.. token)`},
			{"mutex_take.lua", `.. token, 'PX', ARGV[2])`, `.. token)`},
			{"attempt.go", `		l.locker.sawToken(n)`, `		if err := l.locker.client.Eval(ctx, "return redis.call('PEXPIRE', KEYS[1], ARGV[1])", []string{l.key}, c.ms()).Err(); err != nil {
		return answer{}, err
	}
	l.locker.sawToken(n)`},
		}, "Mutex", 1},
		{"hold count raised by a retried acquire", []change{
			{"reentrant_acquire.lua", `token, ARGV[4], now`, `token, ARGV[4] .. redis.call('HLEN', KEYS[1]), now`},
		}, "Reentrant", 14},
		{"an acquire that arrives late is obeyed", []change{
			{"mutex_acquire.lua", `if found[2] then`, `if false then`},
		}, "Mutex", 14},
		{"an acquire that arrives late is obeyed after a release", []change{
			{"mutex_take.lua", `if state and not found[2] and`, `if state and`},
		}, "Mutex", 14},
		{"a repeated release is not recognised by its token", []change{
			{"mutex_again.lua", `if released(`, `if false and released(`},
		}, "Mutex", 15},
		{"every repeated release is recognised", []change{
			{"mutex_again.lua", `if released(`, `if true or released(`},
		}, "Mutex", 15},
		{"a lock that was forced counts as released", []change{
			{"mutex_force.lua", `tonumber(token) + 1)`, `1)`},
		}, "Mutex", 15},
		{"a lease that was over counts as released", []change{
			{"mutex_token.lua", `note(key, token, last and tonumber(since) or token)`, `note(key, token, tonumber(since) or token)`},
		}, "Mutex", 15},
		{"the release's answer is not kept", []change{
			{"mutex_leave.lua", `if redis.call('GET', KEYS[2]) == '1' then`, `if false then`},
		}, "Mutex", 15},
		{"the lock's mark is lost on the way", []change{
			{"mutex_release.lua", `  elseif not plain then`, `  elseif false then`},
		}, "Mutex", 3},
		{"token counted from what is left", []change{
			{"token.lua", `math.max(now[1] * 1000000 + now[2], (tonumber(last or 0)) + 1, tonumber(floor) + 1)`, `tonumber(last or 0) + 1`},
		}, "Reentrant", 47},
		{"a mutex's token counted from what is left", []change{
			{"mutex_token.lua", `math.max(now[1] * 1000000 + now[2], tonumber(last or 0) + 1, tonumber(floor) + 1)`, `tonumber(last or 0) + 1`},
		}, "Mutex", 47},
		{"a mutex's tokens go with its key", []change{
			{"mutex_token.lua", `token = math.max(token, tonumber(highest or 0) + 1)`, ``},
		}, "Mutex", 47},
		{"a mutex's last token is not heeded", []change{
			{"mutex_take.lua", `if token > last and`, `if`},
			{"mutex_token.lua", `tonumber(last or 0) + 1`, `0`},
		}, "Mutex", 47},
		{"a partial release gives a whole lease", []change{
			{"holds.lua", `whole(last - now)`, `40000`},
		}, "Reentrant", 19},
		{"the first release frees a reentrant lock", []change{
			{"reentrant_release.lua", `drop(KEYS[1], ARGV[1], ARGV[4])`, `redis.call('DEL', KEYS[1])`},
		}, "Reentrant", 18},
		{"passed to a waiter who has gone", []change{
			{"mutex_pass.lua", `if found[2] then`, `if false then`},
		}, "Mutex", 12},
		{"a pass that is repeated is not remembered", []change{
			{"mutex_pass.lua", `if before then`, `if false then`},
		}, "Mutex", 15},
	}
}

// inPackage are those in Go alone.
func inPackage() []mutant {
	return []mutant{
		{"watchdog not stopped", []change{
			{"hold.go", `	h.lock.locker.watchdog.remove(h)`, ``},
		}, "Mutex", 23},
		{"subscribe without a second try", []change{
			{"hub.go", `if e.Kind == "subscribe" {`, `if e.Kind == "never" {`},
		}, "Mutex", 29},
		{"loss told after the lease", []change{
			{"options.go", `return s.lease - s.lease/100 - 2*time.Millisecond`, `return s.lease + 100*time.Millisecond`},
		}, "Mutex", 26},
		{"nothing is remembered of one who asked twice", []change{
			{"attempt.go", `		c.latched = true // the first may arrive yet`, ``},
		}, "Mutex", 14},
		{"release under the caller's context", []change{
			{"attempt.go", `limit(context.WithoutCancel(ctx), releaseTimeout)`, `limit(ctx, releaseTimeout)`},
		}, "Mutex", 13},
		{"a given lease is renewed", []change{
			{"watchdog.go", `if !s.renewed {`, `if false {`},
		}, "Mutex", 28},
		{"one failed renewal ends the batch", []change{
			{"watchdog.go", `		w.settle(batch[i], sent, held == 1, err)`, `		if err != nil {
			return
		}
		w.settle(batch[i], sent, held == 1, err)`},
		}, "Mutex", 27},
		{"a script that Redis forgot is not sent again", []change{
			{"protocol.go", `if len(forgotten) == 0 {`, `if true {`},
		}, "Mutex", 16},
		{"waiters poll", []change{
			{"wait.go", `	if lease < 0 {`, `	if true {
		return 10 * time.Millisecond
	}
	if lease < 0 {`},
		}, "Mutex", 31},
		{"multi release that stops at the first error", []change{
			{"parts.go", `func(i int) { errs[i] = kept[i].Release(ctx) }`, `func(i int) {
		if errors.Join(errs...) == nil {
			errs[i] = kept[i].Release(ctx)
		}
	}`},
		}, "Multi", 43},
		{"copies are not counted", []change{
			{"attempt.go", `case a.copies < l.settings.copies:`, `case a.copies < 0:`},
		}, "Mutex", 49},
		{"a lock with too few copies is kept", []change{
			{"attempt.go", `		l.giveUp(ctx, *c)
		return nil, 0, fmt.Errorf("lock %q: %w: %d of`, `		return nil, 0, fmt.Errorf("lock %q: %w: %d of`},
		}, "Mutex", 49},
		{"red without the validity rule", []change{
			{"round.go", `if a.hold.valid() {`, `if a.hold != nil {`},
		}, "Red", 45},
		{"red keeps who answers late", []change{
			{"round.go", `(whole == nil || !whole.adopt(a.hold))`, `whole != nil && !whole.adopt(a.hold)`},
		}, "Red", 45},
		{"red takes the token of its members' clocks", []change{
			{"lift.go", `if !ok || h.token >= token {`, `if true || !ok {`},
		}, "Red", 45},
		{"red waits for all", []change{
			{"round.go", `if !decided && r.decided() {`, `if decided {`},
		}, "Red", 45},
		{"who waits for one of several keeps the others", []change{
			{"round.go", `firstLast(obtained, func(i int) { _ = r.got[i].hold.Release(ctx) })`, `time.Sleep(0)`},
		}, "Multi", 43},
		{"the loss of one of several is not that of the whole", []change{
			{"parts.go", `if held >= h.parts.need {`, `if held > 0 {`},
		}, "Multi", 43},
		{"a waiter who leaves takes the event along", []change{
			{"queue.go", `	default:
		q.notify()
	}
	if len`, `	}
	if len`},
		}, "Mutex", 12},
	}
}

// inQueues are those in what the fair and the read-write lock have besides.
func inQueues() []mutant {
	return []mutant{
		{"fair queue by client clock", []change{
			{"fair.go", `c.request, c.placeMS()}}
}

func (f fair) release`, `c.request, c.placeMS(), time.Now().UnixMicro()}}
}

func (f fair) release`},
			{"fair.go", `	_ "embed"
`, `	_ "embed"
	"time"
`},
			{"queue.lua", `time[1] * 1000000 + time[2]`, `tonumber(ARGV[6])`},
		}, "Fair", 36},
		{"a dead head is never skipped", []change{
			{"queue.lua", `ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', whole(now)))`, `ipairs({})`},
		}, "Fair", 34},
		{"the dead at the head add up", []change{
			{"queue.lua", `for _, request in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', whole(now))) do
    vacate(request)`, `for i, request in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', whole(now))) do
    if i > 1 then redis.call('ZADD', KEYS[5], whole(now + 4000), request) else vacate(request) end`},
		}, "Fair", 34},
		{"places are not renewed", []change{
			{"places.go", `time.AfterFunc(placeRenewal, p.renew)`, `time.AfterFunc(time.Hour, p.renew)`},
		}, "Fair", 35},
		{"one who leaves keeps his place", []change{
			{"reentrant_release.lua", `if vacate(ARGV[4]) then`, `if false then`},
		}, "Fair", 33},
		{"who comes last is asked first", []change{
			{"fair.lua", `redis.call('ZRANGE', KEYS[4], 0, 0)[1]`, `redis.call('ZREVRANGE', KEYS[4], 0, 0)[1]`},
			{"queue.lua", `tonumber(first[2]) < tonumber(arrival)`, `false`},
		}, "Fair", 32},
		{"TryLock goes past those who wait", []change{
			{"queue.lua", `  return true
end

-- tell`, `  return false
end

-- tell`},
		}, "Fair", 34},
		{"a queue's key stays", []change{
			{"queue.lua", `  redis.call('PEXPIRE', queue, ms)`, ``},
		}, "Fair", 37},
		{"a writer beside readers", []change{
			{"write.lua", `redis.call('PTTL', KEYS[8])`, `-2`},
		}, "Write", 38},
		{"downgrade without waking readers", []change{
			{"readwrite.lua", `if redis.call('EXISTS', KEYS[7]) == 1 then`, `if redis.call('EXISTS', KEYS[7], KEYS[8]) > 0 then`},
		}, "Write", 39},
		{"a reader who wants to write waits for himself", []change{
			{"write.lua", `and reads(ARGV[1], now) then`, `and false then`},
		}, "Write", 39},
		{"a reader's renewal is everybody's", []change{
			{"readers.lua", `whole(over), request .. ' ' .. owner)`, `whole(over), request .. ' ' .. owner)
  for _, hold in ipairs(redis.call('ZRANGE', key, 1, -1)) do redis.call('ZADD', key, whole(over), hold) end`},
		}, "Read", 40},
		{"a reader's leases add up", []change{
			{"readers.lua", `whole(over), request`, `whole(over + math.max(redis.call('PTTL', key), 0)), request`},
		}, "Read", 41},
		{"readers pass a waiting writer", []change{
			{"read.lua", `not ahead(KEYS[4]) or`, `true or`},
		}, "Write", 42},
		{"a reader who reads already waits behind a writer", []change{
			{"read.lua", `or reads(ARGV[1], now))`, `)`},
		}, "Read", 42},
	}
}
