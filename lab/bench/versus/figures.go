package versus

import (
	"fmt"
	"strings"
)

// The figures of a build in a round.
const (
	orderTogether   = iota // processor time of an accepted and recorded order, µs, all processes
	orderServer            // the server's part
	orderRedis             // Redis's part
	orderDatabase          // the database's part
	refusalTogether        // processor time of a sold-out answer, µs, all processes
	acceptedRate           // accepted per second, while recorders run
	acceptedP99            // p99 of these, ms
	refusedRate            // sold-out answers per second
	refusedP99             // p99 of these, ms
	drainRate              // recorded per second, of a backlog
	figures
)

// figure describes one figure.
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

// outcome has the figures of one build in a round.
type outcome [figures]float64

// side is one of the three processes of a round.
type side int

const (
	oldTree side = iota
	newTree
	oldAgain
	sides
)

// round has the outcome of each side.
type round [sides]outcome

// String returns the round on one line.
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

// sequences returns all orders of the three sides. Of every two adjacent ones, one is the reverse of the other.
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
