// Package scripts holds the Lua scripts that Redis runs, each with its contract at its head: KEYS, ARGV with units, and
// every return code. What several of them share is in preludes, which hold functions and constants only; that of the
// partition's word takes its own keys and argument off, too.
package scripts

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.lua
var files embed.FS

// Source returns the text that Redis runs for the script, named as its file without ".lua": the preludes that the
// script needs, and then the script. It panics for a name that no file has.
func Source(name string) string {
	var text strings.Builder
	for _, part := range parts(name, nil) {
		text.WriteString(read(part))
	}
	return text.String()
}

// parts appends the script to the names of the parts, behind the preludes that it needs and that are not there yet. A
// file names those in a comment: "-- Needs: clock, number".
func parts(name string, names []string) []string {
	for line := range strings.Lines(read(name)) {
		needed, found := strings.CutPrefix(line, "-- Needs: ")
		if !found {
			continue
		}
		for prelude := range strings.SplitSeq(strings.TrimSpace(needed), ", ") {
			if !slices.Contains(names, prelude) {
				names = parts(prelude, names)
			}
		}
	}
	return append(names, name)
}

func read(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}
