package main

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
func mutants() []mutant {
	return []mutant{
		{"release without owner check", []change{
			{"mutex_release.lua", `if found[1] and string.sub(found[1], 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then`, `if found[1] then`},
		}, "Mutex", 6},
		{"release without owner check, reentrant", []change{
			{"reentrant_release.lua", `if holding(KEYS[1], ARGV[1], ARGV[4], now) then`, `if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DEL', KEYS[1])`},
		}, "Reentrant", 6},
		{"expiry not atomic with acquire", []change{
			{"mutex_acquire.lua", `.. token, 'PX', ARGV[2])`, `.. token)`},
			{"attempt.go", `	l.locker.sawToken(got[1])`, `	if err := l.locker.client.Eval(ctx, "return redis.call('PEXPIRE', KEYS[1], ARGV[1])", []string{l.key}, c.ms()).Err(); err != nil {
		return answer{}, err
	}
	l.locker.sawToken(got[1])`},
		}, "Mutex", 1},
		{"watchdog not stopped", []change{
			{"hold.go", `	h.lock.locker.watchdog.remove(h)`, ``},
		}, "Mutex", 23},
		{"subscribe without a second try", []change{
			{"hub.go", `if e.Kind == "subscribe" {`, `if e.Kind == "never" {`},
		}, "Mutex", 29},
		{"hold count raised by a retried acquire", []change{
			{"reentrant_acquire.lua", `redis.call('HSET', KEYS[1], ARGV[4],`, `redis.call('HSET', KEYS[1], ARGV[4] .. redis.call('HLEN', KEYS[1]),`},
		}, "Reentrant", 14},
		{"loss told after the lease", []change{
			{"options.go", `return s.lease - s.lease/100 - 2*time.Millisecond`, `return s.lease + 100*time.Millisecond`},
		}, "Mutex", 26},
		{"an acquire that arrives late is obeyed", []change{
			{"mutex_acquire.lua", `if found[3] then`, `if false then`},
		}, "Mutex", 14},
		{"the release's answer is not kept", []change{
			{"mutex_release.lua", `if found[3] == '1' then`, `if false then`},
		}, "Mutex", 15},
		{"release under the caller's context", []change{
			{"attempt.go", `context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)`, `context.WithTimeout(ctx, releaseTimeout)`},
		}, "Mutex", 13},
		{"token counted from what is left", []change{
			{"token.lua", `math.max(now[1] * 1000000 + now[2], (tonumber(last or 0)) + 1, tonumber(floor) + 1)`, `tonumber(last or 0) + 1`},
		}, "Mutex", 47},
		{"a partial release gives a whole lease", []change{
			{"holds.lua", `string.format('%.0f', last - now)`, `40000`},
		}, "Reentrant", 19},
		{"the first release frees a reentrant lock", []change{
			{"reentrant_release.lua", `redis.call('HDEL', KEYS[1], ARGV[4])`, `redis.call('DEL', KEYS[1])`},
		}, "Reentrant", 18},
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
		{"passed to a waiter who has gone", []change{
			{"mutex_pass.lua", `if found[4] then`, `if false then`},
		}, "Mutex", 12},
		{"a pass that is repeated is not remembered", []change{
			{"mutex_pass.lua", `if found[3] == '1' then`, `if false then`},
		}, "Mutex", 15},
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
