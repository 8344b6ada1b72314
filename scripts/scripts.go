// Package scripts holds the Lua scripts that Redis runs. Each begins with its contract: KEYS, ARGV with units, and
// every return code. Shared code is in preludes, which only define functions and constants, except format.lua, which
// also removes its own keys and argument.
package scripts

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.lua
var files embed.FS

// Source returns the complete text of a script, named as its file without ".lua": the preludes that it needs, followed
// by the script. It panics for an unknown name.
func Source(name string) string {
	var text strings.Builder
	for _, part := range parts(name, nil) {
		text.WriteString(read(part))
	}
	return text.String()
}

// parts appends the script to the names, after those preludes it needs that are not yet among them. A file lists its
// preludes in a comment: "-- Needs: clock, number".
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
