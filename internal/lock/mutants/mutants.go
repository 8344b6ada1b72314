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
func mutants() []mutant { return slices.Concat(inScripts(), inPackage()) }

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
			{"reentrant_acquire.lua", `redis.call('HSET', KEYS[1], ARGV[4],`, `redis.call('HSET', KEYS[1], ARGV[4] .. redis.call('HLEN', KEYS[1]),`},
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
			{"holds.lua", `string.format('%.0f', last - now)`, `40000`},
		}, "Reentrant", 19},
		{"the first release frees a reentrant lock", []change{
			{"reentrant_release.lua", `redis.call('HDEL', KEYS[1], ARGV[4])`, `redis.call('DEL', KEYS[1])`},
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
			{"watchdog.go", `if len(forgotten) == 0 {`, `if true {`},
		}, "Mutex", 16},
		{"waiters poll", []change{
			{"wait.go", `	if lease < 0 {`, `	if true {
		return 10 * time.Millisecond
	}
	if lease < 0 {`},
		}, "Mutex", 31},
		{"a waiter who leaves takes the event along", []change{
			{"queue.go", `	default:
		q.notify()
	}
	if len`, `	}
	if len`},
		}, "Mutex", 12},
	}
}
