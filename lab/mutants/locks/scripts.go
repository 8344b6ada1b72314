package main

// inScripts returns the mutants of the scripts.
func inScripts() []mutation {
	return []mutation{
		{"release without owner check", []change{
			{"lua/mutex_release.lua", ` and string.sub(state, 1, #ARGV[4] + 1) == ARGV[4] .. ' ' then`, ` then`},
		}, "Mutex", 6},
		{"release without owner check, reentrant", []change{
			{"lua/release.lua", `if holding(KEYS[1], ARGV[4], now) then`, `if redis.call('EXISTS', KEYS[1]) == 1 then`},
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('DEL', KEYS[1]) --`},
		}, "Reentrant", 6},
		{"expiry not atomic with acquire", []change{
			{"lua/mutex_acquire.lua", `ARGV[4], 'PX', ARGV[2])`, `ARGV[4])`},
			{"lua/mutex_take.lua", `ARGV[4], 'PX', ARGV[2])`, `ARGV[4])`},
			{"attempt.go", `	l.locker.sawToken(a.token)`, `
	expire := "return redis.call('PEXPIRE', KEYS[1], ARGV[1])"
	err = l.locker.client.Eval(ctx, expire, []string{l.key}, c.lease.Milliseconds()).Err()
	if err != nil {
		return answer{}, err
	}
	l.locker.sawToken(a.token)`},
		}, "Mutex", 1},
		{"hold count raised by a retried acquire", []change{
			{"lua/acquire.lua", `token, ARGV[4], now`, `token, redis.call('ZCARD', KEYS[1]) .. ARGV[4], now`},
		}, "Reentrant", 14},
		{"an acquire that arrives late is obeyed", []change{
			{"lua/mutex_acquire.lua", `if found[2] then`, `if false then`},
		}, "Mutex", 14},
		{"an acquire that arrives late is obeyed after a release", []change{
			{"lua/mutex_take.lua", `if state and high and not found[2] and`, `if state and high and`},
		}, "Mutex", 14},
	}
}

// inReleases returns the mutants of how a mutex is released, and of what is remembered of that.
func inReleases() []mutation {
	return []mutation{
		{"a repeated release is not recognised by its token", []change{
			{"lua/mutex_release.lua", `not latched and not released(state, ARGV[5])`, `not latched`},
		}, "Mutex", 15},
		{"every repeated release is recognised", []change{
			{"lua/mutex_release.lua", `not released(state, ARGV[5]) then`, `ARGV[5] == '' then`},
		}, "Mutex", 15},
		{"a lock that was forced counts as released", []change{
			{"lua/mutex_force.lua", `token + 1)`, `1)`},
		}, "Mutex", 15},
		{"a lease that was over counts as released", []change{
			{"lua/mutex_acquire.lua", `(since or token)`, `(since or '1')`},
		}, "Mutex", 15},
		{"the release's answer is not kept", []change{
			{"lua/mutex_release.lua", `if latched and redis.call('GET', KEYS[3]) ~= '1' then`, `if latched then`},
		}, "Mutex", 15},
		{"the lock's mark is lost on the way", []change{
			{"lua/mutex_release.lua", `elseif mark ~= '' then`, `elseif false then`},
		}, "Mutex", 3},
		{"token counted from what is left", []change{
			{
				"lua/token.lua",
				`math.max(now[1] * 1000000 + now[2], tonumber(last or high or 0) + 1, tonumber(floor) + 1)`,
				`tonumber(last or high or 0) + 1`,
			},
		}, "Reentrant", 47},
		{"tokens go with their lock", []change{
			{"lua/token.lua", `tonumber(last or high or 0) + 1`, `tonumber(last or 0) + 1`},
		}, "Mutex", 47},
		{"a mutex's last token is not heeded", []change{
			{"lua/token.lua", `tonumber(last or high or 0) + 1`, `tonumber(not last and high or 0) + 1`},
			{"lua/mutex_take.lua", `if token > string.sub(state, 2, 17) and`, `if`},
		}, "Mutex", 47},
		{"the high water is not written again", []change{
			{"lua/release.lua", `  cover(`, `  local _ = (`},
		}, "Reentrant", 47},
		{"a partial release gives a whole lease", []change{
			{
				"lua/holds.lua",
				`  redis.call('PEXPIRE', key, whole(last[2] - now))`,
				`  redis.call('PEXPIRE', key, 40000)`,
			},
			{
				"lua/state.lua",
				`table.insert(state, math.max(found[i + 1] - now, 0))`,
				`table.insert(state, redis.call('PTTL', KEYS[1]))`,
			},
		}, "Reentrant", 19},
		{"the first release frees a reentrant lock", []change{
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('DEL', KEYS[1]) --`},
		}, "Reentrant", 18},
		{"nobody hears of the release of one who was handed the lock", []change{
			{"lua/mutex_release.lua", `' ' .. since .. ARGV[9] .. mark, 'PX'`, `' ' .. since .. ARGV[9], 'PX'`},
		}, "Mutex", 12},
		{"a hand-off that is repeated is not remembered", []change{
			{"attempt.go", `e.again = e.again || again`, `_ = again`},
		}, "Mutex", 15},
		{"a release waits for one answer alone", []change{
			{"attempt.go", `within := releaseTimeout / 2`, `within := releaseTimeout`},
		}, "Mutex", 15},
		{"one who had given up is handed the lock", []change{
			{"lua/mutex_release.lua", `if ARGV[6] and redis.call('EXISTS', KEYS[4]) == 0 then`, `if ARGV[6] then`},
		}, "Mutex", 12},
	}
}
