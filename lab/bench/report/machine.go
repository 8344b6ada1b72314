package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"seckill/lab/bench/result"
)

// machineText says where the figures were measured.
func machineText(m result.Machine) string {
	return fmt.Sprintf("Commit %s, %s on %s, %d × %s, %s, database %s. Load generator, candidate, Redis and "+
		"database share this machine.",
		m.Commit, m.Go, m.System, m.Processors, m.Processor, m.Redis, m.Database)
}

// durabilityText lists the stores' settings.
func durabilityText(m result.Machine) string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(m.Durability)) {
		settings = append(settings, name+" "+m.Durability[name])
	}
	return "Durability: " + strings.Join(settings, ", ") + "."
}

// fileName returns the name of a run's files: its date and commit.
func fileName(m result.Machine) string { return day(m) + "-" + m.Commit }

func day(m result.Machine) string {
	date, _, _ := strings.Cut(m.Date, "T")
	return date
}
