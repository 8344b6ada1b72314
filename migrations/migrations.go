// Package migrations embeds the schema: one folder of numbered SQL files for each dialect, applied by
// internal/sqlstore. Files are append-only: the statements of a released one never change (released_test.go), and none
// goes backwards.
package migrations

import "embed"

// Format names what this program stores, in the ledger and in Redis; the first statements of the schema write it. It
// stays what 1.0 wrote, because stores of another format are refused.
const Format = "1"

// Raised is the format of a ledger in which something was switched on that 1.0 would misread: 1.0 refuses to start on
// it. This program reads both. Redis keeps the word of Format, so that instances of 1.0 that run go on.
const Raised = "1.1"

// FS holds the folders mysql and sqlite.
//
//go:embed mysql/*.sql sqlite/*.sql
var FS embed.FS
