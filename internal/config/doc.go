// Package config holds the settings of the service: environment variables named SECKILL_*, and nothing else.
//
// The struct [Config] is authoritative: its tags give each variable's name, default, unit, range and effect. The table
// in docs/operations.md, the help text and the checks are all generated from them, so that they cannot disagree.
//
// [Load] accepts a complete and consistent set of settings or none at all. What can go wrong, and what follows:
//
//	a value that cannot be read, or is out of range   problem: which variable, what is wrong, what is allowed
//	a name that is not a setting (a typing mistake)   problem: suggests the nearest setting
//	Redis without MySQL, or the other way round       problem: names the missing one; never half embedded
//	a secret that can be guessed                      problem: the service does not start with it
//	several of these                                  one [InvalidError] with all of them
//
// An empty variable counts as not set, because compose files and make pass unset variables on as empty ones. There are
// two exceptions: for SECKILL_REDIS_PASSWORD both mean the same, and an empty SECKILL_OPS_ADDR turns the listener off.
// Secrets have their own types ([Secret], [DSN]), which are masked however they are printed.
package config
