// Package migrations embeds the schema: one folder of numbered SQL files for each dialect, applied by
// internal/sqlstore. Until 1.0 each folder has one file, which is rewritten in place. From then on files are
// append-only: the statements of a released one never change, and none goes backwards.
package migrations

import "embed"

// Format names what this program stores, in the ledger and in Redis. Until 1.0 it changes with every incompatible
// change of either; the first statements of both files write it. Stores of another format are refused.
const Format = "0.9"

// FS holds the folders mysql and sqlite.
//
//go:embed mysql/*.sql sqlite/*.sql
var FS embed.FS
