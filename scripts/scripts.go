// Package scripts holds the Lua scripts that Redis runs. Each begins with its contract: KEYS, ARGV with units, and
// every return code. Shared code is in preludes, which only define functions and constants, except format.lua, which
// also removes its own keys and argument. The prelude limits is written here, from the numbers of Go.
package scripts

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"seckill/internal/order/gate"
	"seckill/internal/order/operation"
	"seckill/internal/voucher"
)

// The most that one call of a script takes.
const (
	MaxPacked      = 16 // orders in an entry of the stream; more would save little (ADR 34)
	MaxCorrections = 250
	MaxEntries     = 1000 // to acknowledge
)

// limits returns the prelude "limits": the numbers that Go and Lua both use.
func limits() string {
	return fmt.Sprintf(`-- Prelude with limits, written by scripts.go.
local MAX_REQUESTS = %d
local MAX_QUANTITY = %d
local MAX_OPERATIONS = %d
local MAX_SALES = %d
local MAX_PACKED = %d
local MAX_CORRECTIONS = %d
local MAX_ENTRIES = %d
`, gate.MaxBatch, voucher.MaxPerUser, operation.MaxBatch, gate.MaxSales, MaxPacked, MaxCorrections, MaxEntries)
}

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
	if name == "limits" {
		return limits()
	}
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}
