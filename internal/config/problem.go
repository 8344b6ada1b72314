package config

import (
	"slices"
	"strings"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Variable string // the environment variable, SECKILL_…
	Wrong    string // what is wrong with it; never shows a secret
	Allowed  string // what would be allowed
}

// String returns the problem as one line.
func (p Problem) String() string { return p.Variable + " " + p.Wrong + " (allowed: " + p.Allowed + ")" }

// InvalidError lists all problems of the settings, in the order of the table; at least one.
type InvalidError struct{ Problems []Problem }

// Error returns one line for each problem, after a heading.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("wrong settings:")
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// problems collects problems, one for each variable: consequences of the first would only distract.
type problems struct{ list []Problem }

func (ps *problems) add(variable, wrong, allowed string) {
	if !ps.has(variable) {
		ps.list = append(ps.list, Problem{variable, wrong, allowed})
	}
}

func (ps *problems) has(variable string) bool {
	return slices.ContainsFunc(ps.list, func(p Problem) bool { return p.Variable == variable })
}

// err returns the problems in the order of the table, unknown variables last, or nil if there is none.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	all := settings()
	rank := func(p Problem) int {
		if i := slices.IndexFunc(all, func(s setting) bool { return s.name() == p.Variable }); i >= 0 {
			return i
		}
		return len(all)
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int { return rank(a) - rank(b) })
	return &InvalidError{ps.list}
}
