// Package scripts holds the Lua scripts that Redis runs, each with its contract at its head: KEYS, ARGV with units, and
// every return code.
package scripts

import _ "embed" // the scripts are files

// The sources of the scripts, named as their files.
var (
	//go:embed seckill.lua
	Seckill string
	//go:embed correct.lua
	Correct string
	//go:embed apply.lua
	Apply string
	//go:embed views.lua
	Views string
	//go:embed begin_rebuild.lua
	BeginRebuild string
	//go:embed seat.lua
	Seat string
	//go:embed requeue.lua
	Requeue string
	//go:embed publish.lua
	Publish string
	//go:embed attend.lua
	Attend string
	//go:embed testify.lua
	Testify string
	//go:embed hearing.lua
	Hearing string
	//go:embed settle.lua
	Settle string
	//go:embed bury.lua
	Bury string
	//go:embed holdings.lua
	Holdings string
	//go:embed replay.lua
	Replay string
	//go:embed beat.lua
	Beat string
	//go:embed orphans.lua
	Orphans string
	//go:embed leave.lua
	Leave string
	//go:embed drop.lua
	Drop string
	//go:embed tally.lua
	Tally string
	//go:embed reserve_ids.lua
	ReserveIDs string
)
