package versus

import (
	"fmt"
	"strings"
)

// What is measured of a build in a round.
const (
	orderTogether   = iota // processor time of an accepted and recorded order, µs, of all processes
	orderServer            // of the server
	orderRedis             // of Redis
	orderDatabase          // of the database
	refusalTogether        // processor time of a sold-out answer, µs, of all processes
	acceptedRate           // accepted a second, while recorders run
	acceptedP99            // of these, ms
	refusedRate            // sold-out answers a second
	refusedP99             // of these, ms
	drainRate              // recorded a second, of a backlog
	figures
)

// figure describes one of them.
type figure struct {
	name   string
	better int // 1: higher is better, -1: lower is
}

func figureList() [figures]figure {
	return [figures]figure{
		orderTogether:   {"processor time of an accepted and recorded order, all processes, µs", -1},
		orderServer:     {"– the server's part, µs", -1},
		orderRedis:      {"– Redis's part, µs", -1},
		orderDatabase:   {"– the database's part, µs", -1},
		refusalTogether: {"processor time of a sold-out answer, all processes, µs", -1},
		acceptedRate:    {"accepted a second, while they are recorded", 1},
		acceptedP99:     {"p99 of these, ms", -1},
		refusedRate:     {"sold-out answers a second", 1},
		refusedP99:      {"p99 of these, ms", -1},
		drainRate:       {"recorded a second, of a backlog", 1},
	}
}

// outcome is what was measured of one build in a round.
type outcome [figures]float64

// side is one of the three that run in a round.
type side int

const (
	oldTree side = iota
	newTree
	oldAgain
	sides
)

// round is the outcome of each.
type round [sides]outcome

// String is the round in a line.
func (r round) String() string {
	var text strings.Builder
	for who, name := range [...]string{"old", "new", "old again"} {
		o := r[who]
		fmt.Fprintf(&text, "  %s %.1f µs an order (server %.1f, redis %.1f, database %.1f), %.0f accepted/s, %.0f "+
			"drained/s, %.1f µs a refusal, %.0f refused/s;",
			name, o[orderTogether], o[orderServer], o[orderRedis], o[orderDatabase], o[acceptedRate], o[drainRate],
			o[refusalTogether], o[refusedRate])
	}
	return text.String()
}

// sequences are all orders in which the three can come. Of each two that stand together, one is the other backwards.
func sequences() [][sides]side {
	return [][sides]side{
		{oldTree, newTree, oldAgain},
		{oldAgain, newTree, oldTree},
		{newTree, oldTree, oldAgain},
		{oldAgain, oldTree, newTree},
		{oldTree, oldAgain, newTree},
		{newTree, oldAgain, oldTree},
	}
}
