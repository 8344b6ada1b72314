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
	//go:embed holdings.lua
	Holdings string
	//go:embed views.lua
	Views string
	//go:embed begin_rebuild.lua
	BeginRebuild string
	//go:embed set_holders.lua
	SetHolders string
	//go:embed requeue.lua
	Requeue string
	//go:embed publish.lua
	Publish string
	//go:embed report_heartbeat.lua
	ReportHeartbeat string
	//go:embed report.lua
	Report string
	//go:embed round_progress.lua
	RoundProgress string
	//go:embed acknowledge.lua
	Acknowledge string
	//go:embed dead_letter.lua
	DeadLetter string
	//go:embed unpack_letter.lua
	UnpackLetter string
	//go:embed inventory.lua
	Inventory string
	//go:embed replay.lua
	Replay string
	//go:embed heartbeat.lua
	Heartbeat string
	//go:embed take_over.lua
	TakeOver string
	//go:embed leave.lua
	Leave string
	//go:embed drop.lua
	Drop string
	//go:embed add_counts.lua
	AddCounts string
	//go:embed add_guard_counts.lua
	AddGuardCounts string
	//go:embed exchange_spending.lua
	ExchangeSpending string
	//go:embed reserve_ids.lua
	ReserveIDs string
)
