package main

// atEdges returns the mutants that the suite once failed to notice, and those of edge cases.
func atEdges() []mutation {
	return []mutation{
		{"a script that Redis forgot is not sent again", []change{
			{
				"protocol.go",
				`if slices.ContainsFunc(answers, forgotten) {`,
				`if false && slices.ContainsFunc(answers, forgotten) {`,
			},
		}, "Mutex", 16},
		{"ForceUnlock of a mutex tells nobody", []change{
			{"lua/mutex_force.lua", `redis.call('PUBLISH', ARGV[1], 'forced')`, ``},
		}, "Mutex", 55},
		{"ForceUnlock tells nobody", []change{
			{"lua/force.lua", `wake(ARGV[1], clock())`, ``},
		}, "Fair", 55},
		{"a writer passes waiting readers", []change{
			{"lua/write.lua", ` and not ahead(KEYS[6])`, ``},
		}, "Read", 55},
		{"a reader passes a waiting writer who is stopped", []change{
			{"lua/read.lua", `ahead(KEYS[4]) and`, `false and`},
		}, "Write", 55},
		{"an error is told only to the first waiter", []change{
			{"topic.go", `if o.broken && (i == 0 || t.queued()) {`, `if o.broken && t.queued() {`},
		}, "Mutex", 55},
		{"an error is told only to the first in the queue", []change{
			{"topic.go", `if o.broken && (i == 0 || t.queued()) {`, `if o.broken && !t.queued() {`},
		}, "Fair", 55},
		{"no margin for clocks that drift", []change{
			{"options.go", `return s.lease - s.lease/100 - 2*time.Millisecond`, `return s.lease`},
		}, "Reentrant", 55},
		{"a connection that says nothing is kept", []change{
			{"pubsub.go", `case silent >= ticksToDrop:`, `case silent >= 1000*ticksToDrop:`},
		}, "Mutex", 51},
		{"waiters rely on being told", []change{
			{"wait.go", `lookAgain   = 4 * time.Second`, `lookAgain   = time.Hour`},
		}, "Reentrant", 51},
		{"places are kept, and turns not told", []change{
			{"places.go", `	t.tell(turns)`, ``},
		}, "Write", 51},
		{"a release waits for long behind others", []change{
			{"share.go", `within = min(within, releaseTimeout/2)`, `_ = releaseTimeout`},
		}, "Mutex", 15},
		{"the place of who may have the lock is looked at", []change{
			{"places.go", `t.waiters[len(t.waiters)/2]`, `t.waiters[0]`},
		}, "Write", 57},
		{"the zero owner is somebody", []change{
			{"lock.go", `	case o == "":`, `	case false:`},
		}, "Reentrant", 52},
		{"one lock twice is two", []change{
			{"group/lock.go", `if seen[p] {`, `if false {`},
		}, "Multi", 52},
		{"one server twice is two", []change{
			{"group/round.go", `r.twice = r.twice || r.answered(a.part.server)`, `_ = r.answered(a.part.server)`},
		}, "Redlock", 52},
		{"a full Redis keeps a mutex", []change{
			{
				"lua/mutex_free.lua",
				`if redis.pcall('SET', key, state, 'PX', ms).err then`,
				`if redis.call('SET', key, state, 'PX', ms).err then`,
			},
		}, "Mutex", 53},
		{"a full Redis keeps holds", []change{
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  drop(KEYS[1], ARGV[4]) --`},
		}, "Fair", 53},
	}
}

// inUse returns the mutants of what keeps locks cheap and callers informed.
func inUse() []mutation {
	return []mutation{
		{"a cancelled call waits for its answer", []change{
			{"internal/member/member.go", `leaveTime = 20 * time.Millisecond`, `leaveTime = time.Minute`},
		}, "Mutex", 54},
		{"what was obtained too late is kept", []change{
			{"attempt.go", `return l.release(ctx, c, ending{}) }`, `return false, nil }`},
		}, "Mutex", 54},
		{"a shared answer that was lost is called a refusal", []change{
			{"share.go", `{ items[i].Answer = answer }`, `{
				if answer.Err() != nil {
					answer.SetErr(redis.Nil)
				}
				items[i].Answer = answer
			}`},
		}, "Mutex", 14},
		{"calls that were left are not counted", []change{
			{"leave.go", `l.locker.left.Load() >= mostLeft`, `l.locker.left.Load() >= 1000*mostLeft`},
		}, "Mutex", 54},
		{"Err reads a flag", []change{
			{"hold.go", `	h.expire()
	return h.ended()`, `	return h.ended()`},
		}, "Mutex", 56},
		{"the context's Err reads a flag", []change{
			{"hold.go", `	_ = c.hold.Err() // ends the context`, ``},
		}, "Mutex", 56},
		{"a token's key for each name", []change{
			{
				"keys.go",
				`number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots))`,
				`number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots)) + "}" + name + "}"`,
			},
		}, "Mutex", 57},
		{"all holds that are over are removed at once", []change{
			{"lua/holds.lua", `'LIMIT', 0, 500)`, `'LIMIT', 0, 5000)`},
		}, "Reentrant", 57},
		{"only the first readers are told", []change{
			{"lua/read.lua", `      tell(ARGV[7], {edge[1]})`, ``},
			{"lua/stay.lua", `local turns = due()`, `local turns = {}`},
		}, "Read", 57},
		{"every waiter looks for itself", []change{
			{"wait.go", `	leaseOver.Stop() // with`, `	leaseOver.Reset(time.Second) // where`},
			{"wait.go", `		if first == nil {
			leaseOver.Reset(`, `		if true {
			leaseOver.Reset(`},
			{"wait.go", `lookAgain   = 4 * time.Second`, `lookAgain   = time.Second`},
		}, "Fair", 57},
		{"Refresh does not move the end", []change{
			{"hold.go", `	h.extend(sent)
	return h.Err()`, `	_ = sent
	return h.Err()`},
		}, "Mutex", 58},
		{"Refresh of what was taken away succeeds", []change{
			{"hold.go", `	case held != 1:`, `	case false && held != 1:`},
		}, "Fair", 58},
		{"holders have no label", []change{
			{
				"locker.go",
				`l.label = fmt.Sprintf("%s/%d", strings.Join(strings.Fields(host), "-"), os.Getpid())`,
				`l.label = fmt.Sprintf("%s", strings.Repeat("-", 1+0*os.Getpid()+0*len(strings.Fields(host))))`,
			},
		}, "Write", 58},
		{"a server that was restarted counts", []change{
			{"group/server.go", `s.uptime < m.door.Lease()+time.Second {`, `s.uptime < 0 {`},
		}, "Redlock", 59},
		{"children outlive the suite", []change{
			{"procattr_linux_test.go", `Pdeathsig: syscall.SIGKILL`, `Pdeathsig: 0 * syscall.SIGKILL`},
		}, "Mutex", 60},
	}
}
