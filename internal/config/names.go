package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

const namePrefix = "SECKILL_"

// checkNames finds variables that look like settings but are not: most often typing mistakes, after which the service
// would run with a default that its operator believes to have changed.
func checkNames(vars map[string]string, ps *problems) {
	known := map[string]bool{}
	for _, s := range settings() {
		known[s.name()] = true
		if s.isSecret() {
			known[s.name()+fileSuffix] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if known[name] || !strings.HasPrefix(name, namePrefix) || isForeign(name, vars[name]) {
			continue
		}
		wrong := "is not a setting"
		if meant := nearest(name, known); meant != "" {
			wrong += "; did you mean " + meant + "?"
		}
		ps.add(name, wrong, "the names in the table of settings")
	}
}

// linked matches the variables that Kubernetes sets in every container for each service of its namespace (and that
// Docker set in linked containers): for a service named seckill, they start like settings.
var linked = regexp.MustCompile(
	`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// isForeign reports whether a variable starts like a setting but is not meant for this program.
func isForeign(name, value string) bool {
	switch {
	case strings.HasPrefix(name, "SECKILL_TEST_"): // read by the tests
		return true
	case strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://"): // SECKILL_PORT=tcp://10.0.0.1:80
		return true
	}
	return linked.MatchString(name)
}

// nearest returns the known name with the smallest distance, or "" if even that one is too different.
func nearest(name string, known map[string]bool) string {
	best, least := "", (len(name)-len(namePrefix))/3+1
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two names, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // the distances of a[:i] to every b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
